package selector_test

import (
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

const valueSyntax = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start " +
	"and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
	"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

func in(key string, values ...string) api.Requirement {
	return api.Requirement{Key: key, Operator: api.In, Values: values}
}

func TestLabelSelectorError(t *testing.T) {
	for _, test := range []struct {
		name     string
		selector *api.LabelSelector
		want     string
	}{
		{"none", nil, ""},
		{"empty", &api.LabelSelector{}, ""},
		{"sound", &api.LabelSelector{MatchLabels: api.Labels{{Key: "example.com/app", Value: "web"}}, MatchExpressions: []api.Requirement{in("tier", "", "a-b_c.D")}}, ""},
		{
			"a label", &api.LabelSelector{MatchLabels: api.Labels{{Key: "service", Value: "{{.bad-value.}}"}}},
			`values[0][service]: Invalid value: "{{.bad-value.}}": ` + valueSyntax,
		},
		{
			"two values, and the first expression only", &api.LabelSelector{MatchExpressions: []api.Requirement{in("a", "b", "c d", "-"), in("e", "f g")}},
			`[values[1][a]: Invalid value: "c d": ` + valueSyntax + `, values[2][a]: Invalid value: "-": ` + valueSyntax + `]`,
		},
		{
			"too long", &api.LabelSelector{MatchExpressions: []api.Requirement{in("a", strings.Repeat("x", 64))}},
			`values[0][a]: Invalid value: "` + strings.Repeat("x", 64) + `": must be no more than 63 bytes`,
		},
		{
			"no values", &api.LabelSelector{MatchExpressions: []api.Requirement{in("a")}},
			"values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
		},
		{
			"a value too many", &api.LabelSelector{MatchExpressions: []api.Requirement{{Key: "a", Operator: api.Exists, Values: []string{"b"}}}},
			`values: Invalid value: ["b"]: values set must be empty for exists and does not exist`,
		},
		{
			"a key", &api.LabelSelector{MatchLabels: api.Labels{{Key: "a b", Value: "c"}}},
			`key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with ` +
				`an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is ` +
				`'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := selector.LabelSelectorError(test.selector); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestPreferredNodeTermsError(t *testing.T) {
	terms := []api.PreferredNodeTerm{
		{Weight: 1, Preference: api.NodeSelectorTerm{MatchExpressions: []api.Requirement{in("zone", "a")}}},
		{Weight: 1, Preference: api.NodeSelectorTerm{MatchExpressions: []api.Requirement{
			in("zone", "a"), {Key: "disks", Operator: api.GreaterThan, Values: []string{"many"}},
		}}},
		{Weight: 1, Preference: api.NodeSelectorTerm{MatchExpressions: []api.Requirement{in("disk", "ssd,hdd")}}},
	}
	if got := selector.PreferredNodeTermsError(terms[:1]); got != "" {
		t.Errorf("got %s, want none", got)
	}
	want := `[[1].matchExpressions[1].values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be an integer, ` +
		`[2].matchExpressions[0].values[0][disk]: Invalid value: "ssd,hdd": ` + valueSyntax + `]`
	if got := selector.PreferredNodeTermsError(terms); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
