package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// grade is a field that only this test adds to nodes: the value of a label that no rule of the other plugins reads.
var grade = &cluster.Field[string]{
	Of: func(class *api.NodeClass, n *api.Node) string {
		own, _ := n.Over(&class.NodeSpec).Labels.Get("grade")
		return own
	},
	Key:   func(b []byte, v string) []byte { return append(b, v...) },
	Clone: func(v string) string { return string([]byte(v)) },
	Like:  func(v string) string { return v },
}

// graded returns a plugin that keeps pods of db on nodes of grade db, and others off them. Pods of cache go anywhere.
func graded(nodes func(s *cluster.State, grade string) nodeset.Set) *plugin.Plugin {
	return &plugin.Plugin{
		Name:   keepOut,
		Static: true,
		Labels: []string{"app"},
		Compile: func(c *plugin.Cycle, s *rule.Set) {
			app, _ := c.Pod.Template.Labels.Get("app")
			rejected := nodeset.New(c.State.Len())
			switch app {
			case "db":
				rejected = nodeset.Full(c.State.Len()).Minus(nodes(c.State, "db"))
			case "web":
				rejected.Or(nodes(c.State, "db"))
			}
			s.Static = append(s.Static, rule.Static{
				ID: verdict.PodRule{Plugin: keepOut}, Code: verdict.UnschedulableAndUnresolvable,
				Reason: verdict.Reason{Message: "node(s) had another grade"}, Rejected: rejected,
			})
		},
	}
}

// byField and byLabel read the grade of nodes from the field, and from the label.
func byField(s *cluster.State, of string) nodeset.Set {
	values := cluster.Values(s.Cluster, grade)
	table := make([]uint8, len(values))
	for i, v := range values {
		if v == of {
			table[i] = 1
		}
	}
	return cluster.Having(s.Cluster, grade, table)
}

func byLabel(s *cluster.State, of string) nodeset.Set {
	nodes, key := nodeset.New(s.Len()), s.Symbols.Intern("grade")
	for n := range uint32(s.Len()) {
		if value, has := s.Label(n, key); has && s.Symbols.Name(value) == of {
			nodes.Add(n)
		}
	}
	return nodes
}

