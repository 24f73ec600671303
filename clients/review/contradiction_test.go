package review

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"
)

// drawTerm draws a term of requirements on two labels.
func drawTerm(t *rapid.T) corev1.NodeSelectorTerm {
	term := corev1.NodeSelectorTerm{}
	for range rapid.IntRange(1, 5).Draw(t, "requirements") {
		r := corev1.NodeSelectorRequirement{
			Key: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]corev1.NodeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}).
				Draw(t, "operator"),
		}
		switch r.Operator {
		case "In", "NotIn":
			r.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(drawnValues), 1, 3, rapid.ID).Draw(t, "values")
		case "Gt", "Lt":
			r.Values = []string{rapid.SampledFrom([]string{"0", "1", "2", "3", "9223372036854775807"}).Draw(t, "bound")}
		}
		term.MatchExpressions = append(term.MatchExpressions, r)
	}
	return term
}

var drawnValues = []string{"a", "b", "1", "2", "3"}

// triedNodes have all combinations of labels that drawn terms can distinguish.
var triedNodes = func() (out []*corev1.Node) {
	tried := append([]string{"", "c", "0", "4", "00", "01", "02", "03", "04", // other spellings of numbers
		"9223372036854775807", "-9223372036854775808"}, drawnValues...)
	for _, x := range tried {
		for _, y := range tried {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
			if x != "" {
				n.Labels["x"] = x
			}
			if y != "" {
				n.Labels["y"] = y
			}
			out = append(out, n)
		}
	}
	return out
}()

// TestImpliedEqualsTrying: what the terms say of each other is found by trying labels, too. Terms that exclude themselves are left out.
func TestImpliedEqualsTrying(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTerm(t), drawTerm(t)
		if n := len(a.MatchExpressions); n > 0 && rapid.Bool().Draw(t, "within") {
			b.MatchExpressions = a.MatchExpressions[:rapid.IntRange(1, n).Draw(t, "shared")]
		}
		of, err := nodeaffinity.NewNodeSelector(one(a))
		if err != nil {
			t.Fatal(err)
		}
		in, err := nodeaffinity.NewNodeSelector(one(b))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(triedNodes, of.Match) {
			return
		}
		counter := slices.ContainsFunc(triedNodes, func(n *corev1.Node) bool { return of.Match(n) && !in.Match(n) })
		got := implies(&a, &b)
		if got && counter {
			t.Fatalf("%v is found to imply %v, and does not", a.MatchExpressions, b.MatchExpressions)
		}
		if got {
			found++
		} else if !counter && len(a.MatchExpressions) == 1 {
			t.Fatalf("%v implies %v, and is not found to", a.MatchExpressions, b.MatchExpressions)
		}
	})
	if found == 0 {
		t.Error("no term was within another one")
	}
}

func TestGtImpliesThatTheValueIsANumber(t *testing.T) {
	above := single("y", corev1.NodeSelectorOpGt, "0")
	if word := single("y", corev1.NodeSelectorOpNotIn, "a"); !implies(&above, &word) {
		t.Error("above 0 does not imply another value than a")
	}
	if number := single("y", corev1.NodeSelectorOpNotIn, "1"); implies(&above, &number) {
		t.Error("above 0 implies another value than 1")
	}
}

func single(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

// TestContradictionEqualsTrying compares with trying every label that the requirements can distinguish, by the library that
// kube-scheduler uses.
func TestContradictionEqualsTrying(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := drawTerm(t)
		var all []requirement
		for _, r := range term.MatchExpressions {
			all = append(all, requirement{r.Key, string(r.Operator), r.Values})
		}
		selector, err := nodeaffinity.NewNodeSelector(one(term))
		if err != nil {
			t.Fatal(err)
		}
		possible := slices.ContainsFunc(triedNodes, selector.Match)
		if _, found := contradiction(all); found == possible {
			t.Fatal(fmt.Sprintf("%v: a contradiction was found: %t, labels meet them: %t", all, found, possible))
		}
	})
}
