package monitoring

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"
)

var healthy = code("OK", "0+600x40")

const scheduler = `stowage_batch_leading{namespace="stowage", instance="a"} `

// situations has for each alert series, one a minute, with which it fires, and such with which it does not.
var situations = map[string]struct{ fires, quiet []string }{
	"StowageServerAbsent": {
		fires: []string{healthy},
		quiet: []string{`stowage_admission_seats_in_use{namespace="stowage"} 0x40`},
	},
	"StowageInternalErrors": {
		fires: []string{healthy + code("INTERNAL", "0+1x40"), healthy + code("UNKNOWN", "0+1x40")},
		quiet: []string{healthy, healthy + code("INTERNAL", "7x40"), healthy + code("INVALID_ARGUMENT", "0+600x40")},
	},
	"StowageRefusesCalls": {
		fires: []string{
			healthy + code("RESOURCE_EXHAUSTED", "0+60x40"),
			healthy + `stowage_admission_refusals_total{namespace="stowage", reason="behind"} 0+60x40`,
		},
		quiet: []string{
			healthy, healthy + code("RESOURCE_EXHAUSTED", "0+6x40"),
			// The gate's refusals alone are counted beside the calls; others are calls that ended.
			healthy + `stowage_admission_refusals_total{namespace="stowage", reason="deadline"} 0+60x40`,
		},
	},
	"StowageCallsWait": {
		fires: []string{wait("0+1x40", "0+2x40")},
		quiet: []string{wait("0+2x40", "0+2x40"), wait("5x40", "6x40")},
	},
	"StowageDeadlinesPass": {
		fires: []string{healthy + code("DEADLINE_EXCEEDED", "0+60x40")},
		quiet: []string{healthy, healthy + code("DEADLINE_EXCEEDED", "0+6x40")},
	},
	"StowageMemoryNearLimit": {
		fires: []string{memory("stowage_admission_seats_in_use", "2e9")},
		quiet: []string{memory("stowage_admission_seats_in_use", "1e9"), memory("another_process", "2e9")},
	},
	"StowageBatchWithoutLeader": {
		fires: []string{scheduler + "0x40\n" + `stowage_batch_leading{namespace="stowage", instance="b"} 0x40`},
		quiet: []string{scheduler + "0x40\n" + `stowage_batch_leading{namespace="stowage", instance="b"} 1x40`, healthy},
	},
	"StowageBatchStands": {
		fires: []string{waiting("3x40", ""), waiting("3x40", `stowage_batch_attempts_total{namespace="stowage", result="bound"} 5x40`)},
		quiet: []string{
			waiting("0x40", ""),
			waiting("3x40", `stowage_batch_attempts_total{namespace="stowage", result="unschedulable"} 0+1x40`),
		},
	},
	"StowageBatchErrors": {
		fires: []string{attempts("0+10x40", "0+2x40")},
		quiet: []string{attempts("0+100x40", "0+2x40"), attempts("0+10x40", "7x40")},
	},
	"StowageBatchBindsSlowly": {
		fires: []string{steps("bind", "0+1x40"), steps("bind_queue", "0+1x40")},
		quiet: []string{steps("bind", "0+2x40"), steps("place", "0+1x40")},
	},
	"StowageBatchDropsUpdates": {
		fires: []string{`stowage_batch_dropped_total{namespace="stowage", what="event"} 0+1x40`},
		quiet: []string{`stowage_batch_dropped_total{namespace="stowage", what="event"} 9x40`},
	},
	"StowageExtenderErrors": {
		fires: []string{requests("0+10x40", "0+2x40")},
		quiet: []string{requests("0+100x40", "0+2x40")},
	},
	"StowageExtenderForeignBinds": {
		fires: []string{`stowage_extender_foreign_binds_total{namespace="stowage"} 0x30 1x10`},
		quiet: []string{`stowage_extender_foreign_binds_total{namespace="stowage"} 1x40`},
	},
	"StowageExtenderFenced": {
		fires: []string{`stowage_extender_binds_total{namespace="stowage", result="fenced"} 0+1x40`},
		quiet: []string{`stowage_extender_binds_total{namespace="stowage", result="bound"} 0+1x40`},
	},
	"StowageObjectsRefused": {
		fires: []string{`stowage_live_refused{namespace="stowage", kind="Node"} 1x40`},
		quiet: []string{`stowage_live_refused{namespace="stowage", kind="Node"} 0x40`},
	},
	"StowageExpanderFails": {
		fires: []string{expansions("0+1x40", "0+2x40")},
		quiet: []string{expansions("0+2x40", "0+1x40")},
	},
}

