package review_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/review"
)

func TestBudgets(t *testing.T) {
	budget := func(name, spec string) string {
		return "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: " + name + "}, spec: {" + spec + "}}"
	}
	const selector = "selector: {matchLabels: {app: web}}"
	for name, test := range map[string]struct {
		budgets []string
		want    []string
	}{
		"one may go":             {[]string{budget("web", selector+", maxUnavailable: 1")}, nil},
		"a share may go":         {[]string{budget("web", selector+", maxUnavailable: 1%")}, nil},
		"none may go":            {[]string{budget("web", selector+", maxUnavailable: 0")}, []string{"warning budget-blocks spec.maxUnavailable"}},
		"no share may go":        {[]string{budget("web", selector+", maxUnavailable: 0%")}, []string{"warning budget-blocks spec.maxUnavailable"}},
		"one stays":              {[]string{budget("web", selector+", minAvailable: 1")}, nil},
		"all stay":               {[]string{budget("web", selector+", minAvailable: 2")}, []string{"warning budget-blocks spec.minAvailable"}},
		"half of them":           {[]string{budget("web", selector+", minAvailable: 50%")}, nil},
		"more than half of them": {[]string{budget("web", selector+", minAvailable: 51%")}, []string{"warning budget-blocks spec.minAvailable"}},
		"no pod":                 {[]string{budget("web", "selector: {matchLabels: {app: wbe}}, maxUnavailable: 0")}, []string{"note selects-no-pod spec.selector"}},
		"all pods":               {[]string{budget("web", "selector: {}, maxUnavailable: 1")}, nil},
		"two budgets": {
			[]string{budget("web", selector+", maxUnavailable: 1"), budget("all", "selector: {}, maxUnavailable: 1")},
			[]string{"warning budgets-overlap spec.selector"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, append(test.budgets, nodes, web())...)
			r, err := review.New(s, review.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if test.want == nil {
				test.want = []string{}
			}
			if d := cmp.Diff(test.want, short(r.Budgets())); d != "" {
				t.Error(d)
			}
		})
	}
}
