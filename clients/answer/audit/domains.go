package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// serving are the kinds of workloads with interchangeable replicas.
var serving = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}

// domains finds workloads whose several replicas all run on one node, or all in one of several zones.
func (a *audit) domains() {
	replicas, of := map[kube.Origin][]int{}, map[kube.Origin][]int{} // nodes, and pods
	var order []kube.Origin
	for i, p := range a.pods {
		if !slices.Contains(serving, p.workload.Kind) {
			continue
		}
		if replicas[p.workload] == nil {
			order = append(order, p.workload)
		}
		replicas[p.workload], of[p.workload] = append(replicas[p.workload], p.node), append(of[p.workload], i)
	}
	zones, pins := a.zones(), a.newPins()
	for _, w := range order {
		nodes := replicas[w]
		on := map[int]bool{}
		in := map[string]bool{}
		for _, n := range nodes {
			on[n] = true
			in[a.nodes[n].Labels[corev1.LabelTopologyZone]] = true
		}
		rule, where := review.Rule(""), ""
		zone := slices.Collect(maps.Keys(in))
		if len(nodes) > 1 && len(in) == 1 && zone[0] != "" && len(zones) > 1 {
			a.volumesWithin(pins, w, of[w], zone[0])
		}
		switch {
		case len(nodes) < 2:
		case len(on) == 1 && len(a.nodes) > 1:
			rule, where = OneNode, "on one node, "+a.nodes[nodes[0]].Name
		case len(in) == 1 && zone[0] != "" && len(zones) > 1:
			rule, where = OneZone, "in one zone, "+zone[0]
		}
		if rule != "" {
			a.found = append(a.found, review.Finding{
				Severity: review.Warning, Rule: rule, Object: review.Object(w), Pods: len(nodes), Nodes: a.nodeNames(on),
				Message: fmt.Sprintf("all %d replicas are %s", len(nodes), where),
			})
		}
	}
}

// zones are the zones of the nodes, sorted.
func (a *audit) zones() []string {
	all := map[string]bool{}
	for _, n := range a.nodes {
		if zone := n.Labels[corev1.LabelTopologyZone]; zone != "" {
			all[zone] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// budgets finds PodDisruptionBudgets that the loss of a zone leaves with fewer healthy pods than their minAvailable. It skips
// budgets without slack, and budgets without a status.
func (a *audit) budgets() {
	zones := a.zones()
	if len(zones) < 2 {
		return
	}
	equal := a.equal()
	for _, b := range a.Snapshot.Budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		s := b.Status
		if err != nil || b.Spec.MinAvailable == nil || s.ExpectedPods == 0 || s.DisruptionsAllowed <= 0 {
			continue
		}
		healthy := map[string][]int{} // their nodes
		for _, pods := range equal[b.Namespace] {
			if !selector.Matches(labels.Set(a.pods[pods[0]].object.Labels)) {
				continue
			}
			for _, i := range pods {
				if zone := a.nodes[a.pods[i].node].Labels[corev1.LabelTopologyZone]; ready(a.pods[i].object) {
					healthy[zone] = append(healthy[zone], a.pods[i].node)
				}
			}
		}
		var without []string
		on := map[int]bool{}
		lost := 0
		for _, zone := range zones {
			n := len(healthy[zone])
			if left := int(s.CurrentHealthy) - n; n > 0 && left < int(s.DesiredHealthy) {
				without = append(without, fmt.Sprintf("%d without zone %s", max(0, left), zone))
				lost += n
				for _, node := range healthy[zone] {
					on[node] = true
				}
			}
		}
		if lost > 0 {
			a.found = append(a.found, review.Finding{
				Severity: review.Warning, Rule: ZoneBudget, Object: review.Object(b.Origin), At: b.At, Field: "spec.minAvailable",
				Pods: lost, Nodes: a.nodeNames(on),
				Message: fmt.Sprintf("it demands %d healthy pods, there are %d, and %s", s.DesiredHealthy, s.CurrentHealthy,
					words.Names(without)),
			})
		}
	}
}

// equal returns the indexes of the pods of each namespace, grouped by equal labels.
func (a *audit) equal() map[string][][]int {
	out := map[string][][]int{}
	type key struct {
		template uint32
		own      string
	}
	index := map[key]int{}
	for i, p := range a.pods {
		k := key{p.converted.GetTemplateIndex(), labels.Set(p.converted.Labels).String()}
		namespace := cmp.Or(p.object.Namespace, metav1.NamespaceDefault)
		at, known := index[k]
		if !known {
			at = len(out[namespace])
			index[k] = at
			out[namespace] = append(out[namespace], nil)
		}
		out[namespace][at] = append(out[namespace][at], i)
	}
	return out
}

// ready reports whether a pod is ready according to its status.
func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
