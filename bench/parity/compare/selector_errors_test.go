package compare_test

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

var (
	oddKeys = []string{
		"app", "app", "app", "example.com/app", "", "a b", "/x", "x/", "Ex.com/a", "a/b/c", "ex..com/a", "-a.com/b", "a\tb",
		"0123456789012345678901234567890123456789012345678901234567890123/é",
	}
	oddValues = []string{
		"", "a", "a-b_c.D", "5", "-5", "99999999999999999999", "a b", "-x", "x-", "ssd,hdd", `"q"<&>`, "é", "a\nb",
		"0123456789012345678901234567890123456789012345678901234567890123456789",
	}
	operators = []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
	}
)

func draw[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func drawValues(rng *rand.Rand, n int) []string {
	var values []string
	for range n {
		values = append(values, draw(rng, oddValues))
	}
	return values
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestSelectorErrors compares the texts of errors with Kubernetes' own parsers.
func TestSelectorErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 50_000 {
		theirs, ours := &metav1.LabelSelector{}, &api.LabelSelector{}
		if rng.IntN(3) == 0 {
			key, value := draw(rng, oddKeys), draw(rng, oddValues)
			theirs.MatchLabels, ours.MatchLabels = map[string]string{key: value}, api.Labels{{Key: key, Value: value}}
		}
		for range rng.IntN(3) {
			key, op, values := draw(rng, oddKeys), rng.IntN(4), drawValues(rng, rng.IntN(3))
			theirs.MatchExpressions = append(theirs.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(operators[op]), Values: values})
			ours.MatchExpressions = append(ours.MatchExpressions, api.Requirement{Key: key, Operator: api.Operator(op + 1), Values: values})
		}
		_, err := metav1.LabelSelectorAsSelector(theirs)
		if err != nil {
			failed++
		}
		if got, want := enginetest.LabelSelectorError(ours), text(err); got != want {
			t.Fatalf("%+v:\ngot  %s\nwant %s", theirs, got, want)
		}
	}
	if failed == 0 {
		t.Error("every selector parses")
	}
}

func TestPreferredNodeTermErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	failed := 0
	for range 50_000 {
		var theirs []corev1.PreferredSchedulingTerm
		var ours []api.PreferredNodeTerm
		for range rng.IntN(3) {
			t, o := corev1.PreferredSchedulingTerm{Weight: 1}, api.PreferredNodeTerm{Weight: 1}
			for range rng.IntN(3) {
				op := rng.IntN(len(operators))
				values := drawValues(rng, map[bool]int{true: 0, false: 1}[op == 2 || op == 3])
				t.Preference.MatchExpressions = append(t.Preference.MatchExpressions,
					corev1.NodeSelectorRequirement{Key: "disk", Operator: operators[op], Values: values})
				o.Preference.MatchExpressions = append(o.Preference.MatchExpressions,
					api.Requirement{Key: "disk", Operator: api.Operator(op + 1), Values: values})
			}
			theirs, ours = append(theirs, t), append(ours, o)
		}
		_, err := nodeaffinity.NewPreferredSchedulingTerms(theirs)
		if err != nil {
			failed++
		}
		if got, want := enginetest.PreferredNodeTermsError(ours), text(err); got != want {
			t.Fatalf("%+v:\ngot  %s\nwant %s", theirs, got, want)
		}
	}
	if failed == 0 {
		t.Error("every term parses")
	}
}
