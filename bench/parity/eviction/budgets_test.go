package eviction_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEvictionsEqualTheAPIServers drains pods with every combination of a status, a deletion timestamp, and budgets.
func TestEvictionsEqualTheAPIServers(t *testing.T) {
	var all []situation
	for _, status := range statuses {
		for _, terminating := range []bool{false, true} {
			for _, b := range budgetLists() {
				p := pod("web-1", status.change)
				name := status.name + ", " + b.name
				if terminating {
					name += ", terminating"
					p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64(30))
				}
				all = append(all, situation{name: name, pods: []*corev1.Pod{p}, budgets: b.budgets})
			}
		}
	}
	if len(all) < 45 {
		t.Fatalf("%d situations", len(all))
	}
	compareAll(t, all, asAPIServer)
}

// statuses are what the kubelet reports of pods.
var statuses = []struct {
	name   string
	change func(*corev1.Pod)
}{
	{"ready", func(*corev1.Pod) {}},
	{"not ready", conditions(corev1.PodRunning, corev1.ConditionFalse)},
	{"readiness unknown", conditions(corev1.PodRunning, corev1.ConditionUnknown)},
	{"running without the condition Ready", conditions(corev1.PodRunning)},
	{"pending", conditions(corev1.PodPending)},
	{"pending and not ready", conditions(corev1.PodPending, corev1.ConditionFalse)},
	{"pending and ready", conditions(corev1.PodPending, corev1.ConditionTrue)},
	{"phase Unknown, ready", conditions(corev1.PodUnknown, corev1.ConditionTrue)},
	{"phase Unknown, not ready", conditions(corev1.PodUnknown, corev1.ConditionFalse)},
	{"succeeded", conditions(corev1.PodSucceeded, corev1.ConditionFalse)},
	{"failed", conditions(corev1.PodFailed, corev1.ConditionFalse)},
}

func conditions(phase corev1.PodPhase, ready ...corev1.ConditionStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}
		for _, status := range ready {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status})
		}
	}
}

// budgetList is the budgets of a situation.
type budgetList struct {
	name    string
	budgets []*policyv1.PodDisruptionBudget
}

// budgetLists returns budgets in every state, alone, and some in pairs or with other selectors.
func budgetLists() []budgetList {
	out := []budgetList{{name: "no budget"}}
	for _, policy := range policies {
		for _, allowed := range []int32{-1, 0, 1} {
			for _, healthy := range [][2]int32{{0, 0}, {1, 0}, {1, 2}, {2, 2}, {3, 2}} {
				for _, observed := range []int64{1, 2} {
					b := budget("one", policy, allowed, healthy[0], healthy[1])
					b.Status.ObservedGeneration = observed
					name := fmt.Sprintf("%s: allowed %d, healthy %d of %d, generation %d of 2", policy, allowed, healthy[0], healthy[1], observed)
					out = append(out, budgetList{name, []*policyv1.PodDisruptionBudget{b}})
				}
			}
		}
		for name, changes := range selections {
			b := budgetList{name: string(policy) + ": " + name}
			for i, change := range changes {
				one := budget(fmt.Sprint("b-", i), policy, 0, 1, 2)
				change(one)
				b.budgets = append(b.budgets, one)
			}
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b budgetList) int { return cmp.Compare(a.name, b.name) })
	return out
}

// policies are the values of unhealthyPodEvictionPolicy, empty for none.
var policies = []policyv1.UnhealthyPodEvictionPolicyType{"", policyv1.IfHealthyBudget, policyv1.AlwaysAllow}

// selections are changes of budgets, which allow no evictions otherwise.
var selections = map[string][]func(*policyv1.PodDisruptionBudget){
	"two budgets":               {func(*policyv1.PodDisruptionBudget) {}, func(*policyv1.PodDisruptionBudget) {}},
	"two budgets, both allow":   {allowing(1), allowing(1)},
	"one of two selects":        {allowing(1), selecting(map[string]string{"app": "db"})},
	"empty selector":            {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }},
	"empty selector beside one": {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }, allowing(1)},
	"no selector":               {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }},
	"other namespace":           {func(b *policyv1.PodDisruptionBudget) { b.Namespace = "elsewhere" }},
	"invalid selector": {func(b *policyv1.PodDisruptionBudget) {
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	}},
	"2,000 disrupted pods": {disrupted(2000)},
	"2,001 disrupted pods": {disrupted(2001)},
	"the pod is disrupted already": {func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{"web-1": metav1.Now()}
	}},
}

func budget(name string, policy policyv1.UnhealthyPodEvictionPolicyType, allowed, healthy, desired int32) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "budget", Generation: 2},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 2, DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: desired, ExpectedPods: 3,
		},
	}
	if policy != "" {
		b.Spec.UnhealthyPodEvictionPolicy = &policy
	}
	return b
}

func allowing(n int32) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = n }
}

func selecting(labels map[string]string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels} }
}

func disrupted(n int) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptionsAllowed, b.Status.DisruptedPods = 1, map[string]metav1.Time{}
		for i := range n {
			b.Status.DisruptedPods[fmt.Sprint("gone-", i)] = metav1.Now()
		}
	}
}
