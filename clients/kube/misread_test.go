package kube_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maybe is what is wrong with a toleration whose operator is Maybe.
func maybe(spec string) string {
	return spec + `.tolerations[0].operator: Unsupported value: "Maybe": supported values: "", "Equal", "Exists", "Gt", "Lt"`
}

// TestOddObjectsCostOnlyThemselves adds an odd object of each kind to good ones, which stay as they are.
func TestOddObjectsCostOnlyThemselves(t *testing.T) {
	const (
		badTerm     = `[{topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}]`
		badAffinity = `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ` + badTerm + `}}`
	)
	for _, c := range []struct {
		name, at string
		add      func(b *kube.Builder) error
		misread  string
		waiting  []string
		// nodes are the nodes of the answer, and pods what is on them and is not plain.
		nodes string
	}{
		{
			name: "a node's taint", misread: "spec.taints[0].effect: Unsupported value: \"Shun\": supported values: \"NoExecute\", \"NoSchedule\", \"PreferNoSchedule\"",
			add: func(b *kube.Builder) error {
				return b.AddNode(parse[corev1.Node](t, `{metadata: {name: odd, labels: {zone: z}}, spec: {taints: [{key: k, effect: Shun}]}, status: {allocatable: {pods: 9}}}`))
			},
			nodes: `[{name: good, allocatable: {pods: 9}, pods: [{name: there, templateIndex: 0}]}, {name: odd, labels: {zone: z}, unschedulable: true, allocatable: {}}]`,
		},
		{
			name: "a pod on a node, whose terms are not read",
			add: func(b *kube.Builder) error {
				return b.AddPod(parse[corev1.Pod](t, `{metadata: {name: odd}, spec: {nodeName: good, containers: [{name: c, resources: {requests: {cpu: 4}}}], `+badAffinity+`}}`))
			},
			misread: "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: " +
				"Unsupported value: \"Like\": supported values: \"DoesNotExist\", \"Exists\", \"In\", \"NotIn\"",
			nodes: `[{name: good, allocatable: {pods: 9}, pods: [{name: there, templateIndex: 0}, {name: odd, templateIndex: 1}]}]`,
		},
		{
			name: "a pod on a node, whose requests are not read: nothing else may go there",
			add: func(b *kube.Builder) error {
				return b.AddPod(parse[corev1.Pod](t, `{metadata: {name: odd, labels: {a: b}}, spec: {nodeName: good, containers: [{name: c, resources: {requests: {memory: 10E}}}]}}`))
			},
			misread: "spec.containers[0].resources.requests[memory]: Invalid value: \"10E\": too large",
			nodes:   `[{name: good, unschedulable: true, allocatable: {}, pods: [{name: there, templateIndex: 0}, {name: odd, templateIndex: 1}]}]`,
		},
		{
			name: "a pending pod",
			add: func(b *kube.Builder) error {
				return b.AddPod(parse[corev1.Pod](t, `{metadata: {name: odd}, spec: {tolerations: [{operator: Maybe}]}}`))
			},
			misread: maybe("spec"),
			waiting: []string{"Pod default/odd: 1: not understood: " + maybe("spec")},
		},
		{
			name: "a workload",
			add: func(b *kube.Builder) error {
				return b.AddStatefulSet(parse[appsv1.StatefulSet](t, `{metadata: {name: odd}, spec: {replicas: 20000, template: {spec: {}}}}`))
			},
			misread: "spec.replicas: Too many: 20000: must have at most 10000 items",
			waiting: []string{"StatefulSet default/odd: 20000: not understood: spec.replicas: Too many: 20000: must have at most 10000 items"},
		},
		{
			name: "a workload that exists",
			add: func(b *kube.Builder) error {
				return b.AddDeployment(parse[appsv1.Deployment](t, `{metadata: {name: odd, uid: u}, spec: {selector: {}, template: {spec: {tolerations: [{operator: Maybe}]}}}}`))
			},
			misread: maybe("spec.template.spec"),
		},
		{
			name: "a workload that exists and whose selector is read",
			add: func(b *kube.Builder) error {
				return b.AddReplicaSet(parse[appsv1.ReplicaSet](t, `{metadata: {name: odd, uid: u}, spec: {selector: {}, template: {spec: {tolerations: [{operator: Maybe}]}}}}`))
			},
			misread: maybe("spec.template.spec"),
		},
		{
			name: "a workload without pods",
			add: func(b *kube.Builder) error {
				return b.AddStatefulSet(parse[appsv1.StatefulSet](t, `{metadata: {name: odd}, spec: {replicas: 0, selector: {}, template: {spec: {tolerations: [{operator: Maybe}]}}}}`))
			},
			misread: maybe("spec.template.spec"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := kube.NewBuilder(kube.Options{})
			must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: good}, status: {allocatable: {pods: 9}}}`)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: there}, spec: {nodeName: good}}`)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: asked}}`)))
			b.From("odd.yaml")
			err := c.add(b)
			if m := (*kube.Misread)(nil); !errors.As(err, &m) || err.Error() != "odd.yaml: "+c.misread {
				t.Errorf("got %v\nwant %s", err, c.misread)
			}
			s := build(t, b)
			if len(s.Misreads) != 1 || s.Misreads[0].OwnPods != (c.nodes == "") {
				t.Errorf("misreads: %v", s.Misreads)
			}
			diff(t, c.waiting, waiting(s))
			if len(s.Queue) != 1 || s.Queue[0].Origin.Name != "asked" {
				t.Errorf("queue %v", s.Queue)
			}
			want := c.nodes
			if want == "" {
				want = `[{name: good, allocatable: {pods: 9}, pods: [{name: there, templateIndex: 0}]}]`
			}
			diff(t, message(t, &stowagev1.Cluster{}, `nodes: `+want).Nodes, s.Cluster.Nodes)
		})
	}
}

// The selector of a workload is read for the pods that it has made: with them, it is not known how they spread.
func TestSelectorsThatAreNotReadConcernPodsThatExist(t *testing.T) {
	const spec = `spec: {selector: {matchExpressions: [{key: a, operator: Like}]}, template: {spec: {}}}`
	for uid, own := range map[string]bool{"": true, ", uid: u": false} {
		b := kube.NewBuilder(kube.Options{})
		for _, err := range []error{
			b.AddReplicaSet(parse[appsv1.ReplicaSet](t, `{metadata: {name: odd`+uid+`}, `+spec+`}`)),
			b.AddStatefulSet(parse[appsv1.StatefulSet](t, `{metadata: {name: odd`+uid+`}, `+spec+`}`)),
		} {
			if m := (*kube.Misread)(nil); !errors.As(err, &m) || m.OwnPods != own {
				t.Errorf("%q: %v is %+v", uid, err, m)
			}
		}
		s := build(t, b)
		if len(s.Misreads) != 2 || len(s.Cluster.WorkloadSelectors) > 0 || own != (len(s.Waiting) == 2) {
			t.Errorf("%q: %v, %v", uid, s.Misreads, waiting(s))
		}
	}
}

// kube-scheduler does not read these of pods on nodes, so nothing is wrong with them.
func TestWhatIsNotReadOfPodsOnNodesIsNoError(t *testing.T) {
	got, err := kube.RunningPod(parse[corev1.Pod](t, `
