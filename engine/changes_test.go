package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestChanges compares the changes of the first kinds that are found with all possible ones, each verified in a cluster that is
// compiled with it. TestRemedies has the other kinds.
func TestChanges(t *testing.T) {
	kinds := make(map[string]int)
	n := cases(2000)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var stated *api.Cluster
		var pods []api.Pod
		candidates := []uint32(nil)
		if seed%2 == 0 {
			stated, pods = enginetest.Random(rng)
		} else {
			var group []enginetest.Member
			stated, group, candidates = enginetest.RandomGroup(rng)
			for _, m := range group {
				pods = append(pods, m.Pod)
			}
		}
		if seed%7 == 0 {
			enginetest.RandomNominated(rng, stated, pods)
		}
		for i := range stated.Nodes {
			n := &stated.Nodes[i]
			for j := range n.Pods {
				own := *n.Pods[j].Template
				own.Spec.Priority = rng.Int32N(3)
				n.Pods[j].Template = &own
			}
		}
		for i := range pods {
			b := &changesByHand{t, stated, &pods[i], candidates}
			if b.takes(stated, &pods[i]) != nil {
				continue
			}
			got, err := compiled(t, stated).Filter(context.Background(), &pods[i], engine.FilterOptions{
				Profile: api.Kube137(), Candidates: candidates, Changes: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			want, first := b.changes(), firstKinds(got.Changes)
			if diff := b.difference(want, first); diff != "" {
				t.Fatalf("seed %d, pod %d, %s: %s", seed, i, got.Message, diff)
			}
			for _, c := range first {
				kinds[kindOf(&c)]++
			}
		}
	}
	for _, kind := range []string{"node", "new domain", "pods", "several pods", "maxSkew", "rule", "request"} {
		if kinds[kind] == 0 && n >= 500 {
			t.Errorf("no change of kind %q: the cases no longer exercise it", kind)
		}
	}
	t.Log(kinds)
}

// firstKinds returns the changes of the kinds that changesByHand finds, in its order.
func firstKinds(changes []verdict.Change) []verdict.Change {
	var out []verdict.Change
	for _, of := range []func(*verdict.Change) bool{
		func(c *verdict.Change) bool { return c.AddedNode != nil },
		func(c *verdict.Change) bool { return c.RemovedPods != nil },
		func(c *verdict.Change) bool { return c.RaisedMaxSkew != nil },
		func(c *verdict.Change) bool { return c.PreferredRule != nil },
		func(c *verdict.Change) bool { return c.LoweredRequest != nil },
	} {
		for i := range changes {
			if of(&changes[i]) {
				out = append(out, changes[i])
			}
		}
	}
	slices.SortStableFunc(out, func(a, b verdict.Change) int { // requests are sorted by how much is lost, too
		if a.LoweredRequest == nil || b.LoweredRequest == nil {
			return 0
		}
		return compareResources(a.LoweredRequest.Resource, b.LoweredRequest.Resource)
	})
	return out
}

// compareResources orders resources as changesByHand does.
func compareResources(a, b string) int {
	rank := func(resource string) int {
		order := []string{"cpu", "memory", "ephemeral-storage"}
		if at := slices.Index(order, resource); at >= 0 {
			return at
		}
		return len(order)
	}
	return cmp.Compare(rank(a), rank(b))
}

func kindOf(c *verdict.Change) string {
	switch {
	case c.AddedNode != nil && len(c.AddedNode.NewDomainKeys) > 0:
		return "new domain"
	case c.AddedNode != nil:
		return "node"
	case len(c.RemovedPods) > 1:
		return "several pods"
	case len(c.RemovedPods) > 0:
		return "pods"
	case c.RaisedMaxSkew != nil:
		return "maxSkew"
	case c.PreferredRule != nil:
		return "rule"
	}
	return "request"
}

// difference compares two lists of changes. Of additional nodes it compares the number of new domains only, of removed
// pods their number and priority, because several sets may be minimal.
func (b *changesByHand) difference(want, got []verdict.Change) string {
	text := func(c *verdict.Change) string {
		switch {
		case c.AddedNode != nil:
			return fmt.Sprint("node with new ", len(c.AddedNode.NewDomainKeys))
		case len(c.RemovedPods) > 0:
			less, priority := b.without(c.RemovedPods)
			if n := b.takes(less, b.pod); !slices.Equal(n, c.Nodes) {
				return fmt.Sprint("without ", c.RemovedPods, " taken by ", n, " and not by ", c.Nodes)
			}
			return fmt.Sprint(len(c.RemovedPods), " pods of priority ", priority, " gone from ", c.RemovedPods[0].Node)
		case c.RaisedMaxSkew != nil:
			return fmt.Sprint("maxSkew ", *c.RaisedMaxSkew, c.Nodes)
		case c.PreferredRule != nil:
			return fmt.Sprint("rule ", *c.PreferredRule, c.Nodes)
		}
		return fmt.Sprint("request ", *c.LoweredRequest, c.Nodes)
	}
	for i := range max(len(want), len(got)) {
		w, g := "nothing", "nothing"
		if i < len(want) {
			w = text(&want[i])
		}
		if i < len(got) {
			g = text(&got[i])
		}
		if w != g {
			return fmt.Sprintf("change %d is %s, want %s", i, g, w)
		}
	}
	return ""
}

// changesByHand finds changes by trying all.
type changesByHand struct {
	t          *testing.T
	stated     *api.Cluster
	pod        *api.Pod
	candidates []uint32
}

// takes returns the first candidate that takes a pod in a cluster, in which nodes may have come at the end.
func (b *changesByHand) takes(stated *api.Cluster, pod *api.Pod) []uint32 {
	candidates := b.candidates
	if len(stated.Nodes) > len(b.stated.Nodes) {
		candidates = []uint32{uint32(len(b.stated.Nodes))}
	}
	c := compiled(b.t, stated)
	f, err := c.Filter(context.Background(), pod, engine.FilterOptions{Profile: api.Kube137(), Candidates: candidates})
	if err != nil {
		b.t.Fatal(err)
	}
	return f.Feasible[:min(1, len(f.Feasible))]
}

func (b *changesByHand) changes() []verdict.Change {
	var out []verdict.Change
	if c := b.addedNode(); c != nil {
		out = append(out, *c)
	}
	if c := b.removedPods(); c != nil {
		out = append(out, *c)
	}
	spec := &b.pod.Template.Spec
	for i := range spec.Spread {
		for to := spec.Spread[i].MaxSkew + 1; to < 200 && !spec.Spread[i].ScheduleAnyway; to++ {
			if n := b.with(func(s *api.PodSpec) { s.Spread[i].MaxSkew = to }); len(n) > 0 {
				out = append(out, verdict.Change{RaisedMaxSkew: &verdict.RaisedMaxSkew{
					Index: i, TopologyKey: spec.Spread[i].TopologyKey, From: spec.Spread[i].MaxSkew, To: to,
				}, Nodes: n})
				break
			}
		}
	}
	prefer := func(rule verdict.PodRule, change func(*api.PodSpec)) {
		if n := b.with(change); len(n) > 0 {
			out = append(out, verdict.Change{PreferredRule: &rule, Nodes: n})
		}
	}
	prefer(verdict.PodRule{Plugin: verdict.NodeAffinity}, func(s *api.PodSpec) { s.NodeSelector, s.NodeAffinity = nil, nil })
	for i, k := range spec.Spread {
		prefer(verdict.PodRule{Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: i, TopologyKey: k.TopologyKey},
			func(s *api.PodSpec) { s.Spread[i].ScheduleAnyway = true })
	}
	for i := range required(spec.PodAffinity) {
		prefer(verdict.PodRule{
			Plugin: verdict.InterPodAffinity, Rule: verdict.PodAffinity, Index: i, TopologyKey: spec.PodAffinity.Required[i].TopologyKey,
		}, func(s *api.PodSpec) { s.PodAffinity.Required = slices.Delete(s.PodAffinity.Required, i, i+1) })
	}
	for i := range required(spec.PodAntiAffinity) {
		prefer(verdict.PodRule{
			Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, Index: i,
			TopologyKey: spec.PodAntiAffinity.Required[i].TopologyKey,
		}, func(s *api.PodSpec) { s.PodAntiAffinity.Required = slices.Delete(s.PodAntiAffinity.Required, i, i+1) })
	}
	return append(out, b.lowered()...)
}

func required(a *api.PodAffinity) []api.PodAffinityTerm {
	if a == nil {
		return nil
	}
	return a.Required
}

// with returns the first feasible node for the pod with another spec. change must copy the lists that it changes.
func (b *changesByHand) with(change func(*api.PodSpec)) []uint32 {
	pod, template := *b.pod, *b.pod.Template
	pod.Template = &template
	s := &template.Spec
	s.Spread = slices.Clone(s.Spread)
	for _, a := range []**api.PodAffinity{&s.PodAffinity, &s.PodAntiAffinity} {
		if *a != nil {
			own := **a
			own.Required = slices.Clone(own.Required)
			*a = &own
		}
	}
	change(s)
	return b.takes(b.stated, &pod)
}

// lowered halves the interval between 0 and what the pod asks for, as it does with less whatever it does with more.
func (b *changesByHand) lowered() []verdict.Change {
	var out []verdict.Change
	all := requests.Pending(&b.pod.Template.Spec)
	with := func(at int, amount int64) []uint32 {
		return b.with(func(s *api.PodSpec) {
			q := slices.Clone(all)
			q[at].Amount = amount
			s.Containers = append([]api.Container{{Requests: q}}, s.Containers...)
			for i := range s.Containers[1:] {
				s.Containers[1+i].Requests = nil
			}
		})
	}
	places := make([]int, len(all))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(x, y int) int { return compareResources(all[x].Resource, all[y].Resource) })
	for _, i := range places {
		if all[i].Amount <= 1 || len(with(i, 1)) == 0 {
			continue
		}
		low, high := int64(1), all[i].Amount // high is too much
		for low+1 < high {
			if middle := (low + high) / 2; len(with(i, middle)) > 0 {
				low = middle
			} else {
				high = middle
			}
		}
		out = append(out, verdict.Change{LoweredRequest: &verdict.LoweredRequest{
			Resource: all[i].Resource, From: all[i].Amount, To: low,
		}, Nodes: with(i, low)})
	}
	return out
}

