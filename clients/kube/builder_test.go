package kube_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// newest reports whether the release of k8s.io/api has all fields that tests use.
var _, newest = reflect.TypeFor[batchv1.JobSpec]().FieldByName("Scheduling")

// parse reads an object as a person writes it.
func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	err := yaml.UnmarshalStrict([]byte(text), out)
	if err != nil && !newest && strings.Contains(err.Error(), "unknown field") {
		t.Skip("this release of Kubernetes lacks a field:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unstructuredOf reads an object whose type not every supported release has.
func unstructuredOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: *parse[map[string]any](t, text)}
}

// message reads a message in protojson written as YAML.
func message[M proto.Message](t *testing.T, m M, text string) M {
	t.Helper()
	js, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(js, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// defaultTolerations are the tolerations that DefaultTolerationSeconds adds to a pod that is created.
const defaultTolerations = `tolerations: [
  {key: node.kubernetes.io/not-ready, operator: TOLERATION_OPERATOR_EXISTS, effect: TAINT_EFFECT_NO_EXECUTE},
  {key: node.kubernetes.io/unreachable, operator: TOLERATION_OPERATOR_EXISTS, effect: TAINT_EFFECT_NO_EXECUTE}]`

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func build(t *testing.T, b *kube.Builder) *kube.Snapshot {
	t.Helper()
	s, err := b.Build()
	must(t, err)
	return s
}

func queue(s *kube.Snapshot) *stowagev1.PlaceRequest {
	out := &stowagev1.PlaceRequest{}
	for _, e := range s.Queue {
		out.Queue = append(out.Queue, e.Pods)
	}
	return out
}

func TestBuilderSharesTemplates(t *testing.T) {
	pod := func(name, node, more string) *corev1.Pod {
		return parse[corev1.Pod](t, `{metadata: {name: `+name+`, labels: {app: web`+more+`}}, spec: {nodeName: `+node+
			`, containers: [{name: c, image: i}]}}`)
	}
	objects := func(o kube.Options) *kube.Snapshot {
		b := kube.NewBuilder(o)
		for _, n := range []string{"a", "b"} {
			must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: `+n+`}, status: {allocatable: {pods: 110}}}`)))
		}
		must(t,
			b.AddPod(pod("w1", "a", "")),
			b.AddPod(pod("w2", "a", "")),
			b.AddPod(pod("w3", "b", `, apps.kubernetes.io/pod-index: "0"`)),
			b.AddPod(pod("w4", "gone", "")),
			b.AddPod(pod("w5", `""`, "")),
			b.AddPod(parse[corev1.Pod](t, `{metadata: {name: done}, spec: {nodeName: a}, status: {phase: Succeeded}}`)),
		)
		return build(t, b)
	}

	named := objects(kube.Options{})
	diff(t, message(t, &stowagev1.Cluster{}, `
nodes:
- {name: a, allocatable: {pods: 110}, pods: [{name: w1, templateIndex: 0}, {name: w2, templateIndex: 0}]}
- {name: b, allocatable: {pods: 110}, pods: [{name: w3, templateIndex: 0, labels: {apps.kubernetes.io/pod-index: "0"}}]}
podTemplates:
- {namespace: default, labels: {app: web}, spec: {containers: [{name: c, image: i}], `+defaultTolerations+`}}
`), named.Cluster)
	diff(t, message(t, &stowagev1.PlaceRequest{}, `queue: [{pod: {name: w4, templateIndex: 0}, count: 1}, {pod: {name: w5, templateIndex: 0}, count: 1}]`), queue(named))
	diff(t, []kube.HomelessPod{{Namespace: "default", Name: "w4", Node: "gone"}}, named.HomelessPods)

	counted := objects(kube.Options{CountPods: true})
	diff(t, message(t, &stowagev1.Cluster{}, `
nodes:
- {name: a, allocatable: {pods: 110}, podCounts: [{templateIndex: 0, count: 2}]}
- {name: b, allocatable: {pods: 110}, pods: [{templateIndex: 0, labels: {apps.kubernetes.io/pod-index: "0"}}]}
podTemplates:
- {namespace: default, labels: {app: web}, spec: {containers: [{name: c, image: i}], `+defaultTolerations+`}}
`), counted.Cluster)
}

func TestBuilderRefusesDuplicates(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	n := parse[corev1.Node](t, `{metadata: {name: a}}`)
	must(t, b.AddNode(n))
	if err := b.AddNode(n); err == nil || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("got %v", err)
	}
}

func TestDeploymentBecomesItsReplicaSetsPods(t *testing.T) {
	const text = `
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: %IMAGE%}]}}
`
	expand := func(image string) *kube.Snapshot {
		b := kube.NewBuilder(kube.Options{})
		must(t, b.AddDeployment(parse[appsv1.Deployment](t, strings.ReplaceAll(text, "%IMAGE%", image))))
		return build(t, b)
	}
	one, other := expand("v1"), expand("v2")
	hash := one.Cluster.PodTemplates[0].Labels["pod-template-hash"]
	if hash == "" || hash == other.Cluster.PodTemplates[0].Labels["pod-template-hash"] {
		t.Errorf("the hash %q does not tell the templates apart", hash)
	}
	diff(t, message(t, &stowagev1.Cluster{}, strings.ReplaceAll(`
