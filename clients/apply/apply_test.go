package apply_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/apply"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

const (
	// live is a Deployment as the API server completes it, with a rule, a second container and a tolerated taint.
	live = `
metadata: {name: w, uid: u, managedFields: MANAGERS}
spec:
  replicas: 3
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}, annotations: {kubectl.kubernetes.io/restartedAt: now}}
    spec:
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
      nodeSelector: {kubernetes.io/arch: amd64}
      tolerations: [{key: k, operator: Exists}]
      volumes: [{name: v, configMap: {name: v, defaultMode: 420}}, {name: old, emptyDir: {}}]
      containers:
      - name: c
        image: i
        imagePullPolicy: Always
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
        ports: [{containerPort: 80, protocol: TCP}]
        livenessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
        resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m, memory: 1Gi}}
      - {name: sidecar, image: s, resources: {}}
`
	// file is the manifest of it without the rule, the second container, a volume and the probe.
	file = `
metadata: {name: w}
spec:
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec:
      tolerations: [{key: k, operator: Exists}]
      volumes: [{name: v, configMap: {name: v}}]
      containers:
      - name: c
        image: i
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}
`
	helm = `{manager: helm, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:selector": {}, "f:template": {` +
		`"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:tolerations": {}, "f:dnsPolicy": {}, ` +
		`"f:volumes": {".": {}, "k:{\"name\":\"old\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}}, "f:containers": {` +
		`"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:image": {}, "f:livenessProbe": {".": {}, "f:tcpSocket": {".": {}, "f:port": {}}, "f:periodSeconds": {}}},` +
		`"k:{\"name\":\"sidecar\"}": {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}}}}}}}}`
	injector = `{manager: injector, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:template": {"f:spec": {` +
		`"f:nodeSelector": {}, "f:containers": {"k:{\"name\":\"sidecar\"}": {"f:image": {}}}}}}}}`
	// rules belong to the manifest's manager, and to a policy.
	rules = `affinity:
        nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}}
        podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}, topologyKey: zone}]}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
      - {maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule}
      `
	policy = `{manager: policy, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:template": {"f:spec": {` +
		`"f:affinity": {"f:nodeAffinity": {"f:requiredDuringSchedulingIgnoredDuringExecution": {}}}, ` +
		`"f:topologySpreadConstraints": {"k:{\"topologyKey\":\"host\",\"whenUnsatisfiable\":\"DoNotSchedule\"}": {".": {}, "f:maxSkew": {}}}}}}}}`
	// emptier owns fields without what is below them, of which nodeSelector alone has one owner.
	emptier = `{manager: emptier, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:template": {"f:spec": {` +
		`"f:affinity": {}, "f:nodeSelector": {}, "f:volumes": {"k:{\"name\":\"old\"}": {".": {}}}, "f:containers": {"k:{\"name\":\"c\"}": {` +
		`"f:resources": {".": {}}, "f:securityContext": {".": {}}, "f:env": {}}}}}}}}`
	autoscaler = `{manager: kube-controller-manager, operation: Update, subresource: scale, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}`
)

// workload returns a Deployment of a container with fields, and of fields of its pods.
func workload(container string, pods ...string) string {
	return "{metadata: {name: w, managedFields: MANAGERS}, spec: {selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {" +
		strings.Join(append(pods, "containers: [{name: c, image: i, "+container+"}]"), ", ") + "}}}}"
}

// lacking is a manifest that lacks fields of its live object, a Deployment without kind.
type lacking struct {
	name, kind, live, file string
	empty                  func() metav1.Object
	removed, kept          []string
}

