package validate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// TestNamesAreRecognized compares what is recognized with the API server's own functions.
func TestNamesAreRecognized(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z0-9.\-]{0,6}`), rapid.StringMatching(`[aB0._/\-]{0,6}`), rapid.StringMatching(`[a.]{62,65}|[a-]{250,256}`),
		rapid.StringN(0, 5, -1))
	rapid.Check(t, func(t *rapid.T) {
		name := text.Draw(t, "text")
		for of, is := range map[string][2]bool{
			"subdomain": {isSubdomain(name), len(apivalidation.NameIsDNSSubdomain(name, false)) == 0},
			"label":     {label(name, nil) == nil, name == "" || len(apivalidation.NameIsDNSLabel(name, false)) == 0},
			"key":       {isLabel(name, true), len(validation.IsQualifiedName(name)) == 0},
			"value":     {isLabel(name, false), len(validation.IsValidLabelValue(name)) == 0},
		} {
			if is[0] && !is[1] || is[1] && !is[0] {
				t.Errorf("%q is a %s: %t, and of the API server %t", name, of, is[0], is[1])
			}
		}
	})
}

func TestNames(t *testing.T) {
	class := "c\n"
	for _, o := range []metav1.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a;touch x", UID: "u"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "a\nb"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a b": ""}}},
		&corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "a;b"}}}},
		&corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "a", Value: "\x1b[2J"}}}},
		&corev1.Node{Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"a\nb": {}}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a.b"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "--kubeconfig=x"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p\n-"}},
		&corev1.Pod{Spec: corev1.PodSpec{NodeName: "-a"}},
		&corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "a b"}},
		&corev1.Pod{Spec: corev1.PodSpec{RuntimeClassName: &class}},
		&corev1.Pod{Status: corev1.PodStatus{NominatedNodeName: "$(id)"}},
	} {
		if errs := Names(o); len(errs) != 1 {
			t.Errorf("%v of %+v", errs, o)
		}
	}
	good := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1.x", Namespace: "shop", GenerateName: "web-", Labels: map[string]string{"a.b/c": "D_e", "x": ""}}}
	if errs := Names(good); len(errs) > 0 {
		t.Error(errs)
	}
}
