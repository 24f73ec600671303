package monitoring

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const rulesFile = "../../prometheus/rules.yaml"

func rules(t testing.TB) *rulefmt.RuleGroups {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, queryParser(), slog.Default())
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil || len(groups.Groups) == 0 {
		t.Fatal("no rules")
	}
	return groups
}

func queryParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// queries checks queries against the metrics that there are.
type queries struct {
	t      *testing.T
	series map[string]map[string]bool
}

// newQueries knows the metrics of Stowage's processes, and what the rules record of them.
func newQueries(t *testing.T) *queries {
	t.Helper()
	q := &queries{t, metrics(t)}
	for _, group := range rules(t).Groups {
		for _, r := range group.Rules {
			if r.Record != "" {
				// The level of a recorded rule is its labels: namespace_method_code:what:how.
				level, _, _ := strings.Cut(r.Record, ":")
				q.series[r.Record] = recorded(level)
			}
		}
	}
	return q
}

// recorded are the labels of a level.
func recorded(level string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.SplitSeq(level, "_") {
		out[map[string]string{"namespace": "namespace", "method": "rpc_method", "code": "rpc_response_status_code"}[word]] = true
	}
	return out
}

// ofTarget are labels that Prometheus sets.
var ofTarget = []string{"namespace", "instance", "pod", "job"}

// check parses a query and looks for each metric and label in it.
func (q *queries) check(where, query string) {
	q.t.Helper()
	expr, err := queryParser().ParseExpr(query)
	if err != nil {
		q.t.Errorf("%s: %v\n%s", where, err, query)
		return
	}
	known := map[string]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		s, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		has, ok := q.series[s.Name]
		if !ok {
			q.t.Errorf("%s: there is no metric %s", where, s.Name)
			return nil
		}
		for label, ok := range has {
			known[label] = known[label] || ok
		}
		for _, m := range s.LabelMatchers {
			if m.Name != model.MetricNameLabel && !has[m.Name] && !slices.Contains(ofTarget, m.Name) {
				q.t.Errorf("%s: %s has no label %s", where, s.Name, m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if a, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range a.Grouping {
				if !known[label] && !slices.Contains(ofTarget, label) {
					q.t.Errorf("%s: no metric has the label %s", where, label)
				}
			}
		}
		return nil
	})
}

// TestRules is `promtool check rules`, and looks for the metrics, and for what is said about each alert.
func TestRules(t *testing.T) {
	q := newQueries(t)
	runbook := string(read(t, "../../../docs/alerts.md"))
	alerts := map[string]bool{}
	for _, group := range rules(t).Groups {
		for _, r := range group.Rules {
			q.check(r.Record+r.Alert, r.Expr)
			if r.Alert == "" {
				continue
			}
			alerts[r.Alert] = true
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: says nothing", r.Alert)
			}
			if want := "/docs/alerts.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
				t.Errorf("%s: runbook %s, want one that ends with %s", r.Alert, r.Annotations["runbook_url"], want)
			}
		}
	}
	var described []string
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)\n\n\w`).FindAllStringSubmatch(runbook, -1) {
		described = append(described, heading[1])
		if !alerts[heading[1]] {
			t.Errorf("docs/alerts.md describes %s, which is no alert", heading[1])
		}
	}
	for alert := range alerts {
		if !slices.Contains(described, alert) {
			t.Errorf("docs/alerts.md does not describe %s", alert)
		}
	}
}

// dashboard is the part of Grafana's model that the tests read.
type dashboard struct {
	UID, Title string
	Templating struct{ List []variable }
	Panels     []panel
}

type variable struct{ Name, Type, Definition string }

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
}

// TestDashboards expects that every query finds something, and that panels say what they show and do not overlap.
func TestDashboards(t *testing.T) {
	q := newQueries(t)
	paths, err := fs.Glob(os.DirFS("../../grafana"), "*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d dashboards: %v", len(paths), err)
	}
	uids := map[string]bool{}
	used := map[string]bool{}
	for _, path := range paths {
		var d dashboard
		if err := json.Unmarshal(read(t, "../../grafana/"+path), &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID == "" || uids[d.UID] {
			t.Errorf("%s: uid %q", path, d.UID)
		}
		uids[d.UID] = true
		for _, v := range d.Templating.List {
			if m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition); m != nil {
				q.check(path+", "+v.Name, fmt.Sprintf("sum by (%s) (%s)", m[2], m[1]))
			} else if v.Type == "query" {
				t.Errorf("%s: variable %s is %q", path, v.Name, v.Definition)
			}
		}
		q.panels(path, d.Panels, used)
	}
	// Nothing of Stowage is measured and never shown.
	for name := range q.series {
		family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "stowage_") && !shown(used, family) {
			t.Errorf("no dashboard shows %s", family)
		}
	}
}

func shown(used map[string]bool, family string) bool {
	for query := range used {
		if strings.Contains(query, family) {
			return true
		}
	}
	return false
}

// panels checks the panels of a dashboard, and adds their queries to used.
func (q *queries) panels(path string, panels []panel, used map[string]bool) {
	cells := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range panels {
		where := path + ", " + p.Title
		if ids[p.ID] {
			q.t.Errorf("%s: id %d is there twice", where, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			q.t.Errorf("%s: at %+v", where, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					q.t.Errorf("%s: overlaps %s", where, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			q.t.Errorf("%s: has no description, unit or query", where)
		}
		for _, target := range p.Targets {
			used[target.Expr] = true
			q.check(where, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