func (b *changesByHand) addedNode() *verdict.Change {
	keys := []string{"topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk", "rack"}
	best := -1
	for fresh := range 1 << len(keys) {
		var own api.Labels
		for i, key := range keys {
			if fresh>>i&1 == 1 {
				own = own.With(api.Labels{{Key: key, Value: "brand-new"}})
			}
		}
		if best >= 0 && len(own) >= best {
			continue
		}
		for like := range b.stated.Nodes {
			if b.candidates != nil && !slices.Contains(b.candidates, uint32(like)) {
				continue
			}
			n := newNodeLike(b.stated, &b.stated.Nodes[like], "brand-new")
			n.Labels = n.Labels.With(own)
			more := *b.stated
			more.Nodes = append(slices.Clone(more.Nodes), n)
			if len(b.takes(&more, b.pod)) > 0 {
				best = len(own)
				break
			}
		}
	}
	if best < 0 {
		return nil
	}
	return &verdict.Change{AddedNode: &verdict.AddedNode{NewDomainKeys: keys[:best]}}
}

// newNodeLike returns a node like another one, with a name that is no value of a label so far: without the other node's state and
// images, and with the pods of its DaemonSets.
func newNodeLike(c *api.Cluster, like *api.Node, name string) api.Node {
	n := *like
	n.Name, n.Nominated, n.Images, n.Unschedulable, n.Labels = name, nil, nil, false, slices.Clone(n.Labels)
	for i := range n.Labels {
		if n.Labels[i].Value == like.Name {
			n.Labels[i].Value = n.Name
		}
	}
	n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t api.Taint) bool { return nodestate.Has(t.Key) })
	n.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(p api.Pod) bool {
		return p.Template.Controller.Kind != api.DaemonSet || p.Terminating
	})
	n.PodCounts = slices.DeleteFunc(slices.Clone(n.PodCounts), func(p api.PodCount) bool {
		return c.Templates[p.Template].Controller.Kind != api.DaemonSet || p.Terminating
	})
	return n
}

