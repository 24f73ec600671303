package generate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podNamespaces are the namespaces of pods. Any of them may be missing among the case's namespaces.
var podNamespaces = []string{"default", "blue", "green", "ghost"}

func (d *draw) namespaces() {
	for _, name := range append([]string{"empty"}, podNamespaces...) {
		if name == "ghost" || d.chance(0.1) {
			continue
		}
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if d.chance(0.6) {
			n.Labels = map[string]string{"team": pick(d, "one", "two", "")}
		}
		if d.chance(0.2) {
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels["stage"] = pick(d, "prod", "test")
		}
		d.c.Namespaces = append(d.c.Namespaces, n)
	}
}

func (d *draw) podNamespace() string {
	if d.chance(0.65) {
		return "default"
	}
	return pick(d, podNamespaces...)
}

// namespaceSelector draws a selector of namespaces, often one that the empty label set matches too: it then also
// matches pods in namespaces that are not listed, or does not, depending on whose term it is.
func (d *draw) namespaceSelector() *metav1.LabelSelector {
	switch x := d.Float64(); {
	case x < 0.2:
		return &metav1.LabelSelector{}
	case x < 0.4:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(d, "one", "two", "")}}
	case x < 0.5:
		return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: pick(d, podNamespaces...)}}
	}
	s := &metav1.LabelSelector{}
	for range d.between(1, 2) {
		s.MatchExpressions = append(s.MatchExpressions, d.expression(pick(d, "team", "stage", "absent"), []string{"one", "two", "prod"}))
	}
	return s
}
