package engine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func filterOf(t *testing.T, c *api.Cluster, pod *api.Pod, o engine.FilterOptions) *verdict.Filter {
	t.Helper()
	if o.Profile == nil {
		o.Profile = api.Kube137()
	}
	f, err := compiled(t, c).Filter(t.Context(), pod, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// without returns the cluster without nominated pods, with some additional pods on a node.
func without(c *api.Cluster, node int, add []api.Pod) *api.Cluster {
	out := *c
	out.Nodes = slices.Clone(c.Nodes)
	for i := range out.Nodes {
		out.Nodes[i].Nominated = nil
	}
	if len(add) > 0 {
		out.Nodes[node].Pods = slices.Concat(out.Nodes[node].Pods, add)
	}
	return &out
}

// mustYield returns the nominated pods of a node that a pod must leave room for.
func mustYield(n *api.Node, pod *api.Pod) (pods []api.Pod) {
	for _, other := range n.Nominated {
		itself := other.Name != "" && other.Name == pod.Name && other.Template.Namespace == pod.Template.Namespace
		if !itself && other.Template.Spec.Priority >= pod.Template.Spec.Priority {
			pods = append(pods, other)
		}
	}
	return pods
}

// countAlike reports whether adding nominated pods counts like compiling them as pods of the node.
func countAlike(pod *api.Pod, nominated []api.Pod) bool {
	spec := &pod.Template.Spec
	terms := spec.PodAffinity != nil && len(spec.PodAffinity.Required) > 0 ||
		spec.PodAntiAffinity != nil && len(spec.PodAntiAffinity.Required) > 0
	for _, n := range nominated {
		anti := n.Template.Spec.PodAntiAffinity
		if !terms && anti != nil && len(anti.Required) > 0 || n.Terminating && len(spec.Spread) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(spec.Spread, func(s api.TopologySpreadConstraint) bool {
		return s.LabelSelector != nil && len(s.LabelSelector.MatchLabels)+len(s.LabelSelector.MatchExpressions) == 0
	})
}

// TestFilterAsIfCompiledWithNominated compares Filter with a slow reference: it evaluates each node for itself in a cluster
// with its nominated pods in place, and then in one without them.
func TestFilterAsIfCompiledWithNominated(t *testing.T) {
	with, only, differing := 0, 0, 0
	for seed := range uint64(cases(1000)) {
		rng := rand.New(rand.NewPCG(seed, 40))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomNominated(rng, stated, pods)
		for p := range pods {
			pod := &pods[p]
			alike := true
			want := make([]verdict.Rejection, len(stated.Nodes)) // by node
			for i := range stated.Nodes {
				var added []api.Pod
				if added = mustYield(&stated.Nodes[i], pod); !countAlike(pod, added) {
					alike = false
					break
				}
				plain := *pod
				plain.NominatedNode = ""
				o := engine.FilterOptions{Candidates: []uint32{uint32(i)}}
				second := filterOf(t, without(stated, i, nil), &plain, o).Rejections
				if len(added) > 0 {
					first := filterOf(t, without(stated, i, added), &plain, o).Rejections
					if len(first) > 0 {
						with++
						if gocmp.Diff(first, second) != "" {
							differing++
						}
						second = first
					}
				}
				if len(second) > 0 {
					want[i] = second[0]
				}
			}
			if !alike {
				continue
			}
			at := slices.IndexFunc(stated.Nodes, func(n api.Node) bool { return n.Name == pod.NominatedNode })
			if at >= 0 && want[at].Plugin == 0 {
				only++
				f := filterOf(t, stated, pod, engine.FilterOptions{})
				if !slices.Equal(f.Feasible, []uint32{uint32(at)}) || len(f.Rejections) > 0 || f.Message != "" {
					t.Fatalf("seed %d, pod %d: nominated to %d, got %+v", seed, p, at, f)
				}
				continue
			}
			f := filterOf(t, stated, pod, engine.FilterOptions{Explain: true})
			got := make([]verdict.Rejection, len(stated.Nodes))
			for _, r := range f.Rejections {
				if !slices.IsSorted(r.Nodes) {
					t.Fatalf("seed %d, pod %d: nodes %v", seed, p, r.Nodes)
				}
				for _, n := range r.Nodes {
					got[n] = r
					got[n].Nodes = []uint32{n}
				}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, pod %d (-reference +now):\n%s", seed, p, diff)
			}
			for i, r := range got {
				if (r.Plugin == 0) != slices.Contains(f.Feasible, uint32(i)) {
					t.Fatalf("seed %d, pod %d: node %d in %v, rejected by %v", seed, p, i, f.Feasible, r.Plugin)
				}
				if r.Plugin != 0 && !failing(f.Explanation, &r) {
					t.Fatalf("seed %d, pod %d: node %d is rejected by %v, explained by %+v", seed, p, i, r, f.Explanation.Failing)
				}
			}
			if groups := grouped(got); len(f.Rejections) != groups {
				t.Fatalf("seed %d, pod %d: %d rejections, want %d", seed, p, len(f.Rejections), groups)
			}
			if len(f.Feasible) == 0 && f.Message != verdict.FitError(len(stated.Nodes), f.Rejections) {
				t.Fatalf("seed %d, pod %d: message %q", seed, p, f.Message)
			}
		}
	}
	if with < cases(500) || only < cases(100) || differing < cases(100) {
		t.Errorf("%d nodes rejected with nominated pods, %d differently without them, %d nominated pods went to their node",
			with, differing, only)
	}
}

// The texts of rejections.
const (
	tooFull    = "[Insufficient cpu]"
	noPorts    = "[node(s) didn't have free ports for the requested pod ports]"
	noAffinity = "[node(s) didn't match pod affinity rules]"
	noAnti     = "[node(s) didn't match pod anti-affinity rules]"
	noExisting = "[node(s) didn't satisfy existing pods anti-affinity rules]"
	noSpread   = "[node(s) didn't match pod topology spread constraints]"
)

// TestNominated filters node "a1", which has nominated pods, and "a2" of the same zone and "b1", which have none.
func TestNominated(t *testing.T) { //nolint:funlen // every edge of the two passes
	web := enginetest.Selects("app", "web")
	cpu := func(name string, amount int) *enginetest.Pod { return enginetest.MakePod(name).Request("cpu", amount) }
	for name, test := range map[string]struct {
		nominated []*enginetest.Pod
		running   []*enginetest.Pod // on b1
		pod       *enginetest.Pod
		want      string // the texts of a1's rejection; empty if it is feasible
		others    string // the texts of the rejection of other nodes; empty if there is none
	}{
		"equal priority": {nominated: []*enginetest.Pod{cpu("n", 5000)}, pod: cpu("p", 4000), want: tooFull},
		"higher priority": {
			nominated: []*enginetest.Pod{cpu("n", 5000).Priority(2)},
			pod:       cpu("p", 4000).Priority(1),
			want:      tooFull,
		},
		"lower priority":    {nominated: []*enginetest.Pod{cpu("n", 5000).Priority(1)}, pod: cpu("p", 4000).Priority(2)},
		"negative priority": {nominated: []*enginetest.Pod{cpu("n", 5000).Priority(-1)}, pod: cpu("p", 4000)},
		"itself":            {nominated: []*enginetest.Pod{cpu("p", 5000)}, pod: cpu("p", 4000)},
		"without a name":    {nominated: []*enginetest.Pod{cpu("n", 5000)}, pod: cpu("", 4000), want: tooFull},
		"other namespace": {
			nominated: []*enginetest.Pod{cpu("p", 5000).Namespace("other")},
			pod:       cpu("p", 4000),
			want:      tooFull,
		},
		"itself and another": {
			nominated: []*enginetest.Pod{cpu("p", 4000), cpu("n", 5000)},
			pod:       cpu("p", 4000),
			want:      tooFull,
		},
		"several": {
			nominated: []*enginetest.Pod{cpu("m", 2500), cpu("n", 2500)},
			pod:       cpu("p", 4000),
			want:      tooFull,
		},
		"enough room": {nominated: []*enginetest.Pod{cpu("n", 4000)}, pod: cpu("p", 4000)},
		"another resource": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").Request("memory", 31<<30)},
			pod:       enginetest.MakePod("p").Request("memory", 2<<30),
			want:      "[Insufficient memory]",
		},
		"a resource of no node": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").Request("example.com/gpu", 1)},
			pod:       enginetest.MakePod("p"),
		},
		"host port": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").HostPort(80)}, pod: enginetest.MakePod("p").HostPort(80),
			want: noPorts,
		},
		"another host port": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").HostPort(80)},
			pod:       enginetest.MakePod("p").HostPort(81),
		},
		"anti-affinity of the pod, on the node only": {
			nominated: []*enginetest.Pod{app("web")}, pod: enginetest.MakePod("p").AntiAffinity(zoneKey, web),
			want: noAnti,
		},
		"anti-affinity of the nominated pod, where PreFilter skips": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").AntiAffinity(zoneKey, web)}, pod: app("web"),
		},
		"anti-affinity of the nominated pod, and terms of the pod": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").AntiAffinity(zoneKey, web)},
			pod:       app("web").AntiAffinity(hostname, enginetest.Selects("app", "db")),
			want:      noExisting,
		},
		"anti-affinity of the nominated pod that selects others": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").AntiAffinity(zoneKey, enginetest.Selects("app", "db"))},
			pod:       app("web").AntiAffinity(hostname, enginetest.Selects("app", "db")),
		},
		"anti-affinity of the nominated pod, and of a running one": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").AntiAffinity(zoneKey, web)},
			running:   []*enginetest.Pod{enginetest.MakePod("r").AntiAffinity(hostname, web)},
			pod:       app("web"),
			want:      noExisting,
			others:    noExisting,
		},
		"anti-affinity of the nominated pod, and of a running one in no domain": {
			nominated: []*enginetest.Pod{enginetest.MakePod("n").AntiAffinity(zoneKey, web)},
			running:   []*enginetest.Pod{enginetest.MakePod("r").AntiAffinity("rack", web)},
			pod:       app("web"),
		},
		"affinity, met by the nominated pod alone": {
			nominated: []*enginetest.Pod{app("web")}, pod: enginetest.MakePod("p").Affinity(zoneKey, web),
			want:   noAffinity,
			others: noAffinity,
		},
		"affinity, met by the pod itself": {nominated: []*enginetest.Pod{app("web")}, pod: app("web").Affinity(zoneKey, web)},
		"spread": {
			nominated: []*enginetest.Pod{app("web"), app("web")}, pod: app("web").Spread(zoneKey, 2, web),
			want: noSpread,
		},
		"spread within maxSkew": {nominated: []*enginetest.Pod{app("web")}, pod: app("web").Spread(zoneKey, 2, web)},
		"spread in another namespace": {
			nominated: []*enginetest.Pod{app("web").Namespace("other"), app("web").Namespace("other")},
			pod:       app("web").Spread(zoneKey, 2, web),
		},
		"spread of other pods": {
			nominated: []*enginetest.Pod{app("db"), app("db")},
			pod:       app("web").Spread(zoneKey, 2, web),
		},
		"spread raises the minimum": {
			nominated: []*enginetest.Pod{app("web")},
			running:   []*enginetest.Pod{app("web")},
			pod:       app("web").Spread(zoneKey, 1, web),
			others:    noSpread,
		},
		"spread with terminating pods": {
			nominated: []*enginetest.Pod{app("web").Terminate()},
			pod:       app("web").Spread(zoneKey, 1, web),
			want:      noSpread,
		},
		"spread with an empty selector": {
			nominated: []*enginetest.Pod{app("db")}, running: []*enginetest.Pod{app("db"), app("db")},
			pod: app("web").Spread(zoneKey, 1, &api.LabelSelector{}), want: noSpread,
		},
		"spread without a selector": {nominated: []*enginetest.Pod{app("db")}, pod: app("web").Spread(zoneKey, 1, nil)},
		"the first pass decides": { // the second one rejects the node for another reason
			nominated: []*enginetest.Pod{app("web").HostPort(80)},
			pod:       enginetest.MakePod("p").Affinity(zoneKey, web).AntiAffinity(zoneKey, web),
			want:      noAnti,
			others:    noAffinity,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.pod.Name == "web" {
				test.pod.Name = "p"
			}
			c := enginetest.Cluster(enginetest.MakeNode("b1").Zone("b").Run(test.running...),
				enginetest.MakeNode("a1").Zone("a").Nominate(test.nominated...), enginetest.MakeNode("a2").Zone("a"))
			f := filterOf(t, c, &test.pod.Pod, engine.FilterOptions{Explain: true})
			texts := make(map[string]string)
			for _, r := range f.Rejections {
				var reasons []string
				for _, reason := range r.Reasons {
					reasons = append(reasons, reason.Message)
				}
				for _, n := range r.Nodes {
					texts[c.Nodes[n].Name] = fmt.Sprint(reasons)
				}
			}
			if texts["a1"] != test.want || cmp.Or(texts["a2"], texts["b1"]) != test.others {
				t.Errorf("rejections: %v", texts)
			}
			if slices.Contains(f.Feasible, 1) != (test.want == "") {
				t.Errorf("feasible: %v", f.Feasible)
			}
		})
	}
}