spec:
  nodeName: a
  containers: [{name: c, resources: {requests: {cpu: 4}}, ports: [{hostPort: 80}]}]
  tolerations: [{operator: Maybe}]
  topologySpreadConstraints: [{whenUnsatisfiable: Perhaps}]
  affinity:
    nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{preference: {matchExpressions: [{key: a, operator: Like}]}}]}
    podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}
`))
	must(t, err)
	diff(t, message(t, &stowagev1.PodSpec{}, `
containers: [{name: c, requests: {cpuMillis: 4000}, hostPorts: [{port: 80, protocol: PROTOCOL_TCP}]}]
affinity: {podAntiAffinity: {required: [{topologyKey: zone, labelSelector: {}}]}}
`), got.GetTemplate().Spec)
}

// Values that no selector can hold are left to the server, which decides as kube-scheduler does.
func TestUnparsableValuesAreStated(t *testing.T) {
	const values = `
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 1, preference: {matchExpressions: [{key: disk, operator: In, values: ["ssd,hdd"]}, {key: disk, operator: Gt, values: [many]}]}}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: In, values: ["b,c"]}]}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: "b,c"}}}]
`
	p := &corev1.Pod{Spec: *parse[corev1.PodSpec](t, values)}
	p.UID = "u"
	pending, err := convert.PendingPod(p)
	must(t, err)
	running, err := kube.RunningPod(p)
	must(t, err)
	diff(t, running.GetTemplate(), pending.GetTemplate())
	spec := pending.GetTemplate().Spec
	diff(t, []string{"ssd,hdd"}, spec.Affinity.NodeAffinity.Preferred[0].Preference.MatchExpressions[0].Values)
	diff(t, []string{"many"}, spec.Affinity.NodeAffinity.Preferred[0].Preference.MatchExpressions[1].Values)
	diff(t, []string{"b,c"}, spec.Affinity.PodAntiAffinity.Required[0].LabelSelector.MatchExpressions[0].Values)
	diff(t, map[string]string{"a": "b,c"}, spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels)
}

// The API server does not validate sizes of images. They only affect scores, so the node is as good as any.
func TestImageSizesBeyondLimitsAreTheNearest(t *testing.T) {
	got, err := convert.Node(parse[corev1.Node](t, `
{metadata: {name: a}, status: {images: [{names: [less], sizeBytes: -1}, {names: [same], sizeBytes: 3}, {names: [more], sizeBytes: 17592186044417}]}}`))
	must(t, err)
	diff(t, message(t, &stowagev1.Node{}, `