podTemplates:
- namespace: shop
  labels: {app: web, pod-template-hash: HASH}
  controller: {apiVersion: apps/v1, kind: ReplicaSet, name: web-HASH}
  spec: {containers: [{name: c, image: v1}], `+defaultTolerations+`}
workloadSelectors:
- {kind: WORKLOAD_KIND_REPLICA_SET, namespace: shop, name: web-HASH, selector: {matchLabels: {app: web, pod-template-hash: HASH}}}
`, "HASH", hash)), one.Cluster)
	diff(t, message(t, &stowagev1.PlaceRequest{}, `queue: [{pod: {name: web-`+hash+`, templateIndex: 0}, count: 3}]`), queue(one))
	diff(t, kube.Origin{Kind: "Deployment", Namespace: "shop", Name: "web"}, one.Queue[0].Origin)
}

func TestLiveWorkloadsBringTheirSelectorsAndNoPods(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t,
		b.AddDeployment(parse[appsv1.Deployment](t, `{metadata: {name: d, uid: u}, spec: {replicas: 2}}`)),
		b.AddReplicaSet(parse[appsv1.ReplicaSet](t, `{metadata: {name: d-1, uid: u}, spec: {replicas: 2, selector: {matchLabels: {a: b}}}}`)),
		b.AddStatefulSet(parse[appsv1.StatefulSet](t, `{metadata: {name: s, uid: u}, spec: {replicas: 2, selector: {matchLabels: {c: d}}}}`)),
		b.AddJob(parse[batchv1.Job](t, `{metadata: {name: j, uid: u}}`)),
		b.AddCronJob(parse[batchv1.CronJob](t, `{metadata: {name: j, uid: u}}`)),
		b.AddDaemonSet(parse[appsv1.DaemonSet](t, `{metadata: {name: j, uid: u}}`)),
		b.AddReplicationController(parse[corev1.ReplicationController](t, `{metadata: {name: r, uid: u}, spec: {selector: {e: f}, template: {}}}`)),
		b.AddService(parse[corev1.Service](t, `{metadata: {name: v}}`)),
	)
	s := build(t, b)
	if len(s.Queue) > 0 {
		t.Errorf("queue %v", s.Queue)
	}
	diff(t, message(t, &stowagev1.Cluster{}, `
workloadSelectors:
- {kind: WORKLOAD_KIND_REPLICA_SET, namespace: default, name: d-1, selector: {matchLabels: {a: b}}}
- {kind: WORKLOAD_KIND_STATEFUL_SET, namespace: default, name: s, selector: {matchLabels: {c: d}}}
- {kind: WORKLOAD_KIND_REPLICATION_CONTROLLER, namespace: default, name: r, selector: {matchLabels: {e: f}}}
- {kind: WORKLOAD_KIND_SERVICE, namespace: default, name: v}
`), s.Cluster)
}

func TestStatefulSetHasAnEntryPerOrdinal(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddStatefulSet(parse[appsv1.StatefulSet](t, `
metadata: {name: db}
spec: {replicas: 2, ordinals: {start: 5}, template: {spec: {containers: [{name: c}]}}}
`)))
	s := build(t, b)
	diff(t, message(t, &stowagev1.PlaceRequest{}, `
queue:
- {pod: {name: db-5, templateIndex: 0, labels: {statefulset.kubernetes.io/pod-name: db-5, apps.kubernetes.io/pod-index: "5"}}, count: 1}
- {pod: {name: db-6, templateIndex: 0, labels: {statefulset.kubernetes.io/pod-name: db-6, apps.kubernetes.io/pod-index: "6"}}, count: 1}
`), queue(s))
}

func TestJobsStartAsManyPodsAsTheyMay(t *testing.T) {
	for text, want := range map[string]int{
		`{}`:                               1,
		`{parallelism: 4}`:                 4,
		`{parallelism: 4, completions: 2}`: 2,
		`{completions: 5}`:                 1,
		`{parallelism: 4, suspend: true}`:  0,
		`{parallelism: 3, completions: 9, completionMode: Indexed}`: 3,
	} {
		jobs := kube.NewBuilder(kube.Options{})
		must(t, jobs.AddJob(parse[batchv1.Job](t, `{metadata: {name: j}, spec: `+text+`}`)))
		runs := kube.NewBuilder(kube.Options{})
		must(t, runs.AddCronJob(parse[batchv1.CronJob](t, `{metadata: {name: j}, spec: {jobTemplate: {spec: `+text+`}}}`)))
		for _, b := range []*kube.Builder{jobs, runs} {
			got := 0
			for _, e := range build(t, b).Queue {
				got += int(e.Pods.PodCount())
				if e.Pods.Pod.Name == "" {
					t.Errorf("%s: a pod without a name", text)
				}
			}
			if got != want {
				t.Errorf("%s: %d pods, want %d", text, got, want)
			}
		}
	}
}

func TestDaemonSetPinsAPodToEachNodeThatMayRunIt(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddDaemonSet(parse[appsv1.DaemonSet](t, `
metadata: {name: agent}
spec:
  template:
    spec:
      nodeSelector: {os: linux}
      containers: [{name: c}]
