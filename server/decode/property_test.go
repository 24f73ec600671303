package decode_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// fill sets fields of a message at random, with values that are malformed as often as not.
func fill(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if depth == 0 && f.Message() != nil || !rapid.Bool().Draw(t, string(f.Name())) {
			continue
		}
		n := rapid.IntRange(1, 3)
		switch {
		case f.IsMap():
			for range n.Draw(t, "entries") {
				key := value(t, f.MapKey()).MapKey()
				m.Mutable(f).Map().Set(key, value(t, f.MapValue()))
			}
		case f.IsList():
			list := m.Mutable(f).List()
			for range n.Draw(t, "elements") {
				if f.Message() != nil {
					fill(t, list.AppendMutable().Message(), depth-1)
				} else {
					list.Append(value(t, f))
				}
			}
		case f.Message() != nil:
			fill(t, m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, value(t, f))
		}
	}
}

func value(t *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32Range(0, 5).Draw(t, "enum")))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32Range(-1, 100).Draw(t, "int32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.OneOf(
			rapid.Int64Range(-1, 10), rapid.Just(int64(math.MaxInt64)), rapid.Int64(),
		).Draw(t, "int64"))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32Range(0, 3).Draw(t, "uint32"))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "uint64"))
	default:
		words := []string{"", "a", "b", "zone", "metadata.name", "kube-1.37", "5", "-", "cpu", "example.com/gpu"}
		return protoreflect.ValueOfString(rapid.SampledFrom(words).Draw(t, "string"))
	}
}

// Whatever the request: it is not changed, it is judged alike twice, and what is let through keeps the invariants and
// suits the engine.
func TestRandomRequests(t *testing.T) {
	decoded := 0
	rapid.Check(t, func(t *rapid.T) {
		r := &stowagev1.PlaceRequest{}
		if rapid.Bool().Draw(t, "sound base") {
			r = request()
			part := rapid.SampledFrom([]proto.Message{
				cluster(r).Nodes[1], cluster(r).Nodes[2], cluster(r).Namespaces[0], cluster(r).WorkloadSelectors[0],
				cluster(r).Nodes[0].Pods[0], cluster(r).Nodes[0].Pods[1], cluster(r).PodDisruptionBudgets[0],
				spec(r).Containers[0], spec(r).Tolerations[1], spec(r).TopologySpreadConstraints[0], r.Queue[1], r.GetContext().GetProfile(),
			}).Draw(t, "part")
			fill(t, part.ProtoReflect(), rapid.IntRange(0, 2).Draw(t, "depth"))
		} else {
			fill(t, r.ProtoReflect(), 8)
		}
		before := proto.Clone(r)
		c, err := decode.Place(r)
		if !proto.Equal(before, r) {
			t.Error("the request was changed")
		}
		again, errAgain := decode.Place(r)
		if diff := cmp.Diff(c, again, untuned); diff != "" {
			t.Errorf("decoded differently the second time:\n%s", diff)
		}
		if diff := cmp.Diff(err, errAgain); diff != "" {
			t.Errorf("judged differently the second time:\n%s", diff)
		}
		if err != nil {
			var e *decode.Error
			if !errors.As(err, &e) || len(e.Violations) == 0 {
				t.Fatalf("error %v has no violations", err)
			}
			return
		}
		decoded++
		checkCluster(t, c.Cluster)
		for i := range c.Queue {
			checkPod(t, c.Cluster, &c.Queue[i].Pod)
			if c.Queue[i].Count < 0 {
				t.Errorf("queue[%d].Count is %d", i, c.Queue[i].Count)
			}
		}
		checkCandidates(t, c.Cluster, c.Options.Candidates)
		checkProfile(t, c.Options.Profile)
		compiled, err := engine.Compile(context.Background(), c.Cluster)
		if err != nil {
			t.Fatalf("the engine fails: %v", err)
		}
		placed, err := compiled.Place(context.Background(), c.Queue, c.Options)
		if err != nil || len(placed.Placements) != len(c.Queue) {
			t.Fatalf("the engine fails: %v of %d, %v", placed, len(c.Queue), err)
		}
	})
	if decoded == 0 && !testing.Short() { // of few requests there may be none
		t.Error("no request was let through, so no invariant was checked")
	}
}

// fataler is *testing.T or *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkCluster(t fataler, c *api.Cluster) {
	t.Helper()
	names := make(map[string]bool)
	for i := range c.Templates {
		checkTemplate(t, c.Templates[i])
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Name == "" || names[n.Name] {
			t.Fatalf("node %d is called %q, which is empty or not unique", i, n.Name)
		}
		names[n.Name] = true
		checkLabels(t, n.Labels)
		checkResources(t, n.Allocatable)
		for _, p := range n.PodCounts {
			if p.Template < 0 || p.Template >= len(c.Templates) || p.Count < 1 {
				t.Fatalf("node %d has the pod count %v", i, p)
			}
		}
		for _, p := range slices.Concat(n.Pods, n.Nominated) {
			checkPod(t, c, &p)
			if p.StartTime < 0 || p.Preempted && !p.Terminating {
				t.Fatalf("pod %q of node %d started at %d, preempted: %t", p.Name, i, p.StartTime, p.Preempted)
			}
			if p.Template.Spec.NodeName != "" || p.NominatedNode != "" {
				t.Fatalf("pod %q of node %d has a node name", p.Name, i)
			}
		}
		nominated := make(map[string]bool)
		for _, p := range n.Nominated {
			name := p.Template.Namespace + "/" + p.Name
			if p.Name == "" || nominated[name] || p.StartTime != 0 || p.Preempted {
				t.Fatalf("%q is nominated to node %d without a name or twice", name, i)
			}
			nominated[name] = true
		}
	}
	namespaces := make(map[string]bool)
	for _, n := range c.Namespaces {
		if n.Name == "" || namespaces[n.Name] {
			t.Fatalf("namespace %q is empty or not unique", n.Name)
		}
		namespaces[n.Name] = true
		checkLabels(t, n.Labels)
	}
	budgets := make(map[[2]string]bool)
	for i, p := range c.Budgets {
		id := [2]string{p.Namespace, p.Name}
		ordered := slices.IsSorted(p.Disrupted) && len(slices.Compact(slices.Clone(p.Disrupted))) == len(p.Disrupted)
		if p.Namespace == "" || p.Name == "" || budgets[id] || slices.Contains(p.Disrupted, "") || !ordered {
			t.Fatalf("budget %v", p)
		}
		budgets[id] = true
		if i > 0 && slices.Compare([]string{c.Budgets[i-1].Namespace, c.Budgets[i-1].Name}, id[:]) > 0 {
			t.Fatalf("budgets %v and %v are not in order", c.Budgets[i-1], p)
		}
	}
}

