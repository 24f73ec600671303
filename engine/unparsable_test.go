package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

var unparsable = enginetest.Selects("app", "ssd,hdd")

// typo gives a pod a preferred node affinity that kube-scheduler cannot parse.
func typo(p *enginetest.Pod) *enginetest.Pod {
	p.Template.Spec.NodeAffinity = &api.NodeAffinity{Preferred: []api.PreferredNodeTerm{{
		Weight: 1,
		Preference: api.NodeSelectorTerm{MatchExpressions: []api.Requirement{
			{Key: "disk", Operator: api.In, Values: []string{"ssd,hdd"}},
		}},
	}}}
	return p
}

func placeAll(t *testing.T, c *engine.Cluster, o engine.PlaceOptions, pods ...*enginetest.Pod) *verdict.Place {
	t.Helper()
	queue := make([]engine.Pending, len(pods))
	for i, p := range pods {
		queue[i] = engine.Pending{Pod: p.Pod, Count: 1}
	}
	o.Profile = api.Kube137()
	placed, err := c.Place(context.Background(), queue, o)
	if err != nil {
		t.Fatal(err)
	}
	return placed
}

func filtered(t *testing.T, c *engine.Cluster, p *enginetest.Pod) *verdict.Filter {
	t.Helper()
	f, err := c.Filter(context.Background(), &p.Pod, engine.FilterOptions{Profile: api.Kube137(), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestUnparsableOnNodes checks that an existing pod uses its resources even if its rules cannot be parsed.
func TestUnparsableOnNodes(t *testing.T) {
	full := typo(enginetest.MakePod("daemon").Label("app", "daemon").Request("cpu", 8000).HostPort(80)).
		AntiAffinity(zoneKey, enginetest.Selects("app", "web")).
		PreferAntiAffinity(100, zoneKey, unparsable).
		Spread(zoneKey, 1, unparsable)
	c := compile(t, enginetest.MakeNode("a").Zone("a").Run(full), enginetest.MakeNode("b").Zone("a"), enginetest.MakeNode("c").Zone("c"))
	for _, test := range []struct {
		pod  *enginetest.Pod
		want []uint32
	}{
		{enginetest.MakePod("cpu").Request("cpu", 1), []uint32{1, 2}},
		{enginetest.MakePod("port").HostPort(80), []uint32{1, 2}},
		{enginetest.MakePod("unwanted").Label("app", "web"), []uint32{2}},
		{enginetest.MakePod("friend").Affinity(zoneKey, enginetest.Selects("app", "daemon")), []uint32{0, 1}},
	} {
		if got := filtered(t, c, test.pod).Feasible; !equalNodes(got, test.want) {
			t.Errorf("%s: feasible %v, want %v", test.pod.Name, got, test.want)
		}
	}
	// If one term of a list does not parse, no term of it counts.
	full.AntiAffinity(zoneKey, unparsable)
	c = compile(t, enginetest.MakeNode("a").Zone("a").Run(full), enginetest.MakeNode("b").Zone("a"))
	if got := filtered(t, c, enginetest.MakePod("unwanted").Label("app", "web")).Feasible; !equalNodes(got, []uint32{0, 1}) {
		t.Errorf("feasible %v, want both", got)
	}
}

func equalNodes(a, b []uint32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestUnparsablePods places pods that kube-scheduler rejects as a whole or fails on. The others of the queue are
// placed.
func TestUnparsablePods(t *testing.T) {
	for _, test := range []struct {
		name    string
		pod     *enginetest.Pod
		plugin  verdict.Plugin
		code    verdict.Code
		message string // how the event's text begins
		filters bool   // whether Filter rejects the nodes
	}{
		{
			"preferred node affinity", typo(enginetest.MakePod("odd")), verdict.NodeAffinity, verdict.Error,
			`running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0][disk]: Invalid value: "ssd,hdd": a valid label`, false,
		},
		{
			"hard constraint", enginetest.MakePod("odd").Spread(zoneKey, 1, unparsable), verdict.PodTopologySpread, verdict.Error,
			`running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod's hard topology spread constraints: values[0][app]: Invalid value: "ssd,hdd": a valid label`, true,
		},
		{
			"soft constraint", enginetest.MakePod("odd").SpreadSoftly(zoneKey, 1, unparsable), verdict.PodTopologySpread, verdict.Error,
			`running PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining pod's soft topology spread constraints: ` +
				`values[0][app]: Invalid value: "ssd,hdd": a valid label`, false,
		},
		{
			"anti-affinity", enginetest.MakePod("odd").AntiAffinity(zoneKey, unparsable), verdict.InterPodAffinity,
			verdict.UnschedulableAndUnresolvable,
			`0/3 nodes are available: parsing pod: requiredAntiAffinityTerms: values[0][app]: Invalid value: "ssd,hdd": a valid label`, true,
		},
		{
			"preferred anti-affinity beside a bad term", enginetest.MakePod("odd").Affinity(zoneKey, unparsable).PreferAntiAffinity(1, zoneKey, unparsable),
			verdict.InterPodAffinity, verdict.UnschedulableAndUnresolvable,
			`0/3 nodes are available: parsing pod: [requiredAffinityTerms: values[0][app]: Invalid value: "ssd,hdd": a valid label`, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compile(t, threeZones()...)
			f := filtered(t, c, test.pod)
			if !strings.HasPrefix(f.Message, test.message) {
				t.Errorf("Filter says %s", f.Message)
			}
			if want := test.code == verdict.Error; f.Failed != want {
				t.Errorf("failed is %v, want %v", f.Failed, want)
			}
			if (len(f.Feasible) == 0) != test.filters || (len(f.Explanation.Failing) == 1) != test.filters {
				t.Errorf("feasible %v, failing %v", f.Feasible, f.Explanation.Failing)
			}
			s, err := c.Score(context.Background(), &test.pod.Pod, engine.ScoreOptions{Profile: api.Kube137()})
			if err != nil || s.Message != f.Message || s.Failed != f.Failed || len(s.Nodes) != len(f.Feasible) || s.Totals != nil || s.Best != nil {
				t.Errorf("Score says %+v, %v", s, err)
			}
			others := enginetest.MakePod("good").AntiAffinity(zoneKey, enginetest.Selects("app", "good")).Label("app", "good")
			for _, scan := range []bool{true, false} {
				placed := placeAll(t, c, engine.PlaceOptions{Scan: scan}, others, test.pod, others, test.pod, others)
				for i, p := range placed.Placements {
					if i%2 == 0 {
						if len(p.Nodes) != 1 {
							t.Errorf("another pod is not placed: %s", p.Message)
						}
						continue
					}
					if p.Unplaced != 1 || p.Message != f.Message || len(p.Rejections) != 1 || p.Failed != (test.code == verdict.Error) {
						t.Errorf("Place says %+v", p)
						continue
					}
					if r := p.Rejections[0]; r.Plugin != test.plugin || r.Code != test.code || len(r.Nodes) != 3 ||
						r.Reasons[0].Type != verdict.ReasonUnparsablePod {
						t.Errorf("rejected by %+v", r)
					}
				}
			}
		})
	}
}

// TestUnparsableUnchecked checks that kube-scheduler does not fail on an unparsable pod before it parses the pod.
func TestUnparsableUnchecked(t *testing.T) {
	gated := enginetest.MakePod("gated").Spread(zoneKey, 1, unparsable)
	gated.Template.Spec.SchedulingGates = []string{"wait"}
	for name, test := range map[string]struct {
		c       *engine.Cluster
		pod     *enginetest.Pod
		message string // how the event's text begins
	}{
		"gated":    {compile(t, threeZones()...), gated, "waiting for scheduling gates: [wait]"},
		"no nodes": {compile(t), enginetest.MakePod("odd").Spread(zoneKey, 1, unparsable), "no nodes available"},
	} {
		t.Run(name, func(t *testing.T) {
			f := filtered(t, test.c, test.pod)
			if f.Failed || !strings.HasPrefix(f.Message, test.message) {
				t.Errorf("Filter says %s, failed: %v", f.Message, f.Failed)
			}
			for _, scan := range []bool{true, false} {
				p := placeAll(t, test.c, engine.PlaceOptions{Scan: scan}, test.pod).Placements[0]
				if p.Failed || p.Message != f.Message {
					t.Errorf("Place says %s, failed: %v", p.Message, p.Failed)
				}
			}
		})
	}
}

// TestUnparsablePreference checks that a pod that kube-scheduler fails to score is placed where it need not be scored.
func TestUnparsablePreference(t *testing.T) {
	c := compile(t, threeZones()...)
	one := typo(enginetest.MakePod("odd"))
	one.Template.Spec.NodeSelector = api.Labels{{Key: zoneKey, Value: "b"}}
	if p := placeAll(t, c, engine.PlaceOptions{}, one).Placements[0]; !equalNodes(p.Nodes, []uint32{1}) {
		t.Errorf("got %+v, want node 1", p)
	}
	s, err := c.Score(context.Background(), &one.Pod, engine.ScoreOptions{Profile: api.Kube137()})
	if err != nil || !equalNodes(s.Best, []uint32{1}) || s.Message != "" {
		t.Errorf("Score says %+v, %v", s, err)
	}
	for _, p := range s.Plugins {
		if p.Plugin == verdict.NodeAffinity {
			t.Error("NodeAffinity scores")
		}
	}
	none := typo(enginetest.MakePod("odd"))
	none.Template.Spec.NodeSelector = api.Labels{{Key: zoneKey, Value: "d"}}
	want := "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
	if p := placeAll(t, c, engine.PlaceOptions{}, none).Placements[0]; p.Message != want {
		t.Errorf("got %q", p.Message)
	}
}

// TestUnparsableInGroups checks that a pod that kube-scheduler fails on is not placed in a group either.
func TestUnparsableInGroups(t *testing.T) {
	c := compile(t, threeZones()...)
	for _, joint := range []bool{false, true} {
		for _, pod := range []*enginetest.Pod{typo(enginetest.MakePod("odd")), enginetest.MakePod("odd").Spread(zoneKey, 1, unparsable)} {
			placed := placeAll(t, c, engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "g", Entries: []int{0, 1}, Joint: joint}}},
				pod, enginetest.MakePod("good"))
			g := placed.Groups[0]
			if g.Status != verdict.GroupInfeasible || len(placed.Placements[1].Nodes) != 0 || !g.Failed {
				t.Errorf("joint %v: %+v", joint, g)
			}
			if joint && (len(g.Conflict) != 1 || !strings.Contains(g.Conflict[0].Error, "Invalid value")) {
				t.Errorf("conflict %+v", g.Conflict)
			}
		}
	}
	// Where one node is feasible, the pod is not scored.
	alone := compile(t, enginetest.MakeNode("a"))
	placed := placeAll(t, alone, engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}, Joint: true}}}, typo(enginetest.MakePod("odd")))
	if placed.Groups[0].Status != verdict.GroupComplete {
		t.Errorf("on a single node: %+v", placed.Groups[0])
	}
	// An error ends the cycle of the whole group, though enough of its pods could be placed; a rejection does not.
	for _, test := range []struct {
		pod  *enginetest.Pod
		want verdict.GroupStatus
	}{
		{typo(enginetest.MakePod("odd")), verdict.GroupInfeasible},
		{enginetest.MakePod("odd").Spread(zoneKey, 1, unparsable), verdict.GroupInfeasible},
		{enginetest.MakePod("odd").AntiAffinity(zoneKey, unparsable), verdict.GroupBestEffort},
	} {
		placed := placeAll(t, c, engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "g", Entries: []int{0, 1, 2}, Minimum: 1}}},
			enginetest.MakePod("good"), test.pod, enginetest.MakePod("good"))
		g := placed.Groups[0]
		if g.Failed != (test.want == verdict.GroupInfeasible) {
			t.Errorf("fails: %v", g.Failed)
		}
		if g.Status != test.want || g.First != 1 || g.Status == verdict.GroupInfeasible &&
			!strings.HasPrefix(g.Message, "failed to schedule other pod from a pod group: running Pre") {
			t.Errorf("%+v", g)
		}
	}
}

