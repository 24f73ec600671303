package review

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// Budgets returns the findings about PodDisruptionBudgets.
func (r *Reviewer) Budgets() []Finding {
	var out []Finding
	for _, b := range r.budgets {
		find := func(s Severity, rule Rule, path, format string, args ...any) {
			out = append(out, Finding{
				Severity: s, Rule: rule, Object: Object(b.Origin), At: b.At,
				Field: path, Message: fmt.Sprintf(format, args...),
			})
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			find(Warning, Unparsable, "spec.selector", "it cannot be parsed: %v", err)
			continue
		}
		pods, some := r.selected(b.Namespace, selector)
		if !some {
			if !r.options.PodsUnknown {
				find(Note, SelectsNoPod, "spec.selector", "%s selects no pod in namespace %s: the budget protects nothing",
					metav1.FormatLabelSelector(b.Spec.Selector), b.Namespace)
			}
			continue
		}
		pods = max(pods, int(b.Status.ExpectedPods)) // a controller may be about to create some
		if path, why := blocks(&b, pods, r.options.PodsUnknown); why != "" {
			find(Warning, BudgetBlocks, path, "%s: of its %d selected pods no healthy pod can be evicted, so drains wait",
				why, pods)
		}
	}
	return append(out, r.overlaps()...)
}

// blocks returns why a budget never allows a disruption with this number of pods, empty if it may. It rounds percentages as the
// disruption controller does (pkg/controller/disruption/disruption.go getExpectedPodCount, v1.37).
func blocks(b *kube.Budget, pods int, unknown bool) (path, why string) {
	if most := b.Spec.MaxUnavailable; most != nil && pods > 0 {
		if n, err := intstr.GetScaledValueFromIntOrPercent(most, pods, true); err == nil && n == 0 {
			return "spec.maxUnavailable", "it allows 0 unavailable pods"
		}
	}
	if least := b.Spec.MinAvailable; least != nil && pods > 0 {
		n, err := intstr.GetScaledValueFromIntOrPercent(least, pods, true)
		always := least.Type == intstr.String && least.StrVal == "100%"
		if err == nil && n >= pods && (always || !unknown) {
			return "spec.minAvailable", fmt.Sprintf("%s of %d pods must be available", least.String(), pods)
		}
	}
	return "", ""
}

// overlaps finds budgets that select the same pod: the API server evicts no such pod
// (pkg/registry/core/pod/storage/eviction.go, v1.37).
func (r *Reviewer) overlaps() []Finding {
	by := map[*podSet][]int{} // budgets
	pods := map[[2]int]int{}  // by the first two budgets that select them
	var order [][2]int
	for i, b := range r.budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue
		}
		for set := range r.pods[b.Namespace].matching(selector) {
			if by[set] = append(by[set], i); len(by[set]) != 2 || set.count == 0 {
				continue
			}
			pair := [2]int{by[set][0], by[set][1]}
			if pods[pair] == 0 {
				order = append(order, pair)
			}
			pods[pair] += set.count
		}
	}
	slices.SortFunc(order, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	var out []Finding
	for _, pair := range order {
		b, other := r.budgets[pair[0]], r.budgets[pair[1]]
		out = append(out, Finding{
			Severity: Warning, Rule: BudgetsOverlap, At: b.At, Field: "spec.selector", Pods: pods[pair],
			Object:  Object(b.Origin),
			Message: "PodDisruptionBudget " + other.Name + " selects the same pods: the API server evicts no running pod of two budgets",
		})
	}
	return out
}
