package advice

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// moved is advice to move a pod that the pods must be with to another node, where they have room, too: its node is cordoned, and it is
// deleted.
func (q *Question) moved(ctx context.Context) ([]Advice, error) {
	if q.Returning != stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER { // it comes back after the pods that need it
		return nil, nil
	}
	others := q.companions()
	var scenarios []*stowagev1.Scenario
	at := 0
	for _, p := range others {
		var s *stowagev1.Scenario
		s, at = q.scenario(q.Pods[0].Pods.GetPod(), q.pods())
		q.evict(s, p)
		s.RequeueEvicted = true
		if n := q.Snapshot.Cluster.Nodes[p.Node]; !n.GetUnschedulable() {
			s.CordonedNodes = []string{n.GetName()}
		}
		scenarios = append(scenarios, s)
	}
	answers, err := q.play(ctx, q.Returning, scenarios...)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		again := len(a.GetPlacement().GetPlacements()) - len(a.GetRequeued())
		if len(a.GetRequeued()) != 1 || a.GetRequeued()[0].GetUnknown() || len(a.GetPlacement().GetEvictions()) > 0 {
			continue
		}
		if placed(a, at) && placed(a, again) {
			return []Advice{q.move(others[i], a.GetPlacement().GetPlacements()[again].GetNodes().GetNames()[0])}, nil
		}
	}
	return nil, nil
}

func (q *Question) move(p kube.OnNode, to string) Advice {
	node := q.Snapshot.Cluster.Nodes[p.Node]
	out := Advice{
		Kind: MovedPod, Pod: p.Object,
		Text: fmt.Sprintf("%s/%s moved from %s to %s: %s cordoned, and the pod deleted, which ignores PodDisruptionBudgets", p.Object.Namespace, p.Object.Name,
			node.GetName(), to, node.GetName()),
		Fix: &remedy.Fix{},
	}
	if !node.GetUnschedulable() {
		out.Fix.Commands = append(out.Fix.Commands, quote.Command("kubectl cordon", []string{node.GetName()}))
	}
	out.Fix.Commands = append(out.Fix.Commands, remedy.DeletePod(p.Object.Namespace, p.Object.Name))
	return out
}

// companions are pods on nodes that a required affinity term of the pods selects, whose controllers create them again.
func (q *Question) companions() []kube.OnNode {
	pod := q.Pods[0].Object()
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	var out []kube.OnNode
	for _, t := range pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			continue // the API server rejects it
		}
		for p := range q.Snapshot.OnNodes() {
			returns := p.Pod.DeletionTimestamp == nil && kube.StaysGone(p.Pod) == "" && metav1.GetControllerOfNoCopy(p.Pod) != nil
			known := slices.ContainsFunc(out, func(o kube.OnNode) bool { return o.Object == p.Object })
			if returns && !known && selects(&t, selector, q.Pods[0].Origin.Namespace, p.Pod) {
				if out = append(out, p); len(out) == maximumMoves {
					return out
				}
			}
		}
	}
	return out
}

// selects reports whether a term of a pod in a namespace selects a pod. Of namespace selectors only the one of all namespaces counts.
func selects(t *corev1.PodAffinityTerm, selector labels.Selector, namespace string, p *corev1.Pod) bool {
	every := t.NamespaceSelector != nil && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) == 0
	own := len(t.Namespaces) == 0 && t.NamespaceSelector == nil && p.Namespace == namespace
	return (every || own || slices.Contains(t.Namespaces, p.Namespace)) && selector.Matches(labels.Set(p.Labels))
}
