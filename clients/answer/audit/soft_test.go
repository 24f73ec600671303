package audit

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/embedded"
)

// TestSoftRulesEqualCounting compares with counting pods by domain.
func TestSoftRulesEqualCounting(t *testing.T) {
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	missed, held := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := randomCluster(t, clusterSize{1, 5, "1", 3, 4}, softSpec)
		a := newAudit(&answer.Question{Client: client, Snapshot: s}, Options{})
		if err := a.gather(); err != nil {
			t.Fatal(err)
		}
		if err := a.soft(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, want := map[string]int{}, map[string]int{}
		for _, f := range a.found {
			got[f.Object.Name] = f.Pods
		}
		for i := range a.pods {
			if softHolds(a, i) {
				held++
				continue
			}
			want[a.pods[i].workload.Name]++
			missed++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("preferences do not hold for %v, by counting %v: %+v", got, want, a.found)
		}
	})
	if missed == 0 || held == 0 {
		t.Errorf("preferences do not hold for %d pods, and hold for %d", missed, held)
	}
}

// softHolds reports whether all preferences of a pod hold.
func softHolds(a *audit, i int) bool {
	p := a.pods[i]
	spec := &p.object.Spec
	known := func(key string) bool {
		return slices.ContainsFunc(a.nodes, func(n *corev1.Node) bool { _, has := n.Labels[key]; return has })
	}
	for _, t := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		r := t.Preference.MatchExpressions[0]
		if value, has := a.nodes[p.node].Labels[r.Key]; !has || value != r.Values[0] {
			return false
		}
	}
	for _, t := range spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		self, counts, domain, has := a.others(i, t.PodAffinityTerm.LabelSelector, t.PodAffinityTerm.TopologyKey)
		all := 0
		for _, n := range counts {
			all += n
		}
		if first := all == 0 && self; known(t.PodAffinityTerm.TopologyKey) && (!has || counts[domain] == 0 && !first) {
			return false
		}
	}
	for _, t := range spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if _, counts, domain, has := a.others(i, t.PodAffinityTerm.LabelSelector, t.PodAffinityTerm.TopologyKey); has && counts[domain] > 0 {
			return false
		}
	}
	for _, c := range spec.TopologySpreadConstraints {
		self, counts, domain, has := a.others(i, c.LabelSelector, c.TopologyKey)
		least := counts[domain]
		for _, n := range counts {
			least = min(least, n)
		}
		own := 0
		if self {
			own = 1
		}
		if known(c.TopologyKey) && (!has || counts[domain]+own-least > int(c.MaxSkew)) {
			return false
		}
	}
	return true
}

// others counts the pods other than one that a selector selects, by domain, and says whether the selector selects that one, and which
// domain it is in.
func (a *audit) others(i int, selector *metav1.LabelSelector, key string) (self bool, counts map[string]int, domain string, has bool) {
	of, _ := metav1.LabelSelectorAsSelector(selector)
	counts = map[string]int{}
	for _, n := range a.nodes {
		if value, there := n.Labels[key]; there {
			counts[value] += 0
		}
	}
	for j, p := range a.pods {
		selected := of.Matches(labels.Set(p.object.Labels))
		if j == i {
			self = selected
		} else if value, there := a.nodes[p.node].Labels[key]; there && selected {
			counts[value]++
		}
	}
	domain, has = a.nodes[a.pods[i].node].Labels[key]
	return self, counts, domain, has
}

// softSpec is a pod's spec with some preferences.
func softSpec(t *rapid.T) corev1.PodSpec {
	has := func(rule string) bool { return rapid.IntRange(0, 3).Draw(t, rule) == 0 }
	selector := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "selected")}}
	}
	term := func() []corev1.WeightedPodAffinityTerm {
		return []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "key"), LabelSelector: selector(),
		}}}
	}
	s := corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{}, PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{},
	}}
	if has("node affinity") {
		s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{
			Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"x"},
			}}},
		}}
	}
	if has("affinity") {
		s.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = term()
	}
	if has("anti-affinity") {
		s.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = term()
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		if has("spread by " + key) {
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: int32(rapid.IntRange(1, 2).Draw(t, "maxSkew")), TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector(),
			})
		}
	}
	return s
}