func checkPod(t fataler, c *api.Cluster, p *api.Pod) {
	t.Helper()
	switch {
	case p.Template == nil:
		t.Fatalf("pod %q has no template", p.Name)
	case p.TemplateIndex == -1:
		checkTemplate(t, p.Template)
	case p.TemplateIndex < 0 || p.TemplateIndex >= len(c.Templates) || p.Template != c.Templates[p.TemplateIndex]:
		t.Fatalf("pod %q has template index %d, and another template", p.Name, p.TemplateIndex)
	}
	checkLabels(t, p.Labels)
	if s := p.ResourceStatus; s != nil {
		checkResources(t, s.Allocated, s.Actuated)
		for _, c := range s.Containers {
			checkResources(t, c.Allocated, c.Actuated)
		}
	}
}

func checkTemplate(t fataler, p *api.PodTemplate) {
	t.Helper()
	if p.Namespace == "" {
		t.Fatalf("a template has no namespace")
	}
	checkLabels(t, p.Labels)
	s := &p.Spec
	checkLabels(t, s.NodeSelector)
	checkResources(t, s.Requests, s.Overhead)
	for _, c := range slices.Concat(s.Containers, s.InitContainers) {
		checkResources(t, c.Requests)
		for _, port := range c.HostPorts {
			if port.Port < 1 || port.Port > 65535 {
				t.Fatalf("host port %d", port.Port)
			}
		}
	}
	checkNodeAffinity(t, s.NodeAffinity)
	checkSpread(t, s.Spread)
}

func checkNodeAffinity(t fataler, a *api.NodeAffinity) {
	t.Helper()
	if a == nil {
		return
	}
	var terms []api.NodeSelectorTerm
	if a.Required != nil {
		terms = slices.Clone(a.Required.Terms)
	}
	for _, p := range a.Preferred {
		terms = append(terms, p.Preference)
	}
	for _, term := range terms {
		for _, f := range term.MatchFields {
			if f.Key != "metadata.name" || f.Operator != api.In && f.Operator != api.NotIn || len(f.Values) != 1 {
				t.Fatalf("match field %v", f)
			}
		}
	}
}

func checkSpread(t fataler, constraints []api.TopologySpreadConstraint) {
	t.Helper()
	for _, c := range constraints {
		if c.MaxSkew < 1 || c.MinDomains < 1 || c.TopologyKey == "" {
			t.Fatalf("spread constraint %v", c)
		}
	}
}

func checkLabels(t fataler, l api.Labels) {
	t.Helper()
	for i := 1; i < len(l); i++ {
		if l[i-1].Key >= l[i].Key {
			t.Fatalf("labels are not sorted or not unique: %v", l)
		}
	}
}

func checkResources(t fataler, all ...api.Resources) {
	t.Helper()
	for _, r := range all {
		sorted := slices.IsSortedFunc(r, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
		for i := range r {
			if !sorted || r[i].Amount < 0 || i > 0 && r[i].Resource == r[i-1].Resource {
				t.Fatalf("resources %v", r)
			}
		}
	}
}

func checkCandidates(t fataler, c *api.Cluster, candidates []uint32) {
	t.Helper()
	for i, n := range candidates {
		if int(n) >= len(c.Nodes) || i > 0 && candidates[i-1] >= n {
			t.Fatalf("candidates %v of %d nodes", candidates, len(c.Nodes))
		}
	}
}

func checkProfile(t fataler, p *api.Profile) {
	t.Helper()
	w := p.Weights
	least := min(w.TaintToleration, w.NodeAffinity, w.NodeResourcesFit, w.PodTopologySpread, w.InterPodAffinity,
		w.BalancedAllocation, w.ImageLocality)
	if least < 0 || len(p.Scoring.Resources) == 0 || len(p.BalancedResources) == 0 {
		t.Fatalf("profile %+v", p)
	}
	if p.Scoring.Type == api.RequestedToCapacityRatio && len(p.Scoring.Shape) == 0 {
		t.Fatalf("no shape")
	}
	for i := 1; i < len(p.Scoring.Shape); i++ {
		if p.Scoring.Shape[i-1].Utilization >= p.Scoring.Shape[i].Utilization {
			t.Fatalf("shape %v", p.Scoring.Shape)
		}
	}
	checkNodeAffinity(t, p.AddedAffinity)
	checkSpread(t, p.DefaultSpread)
}
