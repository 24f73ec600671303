package manifest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// customWithPods are kinds of custom resources with pods but without a complete pod template, by group: their controllers add
// containers, requests or rules, or create the pods one after another. Other kinds count if their spec has a list of containers
// or a number of replicas.
var customWithPods = map[string][]string{
	"acid.zalan.do":                     {"postgresql"},
	"agent.k8s.elastic.co":              {"Agent"},
	"apm.k8s.elastic.co":                {"ApmServer"},
	"apps.kruise.io":                    {"AdvancedCronJob", "BroadcastJob", "DaemonSet", "UnitedDeployment"},
	"argoproj.io":                       {"ArgoCD", "CronWorkflow", "EventBus", "EventSource", "Sensor", "Workflow"},
	"beat.k8s.elastic.co":               {"Beat"},
	"ceph.rook.io":                      {"CephCluster", "CephFilesystem", "CephObjectStore"},
	"clickhouse.altinity.com":           {"ClickHouseInstallation"},
	"elasticsearch.k8s.elastic.co":      {"Elasticsearch"},
	"flink.apache.org":                  {"FlinkDeployment", "FlinkSessionJob"},
	"jaegertracing.io":                  {"Jaeger"},
	"k8s.mariadb.com":                   {"MariaDB", "MaxScale"},
	"k8ssandra.io":                      {"K8ssandraCluster"},
	"kafka.strimzi.io":                  {"Kafka", "KafkaBridge", "KafkaConnect", "KafkaMirrorMaker2", "KafkaNodePool"},
	"keda.sh":                           {"ScaledJob"},
	"kibana.k8s.elastic.co":             {"Kibana"},
	"logstash.k8s.elastic.co":           {"Logstash"},
	"mongodbcommunity.mongodb.com":      {"MongoDBCommunity"},
	"monitoring.coreos.com":             {"Alertmanager", "Prometheus", "PrometheusAgent", "ThanosRuler"},
	"mysql.oracle.com":                  {"InnoDBCluster"},
	"opentelemetry.io":                  {"OpenTelemetryCollector"},
	"operator.victoriametrics.com":      {"VLSingle", "VMAgent", "VMAlert", "VMAlertmanager", "VMCluster", "VMSingle"},
	"postgres-operator.crunchydata.com": {"PostgresCluster"},
	"postgresql.cnpg.io":                {"Cluster", "Pooler"},
	"ps.percona.com":                    {"PerconaServerMySQL"},
	"psmdb.percona.com":                 {"PerconaServerMongoDB"},
	"pxc.percona.com":                   {"PerconaXtraDBCluster"},
	"rabbitmq.com":                      {"RabbitmqCluster"},
	"ray.io":                            {"RayCronJob", "RayJob"},
	"redis.redis.opstreelabs.in":        {"Redis", "RedisCluster", "RedisReplication", "RedisSentinel"},
	"sparkoperator.k8s.io":              {"ScheduledSparkApplication", "SparkApplication"},
	"serving.knative.dev":               {"Configuration", "Service"},
	"serving.kserve.io":                 {"InferenceGraph", "InferenceService", "LLMInferenceService"},
	"tekton.dev":                        {"PipelineRun", "TaskRun"},
	"trainer.kubeflow.org":              {"TrainJob"},
	"zookeeper.pravega.io":              {"ZookeeperCluster"},
}

// customWithoutPods are kinds of custom resources without pods although they have a template or a number of replicas, by group.
var customWithoutPods = map[string][]string{
	"argoproj.io":                   {"ApplicationSet"},
	"cluster.x-k8s.io":              {"ClusterClass", "MachineDeployment", "MachinePool", "MachineSet"},
	"controlplane.cluster.x-k8s.io": {"KubeadmControlPlane", "KubeadmControlPlaneTemplate"},
	"kafka.strimzi.io":              {"KafkaTopic"},
	"karpenter.sh":                  {"NodePool"},
	"machine.openshift.io":          {"MachineSet"},
}

// unexpected are kinds of Kubernetes that no decision reads, by group; an empty list means all kinds of the group.
var unexpected = map[string][]string{
	"":                             {"ComponentStatus", "ConfigMap", "Endpoints", "Event", "Secret", "ServiceAccount"},
	"admissionregistration.k8s.io": nil,
	"apiextensions.k8s.io":         nil,
	"apiregistration.k8s.io":       nil,
	"certificates.k8s.io":          nil,
	"coordination.k8s.io":          nil,
	"discovery.k8s.io":             nil,
	"events.k8s.io":                nil,
	"flowcontrol.apiserver.k8s.io": nil,
	"gateway.networking.k8s.io":    nil,
	"metrics.k8s.io":               nil,
	"networking.k8s.io":            nil,
	"rbac.authorization.k8s.io":    nil,
	"authentication.k8s.io":        nil,
	"authorization.k8s.io":         nil,
}

// unmentioned reports whether objects of a type have nothing to do with scheduling.
func unmentioned(t metav1.TypeMeta) bool {
	group, _, named := strings.Cut(t.APIVersion, "/")
	if !named {
		group = ""
	}
	kinds, ok := unexpected[group]
	return ok && (kinds == nil || slices.Contains(kinds, t.Kind))
}

// lists reports whether kinds by group have a type.
func lists(kinds map[string][]string, t metav1.TypeMeta) bool {
	group, _, _ := strings.Cut(t.APIVersion, "/")
	return slices.Contains(kinds[group], t.Kind)
}
