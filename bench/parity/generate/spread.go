package generate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (d *draw) spreadConstraints(pod *corev1.Pod) []corev1.TopologySpreadConstraint {
	type pair struct {
		key    string
		action corev1.UnsatisfiableConstraintAction
	}
	seen := map[pair]bool{}
	var out []corev1.TopologySpreadConstraint
	for range d.between(1, 3) {
		c := corev1.TopologySpreadConstraint{
			MaxSkew:           int32(pick(d, 1, 1, 1, 2, 3, 5)),
			TopologyKey:       d.spreadKey(),
			WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		}
		p := pair{c.TopologyKey, c.WhenUnsatisfiable}
		if seen[p] {
			continue
		}
		seen[p] = true
		c.LabelSelector = d.podSelector()
		if len(pod.Labels) > 0 && d.chance(0.5) {
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
			for _, key := range podLabelKeys {
				if v, ok := pod.Labels[key]; ok && d.chance(0.5) {
					c.LabelSelector.MatchLabels[key] = v
				}
			}
		}
		if c.WhenUnsatisfiable == corev1.DoNotSchedule && d.chance(0.3) {
			c.MinDomains = ptr(int32(d.between(1, 6)))
		}
		d.inclusion(&c)
		if c.LabelSelector != nil && d.chance(0.25) {
			if free := d.freeKeys(c.LabelSelector); len(free) > 0 {
				c.MatchLabelKeys = []string{pick(d, free...)}
			}
		}
		out = append(out, c)
	}
	return out
}

// spreadKey draws a topology key, which the API server does not check to be a label key.
func (d *draw) spreadKey() string {
	if d.chance(0.02) {
		return pick(d, corev1.LabelTopologyZone+" ", "no key", "a/b/c")
	}
	return d.topologyKey()
}

func (d *draw) inclusion(c *corev1.TopologySpreadConstraint) {
	honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	c.NodeAffinityPolicy = pick(d, nil, &honor, &ignore)
	c.NodeTaintsPolicy = pick(d, nil, &honor, &honor, &ignore)
}

// freeKeys returns the keys that matchLabelKeys may name: the API refuses keys that the selector already names.
func (d *draw) freeKeys(s *metav1.LabelSelector) []string {
	var free []string
	for _, key := range append([]string{"absent"}, podLabelKeys...) {
		_, used := s.MatchLabels[key]
		for _, e := range s.MatchExpressions {
			used = used || e.Key == key
		}
		if !used {
			free = append(free, key)
		}
	}
	return free
}
