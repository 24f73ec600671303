package selector_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

func TestSelector(t *testing.T) {
	labels := api.LabelsOf(map[string]string{"app": "web", "tier": "front", "empty": ""})
	requirement := func(key string, op api.Operator, values ...string) *api.LabelSelector {
		return &api.LabelSelector{MatchExpressions: []api.Requirement{{Key: key, Operator: op, Values: values}}}
	}
	for _, test := range []struct {
		selector *api.LabelSelector
		want     bool
		text     string
	}{
		{nil, false, "<none>"},
		{&api.LabelSelector{}, true, ""},
		{&api.LabelSelector{MatchLabels: api.Labels{{Key: "app", Value: "web"}}}, true, "app=web"},
		{&api.LabelSelector{MatchLabels: api.Labels{{Key: "app", Value: "db"}}}, false, "app=db"},
		{requirement("app", api.In, "web", "db", "web"), true, "app in (db,web)"},
		{requirement("app", api.NotIn, "web", "db"), false, "app notin (db,web)"},
		{requirement("app", api.NotIn, "db"), true, "app!=db"},
		{requirement("other", api.NotIn, "db"), true, "other!=db"},
		{requirement("other", api.In, "db"), false, "other=db"},
		{requirement("empty", api.In, ""), true, "empty="},
		{requirement("other", api.In, ""), false, "other="},
		{requirement("app", api.Exists), true, "app"},
		{requirement("other", api.Exists), false, "other"},
		{requirement("app", api.DoesNotExist), false, "!app"},
		{requirement("other", api.DoesNotExist), true, "!other"},
		{requirement("app", api.NotIn, "no label's value"), false, "<none>"},
	} {
		t.Run(test.text, func(t *testing.T) {
			base := intern.New()
			compiled := selector.CompileLabels(base, labels)
			table := intern.Extend(base)
			s := selector.CompileSelector(table, test.selector)
			if got := s.Matches(compiled); got != test.want {
				t.Errorf("Matches = %v", got)
			}
			if got := s.Text(table); got != test.text {
				t.Errorf("Text = %q, want %q", got, test.text)
			}
		})
	}
}

func matches(t *intern.Table, r *selector.Requirement, l selector.Labels) bool {
	value, present := l.Get(r.Key)
	return r.Matches(t, value, present)
}

func TestNodeTermBounds(t *testing.T) {
	table := intern.New()
	labels := selector.CompileLabels(table, api.LabelsOf(map[string]string{"cores": "8", "name": "x"}))
	for _, test := range []struct {
		key   string
		op    api.Operator
		value string
		parse bool
		want  bool
	}{
		{"cores", api.GreaterThan, "7", true, true},
		{"cores", api.GreaterThan, "8", true, false},
		{"cores", api.LessThan, "9", true, true},
		{"cores", api.LessThan, "8", true, false},
		{"name", api.GreaterThan, "1", true, false},
		{"missing", api.LessThan, "1", true, false},
		{"cores", api.GreaterThan, "many", false, false},
	} {
		term, ok := selector.CompileNodeTerm(table, api.NodeSelectorTerm{
			MatchExpressions: []api.Requirement{{Key: test.key, Operator: test.op, Values: []string{test.value}}},
		})
		if ok != test.parse {
			t.Errorf("%v parses: %v", test, ok)
		}
		if ok && matches(table, &term.Labels[0], labels) != test.want {
			t.Errorf("%v does not match as it should", test)
		}
	}
	if _, ok := selector.CompileNodeTerm(table, api.NodeSelectorTerm{}); ok {
		t.Error("an empty term matches something")
	}
}
