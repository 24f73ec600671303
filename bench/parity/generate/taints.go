package generate

import (
	corev1 "k8s.io/api/core/v1"
)

var taintKeys = []string{"dedicated", "spot", "capacity"}

var taintValues = map[string][]string{"dedicated": {"", "a", "b"}, "spot": {"", "true"}, "capacity": {"1", "10", "100", "010", "x"}}

var taintEffects = []corev1.TaintEffect{
	corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
}

func (d *draw) taint(n *corev1.Node) {
	type pair struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[pair]bool{}
	for range d.between(1, 3) {
		t := corev1.Taint{Key: pick(d, taintKeys...), Effect: pick(d, taintEffects...)}
		t.Value = pick(d, taintValues[t.Key]...)
		if d.chance(0.1) {
			t.Key, t.Value = corev1.TaintNodeUnschedulable, ""
		}
		if p := (pair{t.Key, t.Effect}); !seen[p] {
			seen[p] = true
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	}
}

func (d *draw) tolerations() []corev1.Toleration {
	var out []corev1.Toleration
	for range d.between(1, 4) {
		t := corev1.Toleration{Effect: pick(d, append(taintEffects, "", "")...)}
		switch x := d.Float64(); {
		case x < 0.1:
			t.Operator = corev1.TolerationOpExists // every key
		case x < 0.4:
			t.Key, t.Operator = pick(d, append(taintKeys, corev1.TaintNodeUnschedulable)...), corev1.TolerationOpExists
		case x < 0.6:
			t.Key, t.Operator = "capacity", pick(d, corev1.TolerationOpGt, corev1.TolerationOpLt)
			t.Value = pick(d, "1", "5", "10", "-3")
		default:
			t.Key, t.Operator = pick(d, taintKeys...), pick(d, corev1.TolerationOpEqual, "")
			t.Value = pick(d, taintValues[t.Key]...)
		}
		if t.Effect == corev1.TaintEffectNoExecute && d.chance(0.3) {
			t.TolerationSeconds = ptr(int64(d.between(-1, 300)))
		}
		out = append(out, t)
	}
	return out
}
