package kube_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// admitting returns a Builder with a node and with the objects that admission plugins read. They are added after the pods.
func admitting(t *testing.T, pods ...string) *kube.Snapshot {
	t.Helper()
	b := kube.NewBuilder(kube.Options{})
	for _, text := range pods {
		must(t, b.AddPod(parse[corev1.Pod](t, text)))
	}
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddLimitRange(parse[corev1.LimitRange](t, `
metadata: {name: second, namespace: small}
spec: {limits: [{type: Container, defaultRequest: {cpu: 7, memory: 7Mi}}]}`)))
	must(t, b.AddLimitRange(parse[corev1.LimitRange](t, `
metadata: {name: first, namespace: small}
spec:
  limits:
  - {type: Container, defaultRequest: {cpu: 100m}, max: {cpu: 2}, min: {ephemeral-storage: 5}, maxLimitRequestRatio: {cpu: 4}}
  - {type: Pod, max: {cpu: 3}}`)))
	must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: high}, value: 10}`)))
	must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: patient}, value: 5, preemptionPolicy: Never}`)))
	must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: usual}, value: 3, globalDefault: true}`)))
	must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: more}, value: 4, globalDefault: true}`)))
	must(t, b.AddRuntimeClass(parse[nodev1.RuntimeClass](t, `
metadata: {name: kata}
handler: kata
overhead: {podFixed: {cpu: 250m, memory: 120Mi}}
scheduling: {nodeSelector: {vm: "yes"}, tolerations: [{key: vm, operator: Exists}]}`)))
	must(t, b.AddRuntimeClass(parse[nodev1.RuntimeClass](t, `{metadata: {name: plain}, handler: runc}`)))
	return build(t, b)
}