// TestNominatedMerged checks that rejections with nominated pods join the rejections of other nodes.
func TestNominatedMerged(t *testing.T) {
	cpu := func(name string, amount int) *enginetest.Pod { return enginetest.MakePod(name).Request("cpu", amount) }
	c := enginetest.Cluster(
		enginetest.MakeNode("0").Run(cpu("r", 8000)),
		enginetest.MakeNode("1").Nominate(cpu("n", 8000)),
		enginetest.MakeNode("2").Run(cpu("s", 8000)),
		enginetest.MakeNode("3").Cordon().Nominate(cpu("m", 8000)),
	)
	f := filterOf(t, c, &cpu("p", 1000).Pod, engine.FilterOptions{})
	const want = "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu."
	if f.Message != want || len(f.Rejections) != 2 || !slices.Equal(f.Rejections[1].Nodes, []uint32{0, 1, 2}) {
		t.Errorf("%q, %+v", f.Message, f.Rejections)
	}
}

// TestNominatedNode filters for pods that are nominated to a node.
func TestNominatedNode(t *testing.T) {
	named := func(p *enginetest.Pod, names ...string) *enginetest.Pod {
		p.Template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{}}
		terms := &p.Template.Spec.NodeAffinity.Required.Terms
		for _, name := range names {
			*terms = append(*terms, api.NodeSelectorTerm{
				MatchFields: []api.Requirement{{Key: "metadata.name", Operator: api.In, Values: []string{name}}},
			})
		}
		return p
	}
	big := func(cpu int) *enginetest.Pod { return enginetest.MakePod("p").Request("cpu", cpu) }
	for name, test := range map[string]struct {
		pod        *enginetest.Pod
		candidates []uint32
		feasible   []uint32
		message    string
	}{
		"feasible":       {pod: big(1000).NominatedTo("n1"), feasible: []uint32{1}},
		"for others too": {pod: big(3000).NominatedTo("n2"), feasible: []uint32{0, 1}},
		"no candidate":   {pod: big(1000).NominatedTo("n1"), candidates: []uint32{0, 2}, feasible: []uint32{0, 2}},
		"unknown":        {pod: big(1000).NominatedTo("n9"), feasible: []uint32{0, 1, 2}},
		"infeasible with all others": {
			pod:     big(9000).NominatedTo("n1"),
			message: "0/3 nodes are available: 3 Insufficient cpu.",
		},
		"among the named":     {pod: named(big(1000).NominatedTo("n1"), "n0", "n1"), feasible: []uint32{1}},
		"not among the named": {pod: named(big(1000).NominatedTo("n1"), "n0"), feasible: []uint32{0}},
		"infeasible among the named": {
			pod:     named(big(9000).NominatedTo("n1"), "n1"),
			message: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit].",
		},
		"infeasible, and not named": {
			pod: named(big(9000).NominatedTo("n2"), "n1"),
			message: "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, " +
				"1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
		},
		"infeasible, without the node": {
			pod:     named(big(9000), "n1"),
			message: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.Cluster(enginetest.MakeNode("n0"), enginetest.MakeNode("n1"),
				enginetest.MakeNode("n2").Nominate(enginetest.MakePod("other").Request("cpu", 6000)))
			f := filterOf(t, c, &test.pod.Pod, engine.FilterOptions{Candidates: test.candidates})
			if !slices.Equal(f.Feasible, test.feasible) || f.Message != test.message {
				t.Errorf("feasible %v, message %q", f.Feasible, f.Message)
			}
			if len(f.Feasible) == 1 && c.Nodes[f.Feasible[0]].Name == test.pod.NominatedNode && len(f.Rejections) > 0 {
				t.Errorf("rejections: %+v", f.Rejections)
			}
		})
	}
}

