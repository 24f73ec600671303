package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// These plugins are registered by this test alone.
const (
	keepOut verdict.Plugin = verdict.PluginCount + iota
	quietZone
	singleTenant
)

const toyZone, noisy, tenant = "zone", "noisy", "tenant"

// toys returns a static plugin, which rejects nodes with the label keep-out, and two that count: a noisy pod rejects the
// zones of other noisy pods, a tenant the nodes of other tenants.
func toys() []*plugin.Plugin {
	return []*plugin.Plugin{
		{
			Name:   keepOut,
			Static: true,
			Compile: func(c *plugin.Cycle, s *rule.Set) {
				rejected := nodeset.New(c.State.Len())
				rejected.Or(c.State.Column(c.State.Symbols.Intern("keep-out")).Having)
				s.Static = append(s.Static, rule.Static{
					ID: verdict.PodRule{Plugin: keepOut}, Code: verdict.UnschedulableAndUnresolvable,
					Reason: verdict.Reason{Message: "node(s) were kept out of"}, Rejected: rejected,
				})
			},
		},
		excluding(noisy, rule.Exclusion{
			ID:     verdict.PodRule{Plugin: quietZone, TopologyKey: toyZone},
			Reason: verdict.Reason{Message: "node(s) were in a noisy zone"},
		}),
		excluding(tenant, rule.Exclusion{
			ID:     verdict.PodRule{Plugin: singleTenant},
			Reason: verdict.Reason{Message: "node(s) had a tenant"},
		}),
	}
}

// excluding returns a plugin that keeps pods with a label out of each other's domains: of a topology key, or without one
// each node.
func excluding(label string, e rule.Exclusion) *plugin.Plugin {
	return &plugin.Plugin{
		Name:   e.ID.Plugin,
		Labels: []string{label},
		Compile: func(c *plugin.Cycle, s *rule.Set) {
			has := func(shape *cluster.Shape) bool {
				_, has := shape.Labels.Get(c.State.Symbols.Intern(label))
				return has
			}
			if !has(c.Pod.Shape) {
				return
			}
			e := e
			if e.ID.TopologyKey != "" {
				e.Column = c.State.Column(c.State.Symbols.Intern(e.ID.TopologyKey))
			}
			e.Pods = rule.Matching(c.State.Groups(), func(g *cluster.Group) bool { return has(g.Shape) })
			e.Excludes = func(other *cluster.Pending) bool { return has(other.Shape) }
			s.Exclusions = append(s.Exclusions, rule.NewExclusion(c.State, e))
		},
	}
}

// toyCluster has two nodes in each of the zones a, b and c. The first node of each zone is rejected by its label. Those
// of zone a have the most room and would be taken first.
func toyCluster(t *testing.T, on map[string]*enginetest.Pod, plugins ...*plugin.Plugin) *engine.Cluster {
	t.Helper()
	var nodes []*enginetest.Node
	for _, zone := range []string{"a", "b", "c"} {
		for i := range 2 {
			n := enginetest.MakeNode(fmt.Sprint(zone, i)).Label(toyZone, zone).Allocate("cpu", 8_000, "pods", 20)
			if i == 0 {
				n.Label("keep-out", "true")
			}
			if p := on[n.Name]; p != nil {
				n.Run(p)
			}
			nodes = append(nodes, n)
		}
	}
	if plugins == nil {
		plugins = toys()
	}
	return compiled(t, enginetest.Cluster(nodes...)).WithPlugins(plugins...)
}

func quiet() *enginetest.Pod { return enginetest.MakePod("quiet").Request("cpu", 1_000) }
func loud() *enginetest.Pod  { return quiet().Label(noisy, "yes") }
func alone() *enginetest.Pod { return quiet().Label(tenant, "yes") }

// On the nodes of toyCluster.
var allowed = []uint32{1, 3, 5}

