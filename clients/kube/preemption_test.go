package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// What preemption reads of pods on nodes. A pending pod, nominated or not, states none of it.
func TestWhatPreemptionReadsOfPods(t *testing.T) {
	const ends = `deletionTimestamp: "2026-01-02T00:00:00Z"`
	condition := func(text string) string {
		return `{metadata: {name: p, uid: u, ` + ends + `}, spec: {nodeName: a}, status: {conditions: [` + text + `]}}`
	}
	const byScheduler = `{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler}`
	for name, c := range map[string]struct{ pod, want string }{
		"a start time": {
			`{metadata: {name: p, uid: u}, spec: {nodeName: a}, status: {startTime: "2026-01-02T03:04:05Z"}}`,
			`{name: p, startTime: "2026-01-02T03:04:05Z"}`,
		},
		"a start time before the epoch": {
			`{metadata: {name: p, uid: u}, spec: {nodeName: a}, status: {startTime: "1960-01-01T00:00:00Z"}}`,
			`{name: p, startTime: "1970-01-01T00:00:00.000000001Z"}`,
		},
		"a start time that is too late": {
			`{metadata: {name: p, uid: u}, spec: {nodeName: a}, status: {startTime: "2300-01-01T00:00:00Z"}}`,
			`{name: p, startTime: "2261-12-31T23:59:59.999999999Z"}`,
		},
		"a victim that terminates": {condition(byScheduler), `{name: p, terminating: true, preempted: true}`},
		"a victim of the kubelet":  {condition(`{type: DisruptionTarget, status: "True", reason: TerminationByKubelet}`), `{name: p, terminating: true}`},
		"a victim that was spared": {condition(`{type: DisruptionTarget, status: "False", reason: PreemptionByScheduler}`), `{name: p, terminating: true}`},
		"only the first condition of the type counts": {
			condition(`{type: DisruptionTarget, status: "False"}, ` + byScheduler), `{name: p, terminating: true}`,
		},
		"a victim that is not deleted yet": {
			`{metadata: {name: p, uid: u}, spec: {nodeName: a}, status: {conditions: [` + byScheduler + `]}}`, `{name: p}`,
		},
		"a nominated pod": {
			`{metadata: {name: p, uid: u, ` + ends + `}, status: {nominatedNodeName: a, startTime: "2026-01-02T03:04:05Z", conditions: [` + byScheduler + `]}}`,
			`{name: p, terminating: true}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse[corev1.Pod](t, c.pod)
			want := message(t, &stowagev1.Pod{}, c.want)
			b := kube.NewBuilder(kube.Options{})
			must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)), b.AddPod(p))
			node := build(t, b).Cluster.Nodes[0]
			for _, got := range append(node.Pods, node.NominatedPods...) {
				got.Source = nil
				diff(t, want, got)
			}
			if len(node.Pods)+len(node.NominatedPods) != 1 {
				t.Errorf("the node has the pods %v and %v", node.Pods, node.NominatedPods)
			}
			got := convert.OccupyingPod(p).Pod
			got.Source = nil
			diff(t, want, got)
		})
	}
}

// Counted pods have no start times. That kube-scheduler has preempted a pod is kept.
func TestCountedPodsHaveNoStartTimes(t *testing.T) {
	b := kube.NewBuilder(kube.Options{CountPods: true})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	for _, text := range []string{
		`{metadata: {name: old, uid: u}, spec: {nodeName: a}, status: {startTime: "2026-01-02T03:04:05Z"}}`,
		`{metadata: {name: young, uid: u}, spec: {nodeName: a}, status: {startTime: "2026-02-02T03:04:05Z"}}`,
		`{metadata: {name: victim, uid: u, deletionTimestamp: "2026-01-02T00:00:00Z"}, spec: {nodeName: a}, status: {startTime: "2026-02-02T03:04:05Z",
		  conditions: [{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler}]}}`,
	} {
		must(t, b.AddPod(parse[corev1.Pod](t, text)))
	}
	diff(t, message(t, &stowagev1.Node{}, `{name: a, podCounts: [{templateIndex: 0, count: 2}], pods: [{templateIndex: 0, terminating: true, preempted: true}]}`),
		build(t, b).Cluster.Nodes[0])
}

func TestPodDisruptionBudgets(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	for _, text := range []string{
		`{metadata: {name: web, namespace: shop}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}},
		  status: {disruptionsAllowed: 2, disruptedPods: {web-1: "2026-01-02T03:04:05Z", web-0: null}}}`,
		`{metadata: {name: all}, spec: {maxUnavailable: 1, selector: {}}}`,
		`{metadata: {name: none}}`,
		`{metadata: {name: odd}, spec: {selector: {matchExpressions: [{key: a, operator: Near}]}}, status: {disruptionsAllowed: 1}}`,
	} {
		b.From("a file")
		must(t, b.AddPodDisruptionBudget(parse[policyv1.PodDisruptionBudget](t, text)))
	}
	if err := b.AddPodDisruptionBudget(parse[policyv1.PodDisruptionBudget](t, `{metadata: {name: all}}`)); err == nil {
		t.Error("a second one has the name of another")
	}
	s := build(t, b)
	diff(t, message(t, &stowagev1.Cluster{}, `podDisruptionBudgets:
- {namespace: shop, name: web, disruptionsAllowed: 2, disruptedPods: [web-0, web-1],
   selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: LABEL_SELECTOR_OPERATOR_EXISTS}]}}
- {namespace: default, name: all, selector: {}}
- {namespace: default, name: none}
- {namespace: default, name: odd, disruptionsAllowed: 1}`), s.Cluster)
	at, field, ok := s.Locate(s.PlaceRequest(), `context.cluster.pod_disruption_budgets[0].selector.match_labels["app"]`)
	if at != "a file" || field != "spec.selector.matchLabels[app]" || !ok {
		t.Errorf("%s: %s, %t", at, field, ok)
	}
	if !s.Refuse([]kube.Violation{{Field: "context.cluster.pod_disruption_budgets[1].name", Description: "is odd"}}) ||
		len(s.Cluster.PodDisruptionBudgets) != 3 || len(s.Misreads) != 1 || s.Misreads[0].OwnPods {
		t.Errorf("what is left out: %v, %v", s.Misreads, s.Cluster.PodDisruptionBudgets)
	}
}