// TestScoreWithoutNominated checks that nominated pods do not count for scores.
func TestScoreWithoutNominated(t *testing.T) {
	pod := app("web").Request("cpu", 1000)
	scores := func(nominated ...*enginetest.Pod) *verdict.Score {
		c := compile(t, enginetest.MakeNode("n0").Nominate(nominated...), enginetest.MakeNode("n1"))
		s, err := c.Score(t.Context(), &pod.Pod, engine.ScoreOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	n := app("db").Request("cpu", 6000).PreferAntiAffinity(100, hostname, enginetest.Selects("app", "web"))
	if diff := gocmp.Diff(scores(), scores(n)); diff != "" {
		t.Errorf("-without +with:\n%s", diff)
	}
}

// TestChangesNominated raises maxSkew for a pod that is nominated to a node that needs more than another.
func TestChangesNominated(t *testing.T) {
	web := func(name string) *enginetest.Pod { return enginetest.MakePod(name).Label("app", "web") }
	c := enginetest.Cluster(enginetest.MakeNode("a").Zone("a").Run(web("1"), web("2")),
		enginetest.MakeNode("b").Zone("b").Run(web("3")),
		enginetest.MakeNode("c").Zone("c").Cordon(), enginetest.MakeNode("d").Zone("d").Nominate(web("4"), web("5"), web("6")).Cordon())
	pod := web("p").Spread(zoneKey, 1, enginetest.Selects("app", "web")).NominatedTo("a")
	for _, change := range filterOf(t, c, &pod.Pod, engine.FilterOptions{Changes: true}).Changes {
		if raised := change.RaisedMaxSkew; raised != nil && raised.To == 2 && slices.Equal(change.Nodes, []uint32{1}) {
			return
		}
	}
	t.Error("no change to maxSkew 2")
}

// TestExplainNominated checks that each plugin that rejects a node with its nominated pods is listed.
func TestExplainNominated(t *testing.T) {
	n := enginetest.MakePod("n").Request("cpu", 8000).HostPort(80)
	pod := enginetest.MakePod("p").Request("cpu", 1000).HostPort(80)
	f := filterOf(t, enginetest.Cluster(enginetest.MakeNode("n0").Nominate(n)), &pod.Pod, engine.FilterOptions{Explain: true})
	if e := f.Explanation.Failing; len(e) != 2 || e[0].Plugin != verdict.NodePorts || e[1].Plugin != verdict.NodeResourcesFit {
		t.Errorf("%+v", e)
	}
}

// failing reports whether an explanation has the rejection of a node.
func failing(e *verdict.Explanation, r *verdict.Rejection) bool {
	return slices.ContainsFunc(e.Failing, func(f verdict.Rejection) bool {
		return f.Plugin == r.Plugin && f.Code == r.Code && slices.Equal(f.Reasons, r.Reasons) && slices.Contains(f.Nodes, r.Nodes[0])
	})
}

// grouped returns the number of different rejections.
func grouped(byNode []verdict.Rejection) int {
	different := make(map[string]bool)
	for _, r := range byNode {
		if r.Plugin != 0 {
			different[fmt.Sprint(r.Plugin, r.Code, r.Reasons)] = true
		}
	}
	return len(different)
}