func code(code, values string) string {
	return `rpc_server_call_duration_seconds_count{namespace="stowage", rpc_method="stowage.v1.PlacementService/Place", ` +
		`rpc_response_status_code="` + code + `"} ` + values + "\n"
}

func buckets(name, labels, below, all string) string {
	return name + `_bucket{namespace="stowage", ` + labels + `le="0.3"} ` + below + "\n" + name + `_bucket{namespace="stowage", ` +
		labels + `le="3"} ` + all + "\n" + name + `_bucket{namespace="stowage", ` + labels + `le="+Inf"} ` + all + "\n"
}

func wait(below, all string) string { return buckets("stowage_admission_wait_seconds", "", below, all) }

func steps(step, below string) string {
	return buckets("stowage_batch_step_duration_seconds", `step="`+step+`", `, below, "0+2x40")
}

func memory(with, bytes string) string {
	return `process_resident_memory_bytes{instance="a"} ` + bytes + "x40\n" +
		`go_gc_gomemlimit_bytes{instance="a"} 1.9e9x40` + "\n" +
		with + `{instance="a"} 1x40`
}

func waiting(pods, attempts string) string {
	return `stowage_batch_pods{namespace="stowage", state="waiting"} ` + pods + "\n" + attempts
}

func attempts(bound, failed string) string {
	return `stowage_batch_attempts_total{namespace="stowage", result="bound"} ` + bound + "\n" +
		`stowage_batch_attempts_total{namespace="stowage", result="error"} ` + failed
}

func requests(ok, failed string) string {
	return `stowage_extender_requests_total{namespace="stowage", verb="filter", result="ok"} ` + ok + "\n" +
		`stowage_extender_requests_total{namespace="stowage", verb="filter", result="error"} ` + failed
}

func expansions(selected, failed string) string {
	return `stowage_expander_duration_seconds_count{namespace="stowage", result="selected"} ` + selected + "\n" +
		`stowage_expander_duration_seconds_count{namespace="stowage", result="failed"} ` + failed
}

// TestAlerts evaluates each alert in situations with which it fires and in such with which it does not, for how long it has
// to hold left out.
func TestAlerts(t *testing.T) {
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	groups := rules(t).Groups
	for _, group := range groups {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			s, ok := situations[r.Alert]
			if !ok {
				t.Errorf("%s: has no situations", r.Alert)
			}
			for _, series := range s.fires {
				if got := evaluate(t, engine, groups, series, r.Expr); len(got) == 0 {
					t.Errorf("%s does not fire with\n%s", r.Alert, series)
				}
			}
			for _, series := range s.quiet {
				if got := evaluate(t, engine, groups, series, r.Expr); len(got) > 0 {
					t.Errorf("%s fires as %v with\n%s", r.Alert, got, series)
				}
			}
		}
	}
}

// end is when alerts are evaluated; series have a sample a minute until then.
const end = 35 * time.Minute

// evaluate records what the rules record, and returns what a query returns in the end.
func evaluate(t *testing.T, engine *promql.Engine, groups []rulefmt.RuleGroup, series, query string) promql.Vector {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+indent(series))
	at := time.Unix(0, 0).Add(end)
	for _, group := range groups {
		for _, r := range group.Rules {
			if r.Record != "" {
				record(t, storage, r.Record, instant(t, engine, storage, r.Expr, at), at)
			}
		}
	}
	return instant(t, engine, storage, query, at)
}

func indent(series string) (out string) {
	for line := range strings.Lines(series) {
		out += "  " + strings.TrimSpace(line) + "\n"
	}
	return out
}

func instant(t *testing.T, engine *promql.Engine, storage *teststorage.TestStorage, query string, at time.Time) promql.Vector {
	t.Helper()
	q, err := engine.NewInstantQuery(t.Context(), storage, nil, query, at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	out, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	return append(promql.Vector(nil), out...)
}

func record(t *testing.T, storage *teststorage.TestStorage, name string, samples promql.Vector, at time.Time) {
	t.Helper()
	appender := storage.Appender(t.Context())
	for _, s := range samples {
		b := labels.NewBuilder(s.Metric)
		b.Set(model.MetricNameLabel, name)
		if _, err := appender.Append(0, b.Labels(), at.UnixMilli(), s.F); err != nil {
			t.Fatal(err)
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}