// without returns the cluster without some pods, and the highest of their priorities.
func (b *changesByHand) without(gone []verdict.PodReference) (*api.Cluster, int32) {
	less, priority := *b.stated, int32(-1)
	less.Nodes = slices.Clone(less.Nodes)
	for _, p := range gone {
		n := &less.Nodes[p.Node]
		at := slices.IndexFunc(n.Pods, func(q api.Pod) bool { return q.Name == p.Name })
		priority = max(priority, n.Pods[at].Template.Spec.Priority)
		n.Pods = slices.Delete(slices.Clone(n.Pods), at, at+1)
	}
	return &less, priority
}

func (b *changesByHand) removedPods() *verdict.Change {
	var best *verdict.Change
	var bestPriority int32
	for i := range b.stated.Nodes {
		pods := b.stated.Nodes[i].Pods
		for gone := 1; gone < 1<<len(pods); gone++ {
			var left []verdict.PodReference
			for j, p := range pods {
				if gone>>j&1 == 1 {
					left = append(left, verdict.PodReference{Name: p.Name, Node: uint32(i), Count: 1})
				}
			}
			less, priority := b.without(left)
			if best != nil && cmp.Or(cmp.Compare(len(left), len(best.RemovedPods)), cmp.Compare(priority, bestPriority)) >= 0 {
				continue
			}
			if n := b.takes(less, b.pod); len(n) > 0 {
				best, bestPriority = &verdict.Change{RemovedPods: left, Nodes: n}, priority
			}
		}
	}
	return best
}