func TestFieldsThatAManifestLacks(t *testing.T) {
	replace := strings.NewReplacer
	for _, c := range []lacking{
		{
			name: "the manifest is the whole", live: live, file: file,
			removed: []string{
				"spec.template.spec.containers[c].livenessProbe", "spec.template.spec.containers[c].resources.requests[memory]",
				"spec.template.spec.containers[sidecar]", "spec.template.spec.nodeSelector", "spec.template.spec.volumes[old]",
			},
			kept: []string{"spec.replicas", "spec.template.metadata.annotations"},
		},
		{
			name: "the manager of most fields owns the manifest", live: replace("MANAGERS", "["+helm+", "+autoscaler+"]").Replace(live), file: file,
			removed: []string{
				"spec.template.spec.containers[c].livenessProbe", "spec.template.spec.containers[c].resources.requests[memory]",
				"spec.template.spec.containers[sidecar]", "spec.template.spec.nodeSelector", "spec.template.spec.volumes[old]",
			},
			kept: []string{"spec.replicas", "spec.template.metadata.annotations"},
		},
		{
			name: "what two managers own stays", live: replace("MANAGERS", "["+injector+", "+helm+"]").Replace(live), file: file,
			removed: []string{
				"spec.template.spec.containers[c].livenessProbe", "spec.template.spec.containers[c].resources.requests[memory]",
				"spec.template.spec.volumes[old]",
			},
			kept: []string{
				"spec.replicas", "spec.template.metadata.annotations", "spec.template.spec.containers[sidecar]",
				"spec.template.spec.nodeSelector",
			},
		},
		{
			name: "a part of a field that another manager owns stays",
			live: replace("MANAGERS", "["+helm+", "+policy+"]", "nodeSelector:", rules+"nodeSelector:").Replace(live), file: file,
			removed: []string{
				"spec.template.spec.affinity.podAntiAffinity", "spec.template.spec.containers[c].livenessProbe",
				"spec.template.spec.containers[c].resources.requests[memory]",
				"spec.template.spec.containers[sidecar]", "spec.template.spec.nodeSelector",
				"spec.template.spec.topologySpreadConstraints[zone]", "spec.template.spec.volumes[old]",
			},
			kept: []string{
				"spec.replicas", "spec.template.metadata.annotations", "spec.template.spec.affinity",
				"spec.template.spec.topologySpreadConstraints",
			},
		},
		{
			name: "kubectl's annotation decides", file: file,
			live: replace("MANAGERS", "["+helm+"], annotations: {kubectl.kubernetes.io/last-applied-configuration: "+
				`'{"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/arch": "amd64"}, "containers": [{"name": "c"}]}}}}'}`).Replace(live),
			removed: []string{"spec.template.spec.nodeSelector"},
			kept: []string{
				"spec.replicas", "spec.template.metadata.annotations", "spec.template.spec.containers[c].livenessProbe",
				"spec.template.spec.containers[c].resources.requests[memory]",
				"spec.template.spec.containers[sidecar]", "spec.template.spec.volumes[old]",
			},
		},
		{
			name:    "a request as high as its limit is no default of a pod template",
			live:    workload("resources: {limits: {cpu: 1}, requests: {cpu: 1}}"),
			file:    workload("resources: {limits: {cpu: 4}}"),
			removed: []string{"spec.template.spec.containers[c].resources.requests"},
		},
		{
			name: "the owner of an empty struct does not own what is below it",
			live: replace("MANAGERS", "["+helm+", "+emptier+"]").Replace(workload(
				"resources: {requests: {cpu: 1}}, securityContext: {runAsUser: 1}, env: [{name: E, value: e}]",
				"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}",
				"nodeSelector: {disk: ssd}", "volumes: [{name: old, emptyDir: {sizeLimit: 1Gi}}]",
			)),
			file: workload("env: []"),
			removed: []string{
				"spec.template.spec.affinity.podAntiAffinity", "spec.template.spec.containers[c].env",
				"spec.template.spec.containers[c].resources.requests", "spec.template.spec.containers[c].securityContext.runAsUser",
				"spec.template.spec.volumes[old].emptyDir",
			},
			kept: []string{"spec.template.spec.nodeSelector", "spec.template.spec.volumes"},
		},
		{
			name: "a patch removes nothing", live: live, file: "{metadata: {name: w}, spec: {replicas: 3, strategy: {type: RollingUpdate}}}",
		},
	} {
		t.Run(c.name, c.check)
	}
}

func TestFieldsThatManifestsOfOtherKindsLack(t *testing.T) {
	for _, c := range []lacking{
		{
			name: "a budget with another rule", kind: "PodDisruptionBudget", empty: func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
			live:    "{metadata: {name: w, uid: u}, spec: {minAvailable: 2, selector: {matchLabels: {app: w, tier: x}}}}",
			file:    "{metadata: {name: w}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: w}}}}",
			removed: []string{"spec.minAvailable", "spec.selector.matchLabels[tier]"},
		},
		{
			name: "a service with a wider selector", kind: "Service", empty: func() metav1.Object { return &corev1.Service{} },
			live:    "{metadata: {name: w, uid: u}, spec: {clusterIP: 1.2.3.4, selector: {app: w, tier: x}}}",
			file:    "{metadata: {name: w}, spec: {selector: {app: w}}}",
			removed: []string{"spec.selector.tier"},
		},
		{
			name: "a runtime class without overhead", kind: "RuntimeClass", empty: func() metav1.Object { return &nodev1.RuntimeClass{} },
			live: "{metadata: {name: w, uid: u}, handler: h, overhead: {podFixed: {cpu: 1}}}", file: "{metadata: {name: w}, handler: h}",
			removed: []string{"overhead"},
		},
		{
			name: "a node", kind: "Node", empty: func() metav1.Object { return &corev1.Node{} },
			live: "{metadata: {name: w, uid: u, labels: {a: b}}, spec: {taints: [{key: k, effect: NoSchedule}]}}",
			file: "{metadata: {name: w, labels: {c: d}}}",
		},
	} {
		t.Run(c.name, c.check)
	}
}

func (c lacking) check(t *testing.T) {
	got := applied(t, cmp.Or(c.kind, "Deployment"), c.live, c.file, c.empty)
	if diff := gocmp.Diff(c.removed, got.Removed, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("removed (-want +got)\n%s", diff)
	}
	if diff := gocmp.Diff(c.kept, got.Kept, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("kept (-want +got)\n%s", diff)
	}
	text, err := json.Marshal(got.Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range c.removed {
		name := strings.TrimRight(path[strings.LastIndexAny(path, ".[")+1:], "]")
		if strings.Contains(string(text), `"`+name+`":{`) || strings.Contains(string(text), `"name":"`+name+`"`) {
			t.Errorf("%s is still there: %s", path, text)
		}
	}
}

// applied applies a file to an object of a kind, a Deployment without empty.
func applied(t *testing.T, kind, live, file string, empty func() metav1.Object) manifest.Applied {
	t.Helper()
	if empty == nil {
		empty = func() metav1.Object { return &appsv1.Deployment{} }
	}
	current, tree := empty(), map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(live, "MANAGERS", "[]")), current); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(file), &tree); err != nil {
		t.Fatal(err)
	}
	tree["kind"] = kind
	got, err := apply.Manifest(current, empty(), tree)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