`)))
	for _, n := range []string{
		`{metadata: {name: plain, labels: {os: linux}}}`,
		`{metadata: {name: other}}`,
		`{metadata: {name: cordoned, labels: {os: linux}}, spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}}`,
		`{metadata: {name: tainted, labels: {os: linux}}, spec: {taints: [{key: k, effect: NoSchedule}]}}`,
		`{metadata: {name: disliked, labels: {os: linux}}, spec: {taints: [{key: k, effect: PreferNoSchedule}]}}`,
	} {
		must(t, b.AddNode(parse[corev1.Node](t, n)))
	}
	s := build(t, b)
	var got []string
	for _, e := range s.Queue {
		spec := s.Cluster.PodTemplates[e.Pods.Pod.GetTemplateIndex()].Spec
		got = append(got, spec.Affinity.NodeAffinity.Required.Terms[0].MatchFields[0].Values...)
		if len(spec.Tolerations) != 6 {
			t.Errorf("tolerations %v", spec.Tolerations)
		}
	}
	diff(t, []string{"plain", "cordoned", "disliked"}, got)
}

func TestNodesShareClassesAndErrorsStillLeadToThem(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	for _, name := range []string{"a", "b", "c"} {
		b.From("nodes.yaml: Node " + name)
		must(t, b.AddNode(parse[corev1.Node](t, `
metadata: {name: `+name+`, labels: {kubernetes.io/hostname: `+name+`, example.com/pool: a-pool-with-a-name, rack: rack-`+name+`}}
spec: {taints: [{key: dedicated, effect: NoSchedule}]}
status:
  capacity: {cpu: 4, pods: 110, memory: `+map[string]string{"a": "1Gi", "b": "2Gi", "c": "3Gi"}[name]+`}
  images: [{names: [own-`+name+`]}, {names: [shared], sizeBytes: 1}]
`)))
	}
	s := build(t, b)
	diff(t, message(t, &stowagev1.Cluster{}, `
nodeClasses:
- labels: {example.com/pool: a-pool-with-a-name}
  nameLabelKeys: [kubernetes.io/hostname]
  taints: [{key: dedicated, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 4000, pods: 110}
  images: [{names: [shared], sizeBytes: 1}]
nodes:
- {name: a, classIndex: 0, labels: {rack: rack-a}, allocatable: {memoryBytes: 1073741824}, images: [{names: [own-a]}]}
- {name: b, classIndex: 0, labels: {rack: rack-b}, allocatable: {memoryBytes: 2147483648}, images: [{names: [own-b]}]}
- {name: c, classIndex: 0, labels: {rack: rack-c}, allocatable: {memoryBytes: 3221225472}, images: [{names: [own-c]}]}
`), s.Cluster)
	for path, want := range map[string]string{
		`context.cluster.node_classes[0].labels["example.com/pool"]`: "nodes.yaml: Node a metadata.labels[example.com/pool]",
		`context.cluster.node_classes[0].name_label_keys[0]`:         "nodes.yaml: Node a metadata.labels[]",
		`context.cluster.node_classes[0].taints[0].effect`:           "nodes.yaml: Node a spec.taints[0].effect",
		`context.cluster.node_classes[0].allocatable.cpu_millis`:     "nodes.yaml: Node a status.capacity[cpu]",
		`context.cluster.node_classes[0].images[0].size_bytes`:       "nodes.yaml: Node a status.images[].sizeBytes",
		`context.cluster.nodes[1].labels["rack"]`:                    "nodes.yaml: Node b metadata.labels[rack]",
		`context.cluster.nodes[2].allocatable.memory_bytes`:          "nodes.yaml: Node c status.capacity[memory]",
	} {
		at, field, ok := s.Locate(s.PlaceRequest(), path)
		if got := at + " " + field; got != want || !ok {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}