// TestInvalidScoreInADomain checks that a group goes to no domain if kube-scheduler fails to score a pod of it in one.
func TestInvalidScoreInADomain(t *testing.T) {
	huge := func(name string) *enginetest.Node {
		return enginetest.MakeNode(name).Zone("b").Allocate("cpu", 8000, "memory", int64(92_300_000_000_000_000), "pods", 110)
	}
	c := compile(t, enginetest.MakeNode("a1").Zone("a"), enginetest.MakeNode("a2").Zone("a"), huge("b1"), huge("b2"))
	placed := placeAll(t, c, engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}, Keys: []string{zoneKey}}}},
		enginetest.MakePod("p").Request("cpu", 4000, "memory", 1<<20))
	if g := placed.Groups[0]; !g.Failed || !strings.Contains(g.Message, "returns an invalid score") {
		t.Errorf("%+v", g)
	}
}

// TestConflictingFieldsAreExplained checks that an explanation gives the reason of the rejection.
func TestConflictingFieldsAreExplained(t *testing.T) {
	pod := enginetest.MakePod("p")
	name := func(n string) api.Requirement {
		return api.Requirement{Key: "metadata.name", Operator: api.In, Values: []string{n}}
	}
	pod.Template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{
		{MatchFields: []api.Requirement{name("a1"), name("b1")}},
	}}}
	f := filtered(t, compile(t, threeZones()...), pod)
	if len(f.Explanation.Failing) != 1 || f.Explanation.Failing[0].Reasons[0] != f.Rejections[0].Reasons[0] {
		t.Errorf("explained by %+v, rejected by %+v", f.Explanation.Failing, f.Rejections)
	}
}
