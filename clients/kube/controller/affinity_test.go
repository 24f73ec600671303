package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAdmits(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "x", "cores": "8"}}}
	required := func(terms ...corev1.NodeSelectorTerm) corev1.PodSpec {
		return corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}}
	}
	label := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	field := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	both := label("zone", corev1.NodeSelectorOpIn, "x")
	both.MatchFields = field("metadata.name", corev1.NodeSelectorOpIn, "b").MatchFields
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"nothing":                 {corev1.PodSpec{}, true},
		"a selector":              {corev1.PodSpec{NodeSelector: map[string]string{"zone": "x"}}, true},
		"another selector":        {corev1.PodSpec{NodeSelector: map[string]string{"zone": "y"}}, false},
		"no terms":                {required(), false},
		"an empty term":           {required(corev1.NodeSelectorTerm{}), false},
		"any term":                {required(label("zone", corev1.NodeSelectorOpIn, "y"), label("zone", corev1.NodeSelectorOpNotIn, "y")), true},
		"greater":                 {required(label("cores", corev1.NodeSelectorOpGt, "7")), true},
		"less":                    {required(label("cores", corev1.NodeSelectorOpLt, "7")), false},
		"no number":               {required(label("cores", corev1.NodeSelectorOpLt, "many")), false},
		"absent":                  {required(label("disk", corev1.NodeSelectorOpDoesNotExist)), true},
		"present":                 {required(label("disk", corev1.NodeSelectorOpExists)), false},
		"its name":                {required(field("metadata.name", corev1.NodeSelectorOpIn, "a")), true},
		"another name":            {required(field("metadata.name", corev1.NodeSelectorOpNotIn, "a")), false},
		"two names":               {required(field("metadata.name", corev1.NodeSelectorOpIn, "a", "b")), false},
		"another field":           {required(field("metadata.uid", corev1.NodeSelectorOpIn, "a")), false},
		"a label and a field":     {required(both), false},
		"an operator without use": {required(field("metadata.name", corev1.NodeSelectorOpExists, "a")), false},
	} {
		if got := admits(&c.spec, node); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