// TestToyFieldEverywhere adds a field of nodes, and a plugin that reads it. Every answer must equal the answer with a plugin that
// reads the label which the field is taken from.
func TestToyFieldEverywhere(t *testing.T) {
	rejected := make(map[string]int)
	for seed := range uint64(cases(200)) {
		rng := rand.New(rand.NewPCG(seed, 33))
		stated, pods := enginetest.RandomShared(rng)
		if seed%4 < 2 {
			enginetest.RandomFields(rng, stated, pods)
		}
		addGrades(rng, stated)
		field, err := engine.CompileWith(t.Context(), stated, grade)
		if err != nil {
			t.Fatal(err)
		}
		label := compiled(t, stated)
		if seed%2 == 1 { // of derived clusters
			change, after := randomChange(rng, stated, 0)
			gradeAll(rng, change.Added, change.Classes)
			if stated = after; field.Bytes() < label.Bytes() {
				t.Errorf("seed %d: %d bytes with a field more, %d without", seed, field.Bytes(), label.Bytes())
			}
			if field, err = field.With(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			if label, err = label.With(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		questions := toyQuestions(t.Context(), rng, stated, pods)
		field, label = field.WithPlugins(graded(byField)), label.WithPlugins(graded(byLabel))
		for what, ask := range questions {
			if rejected[what] += 0; changesAnswer(t, fmt.Sprintf("seed %d, %s", seed, what), ask, label, field, compiled(t, stated)) {
				rejected[what]++
			}
		}
	}
	for what, n := range rejected {
		if n == 0 && allCases() {
			t.Errorf("%s: the field changes no answer", what)
		}
	}
}

// changesAnswer compares the answers of two clusters to a question, and reports whether the answer of a third one differs.
func changesAnswer(
	t *testing.T, of string, ask func(*engine.Cluster) (any, error), known, own, third *engine.Cluster, o ...cmp.Option,
) bool {
	t.Helper()
	want, err := ask(known)
	if err != nil {
		t.Fatal(of, err)
	}
	got, err := ask(own)
	if diff := cmp.Diff(want, got, o...); diff != "" || err != nil {
		t.Fatalf("%s: %v (-known +own):\n%s", of, err, diff)
	}
	without, err := ask(third)
	if err != nil {
		t.Fatal(of, err)
	}
	return !cmp.Equal(want, without)
}

// addGrades gives some nodes and classes a grade, and the pods of templates a controller that creates them again.
func addGrades(rng *rand.Rand, c *api.Cluster) {
	var classes []api.IndexedClass
	for i := range c.Classes {
		classes = append(classes, api.IndexedClass{Index: i, Class: c.Classes[i]})
	}
	gradeAll(rng, c.Nodes, classes)
	for i, t := range c.Templates {
		t.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: fmt.Sprint("owner-", i)}
	}
}

func gradeAll(rng *rand.Rand, nodes []api.Node, classes []api.IndexedClass) {
	give := func(s *api.NodeSpec, share int) {
		if rng.IntN(share) == 0 {
			s.Labels = s.Labels.With(api.Labels{{Key: "grade", Value: []string{"web", "db", "db"}[rng.IntN(3)]}})
		}
	}
	for i := range nodes {
		give(&nodes[i].NodeSpec, 3)
	}
	for i := range classes {
		give(&classes[i].Class.NodeSpec, 2)
	}
}

// toyQuestions returns one question of each kind.
func toyQuestions(ctx context.Context, rng *rand.Rand, stated *api.Cluster, pods []api.Pod) map[string]func(*engine.Cluster) (any, error) {
	profile := api.Kube137()
	profile.IgnoredResources = []string{license}
	pod := pods[0]
	high := *pod.Template
	high.Spec.Priority = 1000
	preemptor := api.Pod{Name: "preemptor", Template: &high, TemplateIndex: -1}
	large := high
	large.Spec.Containers = append(slices.Clone(high.Spec.Containers), api.Container{Requests: enginetest.Resources("cpu", 1500)})
	big := api.Pod{Name: "preemptor", Template: &large, TemplateIndex: -1}
	var queue []engine.Pending
	for i := range pods {
		queue = append(queue, engine.Pending{Pod: pods[i], Count: 1 + rng.IntN(4)})
	}
	first, seed := uint32(rng.IntN(len(stated.Nodes))), rng.Uint64N(2)
	template := stated.Nodes[rng.IntN(len(stated.Nodes))]
	template.Name, template.Nominated = "new", nil
	templates := []engine.NodeTemplate{{Node: template, Slices: newSlices(rng, stated), Price: 3, Most: 5}}
	var priced []engine.PricedNode
	for i := range stated.Nodes {
		priced = append(priced, engine.PricedNode{Node: uint32(i), Price: int64(1 + i%4)})
	}
	group := []engine.PodGroup{{Name: "default/group", Entries: []int{0}, Minimum: 1}}
	place := func(o engine.PlaceOptions) func(*engine.Cluster) (any, error) {
		return func(c *engine.Cluster) (any, error) {
			o := o
			o.Profile, o.Seed = profile, seed
			return value(c.Place(ctx, queue, o))
		}
	}
	drain := func(o engine.DrainOptions) func(*engine.Cluster) (any, error) {
		return func(c *engine.Cluster) (any, error) {
			var all []verdict.Drain
			o := o
			o.Profile, o.Moves, o.Force, o.DeleteEmptyDirData = profile, true, true, true
			sum, err := c.Drain(ctx, o, func(d *verdict.Drain) error { all = append(all, *d); return nil })
			return []any{all, sum}, err
		}
	}
	whatIf := func(s engine.Scenario, o engine.WhatIfOptions) func(*engine.Cluster) (any, error) {
		return func(c *engine.Cluster) (any, error) {
			s, o := s, o
			s.Queue, o.Profile = queue, profile
			return value(c.WhatIf(ctx, &s, o))
		}
	}
	return map[string]func(*engine.Cluster) (any, error){
		"filter": func(c *engine.Cluster) (any, error) {
			return value(c.Filter(ctx, &pod, engine.FilterOptions{Profile: profile, Explain: true}))
		},
		"changes": func(c *engine.Cluster) (any, error) {
			return value(c.Filter(ctx, &preemptor, engine.FilterOptions{Profile: profile, Changes: true, Candidates: []uint32{first}}))
		},
		"preempt": func(c *engine.Cluster) (any, error) {
			return value(c.Filter(ctx, &big, engine.FilterOptions{Profile: profile, Preempt: &engine.PreemptOptions{All: true}}))
		},
		"victims on any nodes": func(c *engine.Cluster) (any, error) {
			o := engine.FilterOptions{Profile: profile, Preempt: &engine.PreemptOptions{AcrossSteps: 5000}}
			large, err := c.Filter(ctx, &big, o)
			if err != nil {
				return nil, err
			}
			small, err := c.Filter(ctx, &preemptor, o)
			return []any{large, small}, err
		},
		"score": func(c *engine.Cluster) (any, error) {
			return value(c.Score(ctx, &pod, engine.ScoreOptions{Profile: profile, Rejections: true}))
		},
		"place":       place(engine.PlaceOptions{Explain: true, Changes: true}),
		"place, scan": place(engine.PlaceOptions{Scan: true}),
		"board":       place(engine.PlaceOptions{}.WithBoard()),
		"queue":       place(engine.PlaceOptions{Scheduler: true}),
		"queue that preempts": func(c *engine.Cluster) (any, error) {
			queue := slices.Clone(queue)
			for i := range queue {
				template := *queue[i].Pod.Template
				template.Spec.Priority = int32(10 * (len(queue) - i))
				queue[i].Pod.Template, queue[i].Pod.TemplateIndex, queue[i].Count = &template, -1, 4
			}
			return value(c.Place(ctx, queue, engine.PlaceOptions{Profile: profile, Seed: seed, Scheduler: true}))
		},
		"group that preempts": func(c *engine.Cluster) (any, error) {
			of := []engine.Pending{{Pod: api.Pod{Template: &high, TemplateIndex: -1}, Count: 2}}
			group := engine.PodGroup{Name: "default/group", Entries: []int{0}, Minimum: 2, Priority: &high.Spec.Priority}
			return value(c.Place(ctx, of, engine.PlaceOptions{
				Profile: profile, Seed: seed, Scheduler: true, Preempt: true, Groups: []engine.PodGroup{group},
			}))
		},
		"group":       place(engine.PlaceOptions{Groups: group}),
		"jointly":     place(engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "default/group", Entries: []int{0}, Minimum: 1, Joint: true}}}),
		"drain":       drain(engine.DrainOptions{}),
		"largest set": drain(engine.DrainOptions{Mode: engine.DrainLargestSet, Steps: 500}),
		"removed":     whatIf(engine.Scenario{Removed: []uint32{first}, Requeue: true}, engine.WhatIfOptions{}),
		"evicted":     whatIf(engine.Scenario{Evictions: []engine.NodeEvictions{{Node: first, Drained: true}}}, engine.WhatIfOptions{Scheduler: true}),
		"cordoned":    whatIf(engine.Scenario{Cordoned: []uint32{first}}, engine.WhatIfOptions{}),
		"fit": func(c *engine.Cluster) (any, error) {
			return value(c.Fit(ctx, queue[:1], engine.FitOptions{Profile: profile, Units: 50, Changes: true}))
		},
		"provision": func(c *engine.Cluster) (any, error) {
			return value(c.Provision(ctx, queue, engine.ProvisionOptions{Profile: profile, Templates: templates, MaxNodes: 5, Steps: 2000}))
		},
		"consolidate": func(c *engine.Cluster) (any, error) {
			return value(c.Consolidate(ctx, engine.ConsolidateOptions{
				Profile: profile, Candidates: priced, Templates: templates, MaxActions: 2, MaxNodes: 2, Steps: 2000,
			}))
		},
		"scale down": func(c *engine.Cluster) (any, error) {
			return value(c.ScaleDown(ctx, &pod, engine.ScaleDownOptions{Profile: profile, Selector: &api.LabelSelector{}, Replicas: 1}))
		},
	}
}