// counting are pods that a plugin counts, each with the plugin. Of the allowed nodes each is in a zone of its own, so that
// a zone and a node have room for one of them.
var counting = map[verdict.Plugin]func() *enginetest.Pod{quietZone: loud, singleTenant: alone}

// TestToyPluginEverywhere registers a static plugin and two that count, and checks that everything that decides about
// nodes honours them.
func TestToyPluginEverywhere(t *testing.T) {
	profile := api.Kube137()
	rejectedBy := func(rejections []verdict.Rejection, p verdict.Plugin) []uint32 {
		for _, r := range rejections {
			if r.Plugin == p {
				return r.Nodes
			}
		}
		return nil
	}
	one := map[string]*enginetest.Pod{"b1": loud().Label(tenant, "yes")}

	t.Run("Filter", func(t *testing.T) {
		f, err := toyCluster(t, one).Filter(t.Context(), &loud().Pod, engine.FilterOptions{Profile: profile, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		same(t, f.Feasible, []uint32{1, 5})
		same(t, rejectedBy(f.Rejections, keepOut), []uint32{0, 2, 4})
		same(t, rejectedBy(f.Rejections, quietZone), []uint32{3})
		// An explanation evaluates each plugin on its own.
		same(t, rejectedBy(f.Explanation.Failing, keepOut), []uint32{0, 2, 4})
		same(t, rejectedBy(f.Explanation.Failing, quietZone), []uint32{2, 3})
		f, err = toyCluster(t, one).Filter(t.Context(), &alone().Pod, engine.FilterOptions{Profile: profile, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		same(t, f.Feasible, []uint32{1, 5})
		same(t, rejectedBy(f.Rejections, singleTenant), []uint32{3})
		same(t, rejectedBy(f.Explanation.Failing, singleTenant), []uint32{3})
	})
	t.Run("Score", func(t *testing.T) {
		s, err := toyCluster(t, one).Score(t.Context(), &loud().Pod, engine.ScoreOptions{Profile: profile, Rejections: true})
		if err != nil {
			t.Fatal(err)
		}
		same(t, s.Nodes, []uint32{1, 5})
		same(t, rejectedBy(s.Rejections, keepOut), []uint32{0, 2, 4})
		same(t, rejectedBy(s.Rejections, quietZone), []uint32{3})
	})
	for name, o := range map[string]engine.PlaceOptions{
		"by scanning":     {Scan: true},
		"as it pays":      {},
		"with the board":  engine.PlaceOptions{}.WithBoard(),
		"domains by node": engine.PlaceOptions{}.WithBoard().WithLowCardinality(0),
		"forgetting":      engine.PlaceOptions{}.WithBoard().ForgettingClasses(),
	} {
		t.Run("Place/"+name, func(t *testing.T) {
			for by, pod := range counting {
				testToyPlace(t, toyCluster(t, one), o, by, pod())
				// A plugin with static rules may have others.
				mixed := toys()
				mixed[0].Static = false
				testToyPlace(t, toyCluster(t, one, mixed...), o, by, pod())
			}
		})
	}
	for by, pod := range counting {
		t.Run(fmt.Sprint("groups/", by), func(t *testing.T) { testToyGroups(t, one, by, pod()) })
	}
	t.Run("Changes", func(t *testing.T) {
		all := map[string]*enginetest.Pod{"a1": loud(), "b1": loud(), "c1": loud()}
		f, err := toyCluster(t, all).Filter(t.Context(), &loud().Pod, engine.FilterOptions{Profile: profile, Changes: true})
		if err != nil {
			t.Fatal(err)
		}
		removed, added := false, false
		for _, c := range f.Changes {
			if c.RemovedPods != nil {
				removed = true
				same(t, c.Nodes, []uint32{1})
			}
			if c.AddedNode != nil {
				added = true
				same(t, c.AddedNode.NewDomainKeys, []string{toyZone})
				if !slices.Contains(allowed, c.AddedNode.Like) {
					t.Errorf("a node like %d is kept out of", c.AddedNode.Like)
				}
			}
		}
		if !removed || !added {
			t.Errorf("changes %+v, want pods to remove and a node to add", f.Changes)
		}
	})
	t.Run("ScaleDown", testToyScaleDown)
	t.Run("Nominated", testToyNominated)
	t.Run("Preemption", testToyPreemption)
}

// testToyNominated places pods that a plugin counts where one is nominated to a node. It keeps them out of this node, and
// not of others of the zone.
func testToyNominated(t *testing.T) {
	for by, pod := range counting {
		nominated := pod()
		nominated.Name = "nominated"
		c := compiled(t, enginetest.Cluster(
			enginetest.MakeNode("a").Label(toyZone, "a").Nominate(nominated), enginetest.MakeNode("b").Label(toyZone, "a"),
		)).WithPlugins(toys()...)
		f, err := c.Filter(t.Context(), &pod().Pod, engine.FilterOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		same(t, f.Feasible, []uint32{1})
		same(t, f.Rejections[0].Plugin, by)
		for _, o := range []engine.PlaceOptions{{Scan: true}, {}, engine.PlaceOptions{}.WithBoard()} {
			o.Profile = api.Kube137()
			p, err := c.Place(t.Context(), []engine.Pending{{Pod: pod().Pod, Count: 2}}, o)
			if err != nil {
				t.Fatal(err)
			}
			same(t, p.Placements[0].Nodes, []uint32{1})
		}
	}
}

// testToyPreemption evicts the pod that a plugin counts, and nothing where the node's domain has another one.
func testToyPreemption(t *testing.T) {
	for by, pod := range counting {
		holder := func(name string) *enginetest.Pod {
			p := pod()
			p.Name = name
			return p
		}
		c := compiled(t, enginetest.Cluster(
			enginetest.MakeNode("a").Label(toyZone, "a").Run(quiet(), holder("holder")),
			enginetest.MakeNode("b").Label(toyZone, "b").Run(holder("one"), holder("important").Priority(9)),
			enginetest.MakeNode("c").Label(toyZone, "a").Label("keep-out", "").Run(holder("elsewhere")),
		)).WithPlugins(toys()...)
		f, err := c.Filter(t.Context(), &pod().Priority(5).Pod, engine.FilterOptions{
			Profile: api.Kube137(), Preempt: &engine.PreemptOptions{All: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		if by == quietZone { // the pod on c is in the zone of a
			same(t, f.Preemption.Best, nil)
			same(t, len(f.Preemption.Rejections), 2)
			continue
		}
		same(t, f.Preemption.Best, []uint32{0})
		same(t, f.Preemption.Nominated.Victims, []verdict.PodReference{{
			Namespace: "default", Name: "holder", Count: 1, Template: -1, Queue: -1,
		}})
		for _, r := range f.Preemption.Rejections {
			if r.Plugin == by {
				same(t, r.Nodes, []uint32{1})
			}
		}
	}
}

func testToyScaleDown(t *testing.T) {
	profile := api.Kube137()
	// One of four replicas is on a node with keep-out, and two are in one zone.
	on := map[string]*enginetest.Pod{"a0": loud(), "b1": loud(), "c1": loud()}
	d, err := toyCluster(t, on).ScaleDown(t.Context(), &loud().Pod, engine.ScaleDownOptions{Profile: profile, Replicas: 2})
	if err != nil {
		t.Fatal(err)
	}
	same(t, d.Deletions[0].Pod.Node, uint32(0))
	same(t, d.Deletions[0].Broken, []verdict.PodRule{{Plugin: keepOut}})
	on = map[string]*enginetest.Pod{"a1": loud(), "b1": loud(), "b0": quiet().Label("other", "x")}
	c := toyCluster(t, on).WithPlugins(toys()[1])
	d, err = c.ScaleDown(t.Context(), &loud().Pod, engine.ScaleDownOptions{Profile: profile, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	same(t, d.Deletions[0].Broken, nil)
	two := enginetest.MakeNode("n1").Label(toyZone, "a").Run(loud())
	both := compiled(t, enginetest.Cluster(two, enginetest.MakeNode("n2").Label(toyZone, "a").Run(loud()))).WithPlugins(toys()...)
	d, err = both.ScaleDown(t.Context(), &loud().Pod, engine.ScaleDownOptions{Profile: profile, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	same(t, d.Deletions[0].Broken, []verdict.PodRule{{Plugin: quietZone, TopologyKey: toyZone}})
	// Two tenants on one node, and one on another.
	shared := enginetest.MakeNode("n1").Run(alone()).Run(alone())
	both = compiled(t, enginetest.Cluster(enginetest.MakeNode("n2").Run(alone()), shared)).WithPlugins(toys()...)
	d, err = both.ScaleDown(t.Context(), &alone().Pod, engine.ScaleDownOptions{Profile: profile, Replicas: 2})
	if err != nil {
		t.Fatal(err)
	}
	same(t, d.Deletions[0].Pod.Node, uint32(1))
	same(t, d.Deletions[0].Broken, []verdict.PodRule{{Plugin: singleTenant}})
}

// testToyPlace places quiet pods, and pods that a plugin counts. These have the template of the quiet ones and a label of
// their own.
func testToyPlace(t *testing.T, c *engine.Cluster, o engine.PlaceOptions, by verdict.Plugin, pod *enginetest.Pod) {
	t.Helper()
	o.Profile = api.Kube137()
	own := quiet().Pod
	own.Labels = pod.Template.Labels
	queue := []engine.Pending{{Pod: quiet().Pod, Count: 3}, {Pod: own, Count: 4}, {Pod: quiet().Pod, Count: 1}}
	p, err := c.Place(t.Context(), queue, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, count := range []int{3, 2, 1} {
		nodes := p.Placements[i].Nodes
		if len(nodes) != count {
			t.Errorf("entry %d: nodes %v, want %d", i, nodes, count)
		}
		for _, n := range nodes {
			if !slices.Contains(allowed, n) {
				t.Errorf("entry %d: a pod on node %d, which is kept out of", i, n)
			}
		}
	}
	if nodes := slices.Sorted(slices.Values(p.Placements[1].Nodes)); !slices.Equal(nodes, []uint32{1, 5}) {
		t.Errorf("counted pods on %v, want one on each of the others", nodes)
	}
	var plugins []verdict.Plugin
	for _, r := range p.Placements[1].Rejections {
		plugins = append(plugins, r.Plugin)
	}
	same(t, plugins, []verdict.Plugin{keepOut, by})
}

func testToyGroups(t *testing.T, on map[string]*enginetest.Pod, by verdict.Plugin, pod *enginetest.Pod) {
	for _, joint := range []bool{false, true} {
		for _, keys := range [][]string{nil, {toyZone}} {
			t.Run(fmt.Sprint("joint=", joint, "/keys=", keys), func(t *testing.T) {
				group := func(pods int) verdict.Place {
					p, err := toyCluster(t, on).Place(t.Context(),
						[]engine.Pending{{Pod: pod.Pod, Count: pods}},
						engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{
							{Name: "g", Entries: []int{0}, Joint: joint, Keys: keys},
						}})
					if err != nil {
						t.Fatal(err)
					}
					return *p
				}
				most := 2
				if keys != nil {
					most = 1
				}
				p := group(most)
				same(t, p.Groups[0].Status, verdict.GroupComplete)
				for _, n := range p.Placements[0].Nodes {
					if n != 1 && n != 5 {
						t.Errorf("a pod on node %d", n)
					}
				}
				p = group(most + 1)
				same(t, p.Groups[0].Status, verdict.GroupInfeasible)
				if joint && keys == nil && !slices.ContainsFunc(p.Groups[0].Conflict, func(r verdict.PodRule) bool {
					return r.Plugin == by
				}) {
					t.Errorf("conflict %v without the plugin", p.Groups[0].Conflict)
				}
			})
		}
	}
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