func TestAdmissionChangesPods(t *testing.T) {
	for name, c := range map[string]struct{ pod, want string }{
		"a LimitRange, those of the first name before others": {
			`{metadata: {name: p, namespace: small}, spec: {containers: [{name: c, resources: {limits: {cpu: 400m}, requests: {cpu: 200m}}}], initContainers: [{name: i, resources: {limits: {cpu: 400m}}}]}}`,
			`{namespace: small, spec: {priority: 3,
			  containers: [{name: c, requests: {cpuMillis: 200, memoryBytes: 7340032, ephemeralStorageBytes: 5}}],
			  initContainers: [{name: i, requests: {cpuMillis: 400, memoryBytes: 7340032, ephemeralStorageBytes: 5}}]}}`,
		},
		"a RuntimeClass": {
			`{metadata: {name: p}, spec: {runtimeClassName: kata, nodeSelector: {disk: ssd}, tolerations: [{key: own}]}}`,
			`{namespace: default, spec: {priority: 3, overhead: {cpuMillis: 250, memoryBytes: 125829120},
			  nodeSelector: {disk: ssd, vm: "yes"},
			  tolerations: [{key: own, operator: TOLERATION_OPERATOR_EQUAL}, {key: vm, operator: TOLERATION_OPERATOR_EXISTS}]}}`,
		},
		"a RuntimeClass that adds nothing": {
			`{metadata: {name: p}, spec: {runtimeClassName: plain}}`, `{namespace: default, spec: {priority: 3}}`,
		},
		"a PriorityClass":                {`{metadata: {name: p}, spec: {priorityClassName: high}}`, `{namespace: default, spec: {priority: 10}}`},
		"one that never preempts":        {`{metadata: {name: p}, spec: {priorityClassName: patient}}`, `{namespace: default, spec: {priority: 5, preemptionPolicy: PREEMPTION_POLICY_NEVER}}`},
		"a preemption policy of its own": {`{metadata: {name: p}, spec: {preemptionPolicy: Never}}`, `{namespace: default, spec: {priority: 3, preemptionPolicy: PREEMPTION_POLICY_NEVER}}`},
		"one that was copied":            {`{metadata: {name: p}, spec: {priorityClassName: high, priority: 10}}`, `{namespace: default, spec: {priority: 10}}`},
		"one of every cluster":           {`{metadata: {name: p}, spec: {priorityClassName: system-node-critical}}`, `{namespace: default, spec: {priority: 2000001000}}`},
		"a priority of its own":          {`{metadata: {name: p}, spec: {priority: 5}}`, `{namespace: default, spec: {priority: 5}}`},
		"a pod that was admitted":        {`{metadata: {name: p, namespace: small, uid: u}, spec: {runtimeClassName: kata, priorityClassName: high}}`, `{namespace: small, spec: {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := admitting(t, c.pod)
			if len(s.Queue) != 1 {
				t.Fatalf("%d pods are queued: %v", len(s.Queue), waiting(s))
			}
			want := message(t, &stowagev1.PodTemplate{}, c.want)
			if !strings.Contains(c.pod, "uid") {
				added := message(t, &stowagev1.PodSpec{}, `{`+defaultTolerations+`}`).Tolerations
				want.Spec.Tolerations = slices.Insert(want.Spec.Tolerations, min(1, len(want.Spec.Tolerations)), added...)
			}
			diff(t, want, s.Cluster.PodTemplates[s.Queue[0].Pods.Pod.GetTemplateIndex()])
			diff(t, []string(nil), told(s.Unread))
		})
	}
}

// The texts are the texts of the admission plugins.
func TestAdmissionRejectsPods(t *testing.T) {
	const prefix = "the API server rejects the pod: "
	small := func(resources string) string {
		return `{metadata: {name: p, namespace: small}, spec: {containers: [{name: c, resources: ` + resources + `}]}}`
	}
	for name, c := range map[string]struct{ pod, want string }{
		"more than the maximum": {small(`{limits: {cpu: 3}, requests: {cpu: 2}}`),
			"maximum cpu usage per Container is 2, but limit is 3 (LimitRange small/first)"},
		"less than the minimum": {small(`{requests: {ephemeral-storage: 1, cpu: 1}}`),
			"minimum ephemeral-storage usage per Container is 5, but request is 1 (LimitRange small/first)"},
		"the ratio": {small(`{limits: {cpu: 2}, requests: {cpu: 400m}}`),
			"cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000 (LimitRange small/first)"},
		"the default limit, by the ratio": {small(`{}`),
			"cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000 (LimitRange small/first)"},
		"the sum of the containers": {
			`{metadata: {name: p, namespace: small}, spec: {containers: [{name: c, resources: {limits: {cpu: 2}}}, {name: d, resources: {limits: {cpu: 2}}}]}}`,
			"maximum cpu usage per Pod is 3, but limit is 4 (LimitRange small/first)"},
		"another overhead": {`{metadata: {name: p}, spec: {runtimeClassName: kata, overhead: {cpu: 1}}}`,
			"pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"},
		"an overhead that the class lacks": {`{metadata: {name: p}, spec: {runtimeClassName: plain, overhead: {cpu: 1}}}`,
			"pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"},
		"another node selector": {`{metadata: {name: p}, spec: {runtimeClassName: kata, nodeSelector: {vm: "no"}}}`,
			"conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no"},
		"another preemption policy": {`{metadata: {name: p}, spec: {priorityClassName: patient, preemptionPolicy: PreemptLowerPriority}}`,
			"the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; " +
				"priority admission controller computed Never from the given PriorityClass name"},
		"another priority": {`{metadata: {name: p}, spec: {priorityClassName: high, priority: 9}}`,
			"the integer value of priority (9) must not be provided in pod spec; priority admission controller computed 10 from the given PriorityClass name"},
	} {
		t.Run(name, func(t *testing.T) {
			s := admitting(t, c.pod)
			if len(s.Queue) != 0 || len(s.Waiting) != 1 || len(s.Misreads) != 0 {
				t.Fatalf("queue %v, waiting %v, misreads %v", s.Queue, s.Waiting, s.Misreads)
			}
			if got := s.Waiting[0].Message; got != prefix+c.want {
				t.Errorf("got  %s\nwant %s", got, prefix+c.want)
			}
		})
	}
}

// A pod on a node occupies what it would after admission, even if it would be rejected.
func TestAdmissionOfPodsOnNodes(t *testing.T) {
	s := admitting(t,
		`{metadata: {name: kata}, spec: {nodeName: a, runtimeClassName: kata, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}`,
		`{metadata: {name: large, namespace: small}, spec: {nodeName: a, containers: [{name: c, resources: {limits: {cpu: 9}}}]}}`,
		`{metadata: {name: other}, spec: {nodeName: a, runtimeClassName: other}}`,
		`{metadata: {name: asked, uid: u}}`)
	pods := s.Cluster.Nodes[0].Pods
	diff(t, int64(250), s.Cluster.PodTemplates[pods[0].GetTemplateIndex()].Spec.Overhead.GetCpuMillis())
	diff(t, int64(5), s.Cluster.PodTemplates[pods[1].GetTemplateIndex()].Spec.Containers[0].Requests.GetEphemeralStorageBytes())
	diff(t, []string{"Pod default/other spec.runtimeClassName"}, told(s.Queue[0].Pods.Pod.Unread))
}

// Pods that are rejected do not count as members of their group.
func TestRejectedPodsAreNoMembers(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddPodGroup(unstructuredOf(t, `{metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}`)))
	must(t, b.AddLimitRange(parse[corev1.LimitRange](t, `{metadata: {name: l}, spec: {limits: [{type: Container, max: {cpu: 1}}]}}`)))
	for _, cpu := range []string{"1", "2"} {
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p`+cpu+`}, spec: {schedulingGroup: {podGroupName: g}, containers: [{name: c, resources: {limits: {cpu: `+cpu+`}}}]}}`)))
	}
	s := build(t, b)
	if len(s.Queue) != 0 || len(s.Waiting) != 2 {
		t.Errorf("queue %v, waiting %v", s.Queue, s.Waiting)
	}
}
