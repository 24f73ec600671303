package generate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var zones = []string{"z1", "z2", "z3", "z4"}

func (d *draw) node(i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}
	n.Labels = d.nodeLabels(n.Name, i)
	d.allocatable(n)
	if d.chance(0.6) || d.focus(images) {
		d.nodeImages(n)
	}
	taintChance := 0.03 + 0.6*d.likelihood[taints]
	if d.chance(taintChance) {
		d.taint(n)
	}
	if d.chance(taintChance / 8) {
		n.Spec.Unschedulable = true
	}
	if d.chance(0.7) {
		d.declaredFeatures(n)
	}
	return n
}

func (d *draw) nodeLabels(name string, i int) map[string]string {
	if d.chance(0.02) {
		return nil
	}
	labels := map[string]string{}
	switch x := d.Float64(); {
	case x < 0.04: // none
	case x < 0.09:
		// Two nodes may share a host name; to some rules they are then one domain.
		labels[corev1.LabelHostname] = fmt.Sprintf("node-%d", d.IntN(i+1))
	default:
		labels[corev1.LabelHostname] = name
	}
	if d.chance(0.93) {
		labels[corev1.LabelTopologyZone] = pick(d, zones...)
		if d.chance(0.03) {
			labels[corev1.LabelTopologyZone] = ""
		}
	}
	if d.chance(0.85) {
		labels[corev1.LabelTopologyRegion] = pick(d, "r1", "r2")
	}
	if d.chance(0.85) {
		labels["rack"] = pick(d, "1", "2", "3", "4", "5", "6")
	}
	if d.chance(0.7) {
		labels["disk"] = pick(d, "ssd", "hdd")
	}
	if d.chance(0.6) {
		labels["generation"] = pick(d, integers...)
	}
	return labels
}

// integers are decimal integers and what resembles one, as label values.
var integers = []string{"1", "2", "3", "5", "5", "8", "007", "x", "", "9223372036854775807", "9223372036854775808", "3.5"}