// newSlices returns the devices of new nodes of a cluster, if other nodes have some.
func newSlices(rng *rand.Rand, stated *api.Cluster) []api.ResourceSlice {
	if len(stated.Devices.Slices) == 0 {
		return nil
	}
	return []api.ResourceSlice{enginetest.RandomSlice(rng, "slice", "new")}
}

func value[T any](v T, err error) (any, error) { return v, err }

// TestToyFieldOfCopies has nodes that differ in the field alone, and a pod that only a copy of the second one takes. Pods keep it off both.
func TestToyFieldOfCopies(t *testing.T) {
	full := func(name string) *enginetest.Node {
		return enginetest.MakeNode(name).Allocate("cpu", 1000, "pods", 10).Run(enginetest.MakePod("on-"+name).Label("app", "other"))
	}
	pod := enginetest.MakePod("p").Label("app", "db").AntiAffinity("kubernetes.io/hostname", enginetest.Selects("app", "other"))
	p := graded(byField)
	p.Static = false // it may have other rules
	c, err := engine.CompileWith(t.Context(), enginetest.Cluster(full("a"), full("b").Label("grade", "db")), grade)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.WithPlugins(p).Filter(t.Context(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Changes: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.Changes, func(c verdict.Change) bool { return c.AddedNode != nil && c.AddedNode.Like == 1 }) {
		t.Errorf("changes %+v, want a node like b", f.Changes)
	}
}
