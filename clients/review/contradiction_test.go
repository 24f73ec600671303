package review

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"
)

// TestContradictionEqualsTrying compares with trying every label that the requirements can tell apart, by the library that
// kube-scheduler uses.
func TestContradictionEqualsTrying(t *testing.T) {
	values := []string{"a", "b", "1", "2", "3"}
	tried := append([]string{"c", "0", "4", "00", "01", "02", "03", "04", // other spellings of numbers
		"9223372036854775807", "-9223372036854775808"}, values...)
	rapid.Check(t, func(t *rapid.T) {
		var all []requirement
		term := corev1.NodeSelectorTerm{}
		for range rapid.IntRange(1, 5).Draw(t, "requirements") {
			r := requirement{key: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key")}
			r.operator = rapid.SampledFrom([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}).Draw(t, "operator")
			switch r.operator {
			case "In", "NotIn":
				r.values = rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 3, rapid.ID).Draw(t, "values")
			case "Gt", "Lt":
				r.values = []string{rapid.SampledFrom([]string{"0", "1", "2", "3", "9223372036854775807"}).Draw(t, "bound")}
			}
			all = append(all, r)
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: r.key, Operator: corev1.NodeSelectorOperator(r.operator), Values: r.values,
			})
		}
		selector, err := nodeaffinity.NewNodeSelector(one(term))
		if err != nil {
			t.Fatal(err)
		}
		possible := false
		for _, x := range append(tried, "") {
			for _, y := range append(tried, "") {
				n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
				if x != "" {
					n.Labels["x"] = x
				}
				if y != "" {
					n.Labels["y"] = y
				}
				possible = possible || selector.Match(n)
			}
		}
		if _, found := contradiction(all); found == possible {
			t.Fatal(fmt.Sprintf("%v: a contradiction was found: %t, labels meet them: %t", all, found, possible))
		}
	})
}