images: [{names: [less]}, {names: [same], sizeBytes: 3}, {names: [more], sizeBytes: 17592186044416}]`).Images, got.Images)
}

func TestPodsOfANodeThatIsGonePendAgain(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	add := func(text string) { must(t, b.AddPod(parse[corev1.Pod](t, text))) }
	add(`{metadata: {name: first}}`)
	add(`{metadata: {name: web, uid: u}, spec: {nodeName: gone, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}, status: {resources: {}, allocatedResources: {cpu: 1}}}`)
	add(`{metadata: {name: member}, spec: {nodeName: gone, schedulingGroup: {podGroupName: g}}}`)
	add(`{metadata: {name: mirror, annotations: {kubernetes.io/config.mirror: h}}, spec: {nodeName: gone}}`)
	add(`{metadata: {name: agent, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, controller: true}]}, spec: {nodeName: gone}}`)
	add(`{metadata: {name: ending, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {nodeName: gone}}`)
	add(`{metadata: {name: here}, spec: {nodeName: a}}`)
	// Its tolerations do not matter while it is on a node, but now they do.
	add(`{metadata: {name: odd}, spec: {nodeName: gone, tolerations: [{operator: Maybe}]}}`)
	if err := b.AddPod(parse[corev1.Pod](t, `{metadata: {name: huge}, spec: {nodeName: gone, containers: [{resources: {requests: {memory: 10E}}}]}}`)); err == nil {
		t.Error("a request of 10E was read")
	}
	add(`{metadata: {name: last}}`)
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	s := build(t, b)
	var names []string
	for _, e := range s.Queue {
		names = append(names, e.Origin.Name+" "+e.Gone)
	}
	diff(t, []string{"first ", "web gone", "last "}, names)
	diff(t, []string{
		`Pod default/odd: 1: not understood: spec.tolerations[0].operator: Unsupported value: "Maybe": supported values: "", "Equal", "Exists", "Gt", "Lt"`,
		`Pod default/huge: 1: not understood: spec.containers[0].resources.requests[memory]: Invalid value: "10E": too large`,
		`Pod default/member: 1: waiting for pods's pod group "g" to appear in scheduling queue`,
	}, waiting(s))
	if len(s.Misreads) != 2 || !s.Misreads[0].OwnPods || !s.Misreads[1].OwnPods {
		t.Errorf("misreads %v", s.Misreads)
	}
	diff(t, []string{"Pod default/web spec.volumes[0].persistentVolumeClaim"}, told(s.Queue[1].Pods.Pod.Unread))
	diff(t, []kube.HomelessPod{
		{Namespace: "default", Name: "web", Node: "gone"},
		{Namespace: "default", Name: "member", Node: "gone"},
		{Namespace: "default", Name: "mirror", Node: "gone", Stays: "the kubelet of its node made it"},
		{Namespace: "default", Name: "agent", Node: "gone", Stays: "its DaemonSet made it for its node"},
		{Namespace: "default", Name: "ending", Node: "gone", Stays: "it is being deleted"},
		{Namespace: "default", Name: "odd", Node: "gone"},
		{Namespace: "default", Name: "huge", Node: "gone"},
	}, s.HomelessPods)

	// Without a name, the question is about a pod that has never had a node; by its name, about any.
	if _, err := s.Pending(""); err == nil {
		t.Error("one of two pods was found")
	}
	e, err := s.Pending("web")
	must(t, err)
	if e[0].Gone != "gone" {
		t.Error(e)
	}
}
