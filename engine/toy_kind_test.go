package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// license is a resource that NodeResourcesFit ignores. Pods with a label request it.
const license = "example.com/license"

// asNeed returns the plugin of enginetest.Licenses, with a second Fit instead of a kind of its own.
func asNeed(l enginetest.Licenses) *plugin.Plugin {
	return &plugin.Plugin{
		Name:   l.Name,
		Labels: []string{"app"},
		Compile: func(c *plugin.Cycle, s *rule.Set) {
			if amount := c.Pod.Usage().Of(license); l.Binds(c.State, c.Pod.Shape) {
				s.Fit = s.Fit.And(rule.NewNeed(c.State, l.Name, enginetest.NoLicense, api.Quantity{Resource: license, Amount: amount}))
			}
		},
	}
}

// asExclusion returns the plugin of enginetest.Licenses with one license in a domain, with an exclusion instead of a kind of its
// own.
func asExclusion(l enginetest.Licenses) *plugin.Plugin {
	exclusion := excluding(enginetest.LicensesLabel, rule.Exclusion{
		ID: verdict.PodRule{Plugin: l.Name, TopologyKey: l.Key}, Reason: enginetest.NoLicense,
	})
	compile := exclusion.Compile
	exclusion.Labels = append(exclusion.Labels, "app")
	exclusion.Compile = func(c *plugin.Cycle, s *rule.Set) {
		if l.Binds(c.State, c.Pod.Shape) {
			compile(c, s)
		}
	}
	return exclusion
}

// TestToyKindEverywhere adds a kind of rule, of which no package but enginetest knows. Every answer must equal the answer with a
// plugin whose rules are of other kinds: needs of a resource, of which pods use one or two, or exclusions.
func TestToyKindEverywhere(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	rejected := make(map[string]int)
	for seed := range uint64(cases(300)) {
		rng := rand.New(rand.NewPCG(seed, 36))
		l, other := enginetest.Licenses{Name: keepOut, Most: 1}, asExclusion
		switch seed % 3 {
		case 0:
			l.Most, other = int64(2+rng.IntN(3)), asNeed
		case 1:
			l.Key = zone
		}
		if rng.IntN(2) == 0 {
			l.App = "web"
		}
		stated, pods := enginetest.RandomShared(rng)
		if seed%4 < 2 {
			enginetest.RandomFields(rng, stated, pods)
		}
		addGrades(rng, stated)
		licensed := &licensing{rng: rng, most: l.Most, templates: make(map[*api.PodTemplate]*api.PodTemplate)}
		licensed.cluster(stated)
		for i := range pods {
			licensed.pod(&pods[i])
		}
		c := compiled(t, stated)
		if seed%2 == 1 { // of a derived cluster
			change, after := randomChange(rng, stated, 0)
			licensed.change(change)
			licensed.cluster(after)
			stated = after
			var err error
			if c, err = c.With(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		own, known := c.WithPlugins(l.Plugin()), c.WithPlugins(other(l))
		for what, ask := range toyQuestions(t.Context(), rng, stated, pods) {
			if what == "provision" { // a search that goes elsewhere if less is proven
				testToyProvision(t, rng, l, stated, pods, own)
				continue
			}
			of := fmt.Sprintf("seed %d, %+v, %s", seed, l, what)
			if rejected[what] += 0; changesAnswer(t, of, ask, known, own, c, whateverKind, proofs) {
				rejected[what]++
			}
		}
	}
	for what, n := range rejected {
		if n == 0 && allCases() {
			t.Errorf("%s: the kind changes no answer", what)
		}
	}
}

// testToyProvision counts the licenses in the domains that Provision places pods in.
func testToyProvision(t *testing.T, rng *rand.Rand, l enginetest.Licenses, stated *api.Cluster, pods []api.Pod, c *engine.Cluster) {
	t.Helper()
	var queue []engine.Pending
	for i := range pods {
		queue = append(queue, engine.Pending{Pod: pods[i], Count: 1 + rng.IntN(4)})
	}
	template := stated.Nodes[rng.IntN(len(stated.Nodes))]
	template.Name, template.Nominated = "new", nil
	p, err := c.Provision(t.Context(), queue, engine.ProvisionOptions{
		Profile: api.Kube137(), Templates: []engine.NodeTemplate{{Node: template, Price: 3, Most: 5}}, MaxNodes: 5, Steps: 2000,
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes := slices.Concat(stated.Nodes, slices.Repeat([]api.Node{template}, len(p.Names)))
	domains, used := make([]string, len(nodes)), make(map[string]int)
	for i := range nodes {
		n := &nodes[i]
		if domains[i] = fmt.Sprint(i); l.Key != "" {
			class := &api.NodeClass{}
			if n.Class != nil {
				class = n.Class
			}
			domains[i], _ = n.Over(&class.NodeSpec).Labels.Get(l.Key)
		}
		for j := range n.Pods {
			used[domains[i]] += licensesOf(n.Pods[j].Template)
		}
		for _, of := range n.PodCounts {
			used[domains[i]] += int(of.Count) * licensesOf(stated.Templates[of.Template])
		}
	}
	for e := range p.Place.Placements {
		own := licensesOf(queue[e].Pod.Template)
		for _, n := range p.Place.Placements[e].Nodes {
			used[domains[n]] += own
		}
	}
	if l.App != "" {
		return // pods of other apps may have come later
	}
	for e := range p.Place.Placements {
		for _, n := range p.Place.Placements[e].Nodes {
			if licensesOf(queue[e].Pod.Template) > 0 && domains[n] != "" && used[domains[n]] > int(l.Most) {
				t.Errorf("%d licenses are used on node %d", used[domains[n]], n)
			}
		}
	}
}

func licensesOf(t *api.PodTemplate) int {
	value, _ := t.Labels.Get(enginetest.LicensesLabel)
	n, _ := strconv.Atoi(value)
	return n
}

// whateverKind leaves out what differs between kinds: resources and topology keys of the plugin's rules, the order of rules, and the
// order of pods to remove.
var whateverKind = cmp.Options{
	cmpopts.AcyclicTransformer("rules", func(rules []verdict.PodRule) []verdict.PodRule {
		out := slices.Clone(rules)
		for i := range out {
			if out[i].Plugin == keepOut {
				out[i].Resource, out[i].TopologyKey = "", ""
			}
		}
		return sorted(out)
	}),
	cmpopts.AcyclicTransformer("pods", func(pods []verdict.PodReference) []verdict.PodReference { return sorted(slices.Clone(pods)) }),
}

func sorted[T any](list []T) []T {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)) })
	return list
}

// proofs leaves out how many steps a search took, and the victims on any nodes unless both searches proved that no others are
// cheaper. About a kind of a plugin's own a search proves less: it looks at the pods of more nodes.
var proofs = cmp.Options{
	cmp.FilterValues(func(a, b *verdict.AcrossNodes) bool {
		return a != nil && b != nil
	}, cmp.Comparer(func(a, b *verdict.AcrossNodes) bool {
		return !a.Proven || !b.Proven || costOf(a.Candidate) == costOf(b.Candidate)
	})),
	cmpopts.IgnoreFields(verdict.PodGroupPlacement{}, "Steps", "Message", "Conflict", "Minimal"),
}

// costOf returns the number of violated budgets and of victims; -1 without a candidate.
func costOf(c *verdict.Candidate) [2]int {
	if c == nil {
		return [2]int{-1, -1}
	}
	pods := 0
	for _, v := range c.Victims {
		pods += v.Count
	}
	return [2]int{c.Violations, pods}
}

// licensing gives half of the templates licenses: a label with their number, and a request of as many.
type licensing struct {
	rng       *rand.Rand
	most      int64
	templates map[*api.PodTemplate]*api.PodTemplate
}

func (l *licensing) template(t *api.PodTemplate) *api.PodTemplate {
	if known, ok := l.templates[t]; ok {
		return known
	}
	out := *t
	if l.rng.IntN(2) == 0 {
		count := 1 + l.rng.IntN(min(2, int(l.most)))
		out.Labels = out.Labels.With(api.Labels{{Key: enginetest.LicensesLabel, Value: strconv.Itoa(count)}})
		container := api.Container{Requests: enginetest.Resources(license, count)}
		out.Spec.Containers = append([]api.Container{container}, out.Spec.Containers...)
	}
	l.templates[t], l.templates[&out] = &out, &out
	return &out
}

// pod has no status of its resources, which kube-scheduler may count instead of the request.
func (l *licensing) pod(p *api.Pod) { p.Template, p.ResourceStatus = l.template(p.Template), nil }

func (l *licensing) node(n *api.Node) {
	n.NodeSpec = n.Over(&api.NodeSpec{Allocatable: enginetest.Resources(license, int(l.most))})
	for i := range n.Pods {
		l.pod(&n.Pods[i])
	}
	for i := range n.Nominated {
		l.pod(&n.Nominated[i])
	}
}

func (l *licensing) cluster(c *api.Cluster) {
	for i := range c.Templates {
		c.Templates[i] = l.template(c.Templates[i])
	}
	for i := range c.Nodes {
		l.node(&c.Nodes[i])
	}
}

func (l *licensing) change(c *api.Delta) {
	for i := range c.Templates {
		c.Templates[i].Template = l.template(c.Templates[i].Template)
	}
	for i := range c.Replaced {
		l.node(&c.Replaced[i].Node)
	}
	for i := range c.Added {
		l.node(&c.Added[i])
	}
}
