package decode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// split returns a cluster's nodes, and the rest.
func split(c *stowagev1.Cluster) (nodes, rest *stowagev1.Cluster) {
	rest = proto.CloneOf(c)
	rest.Nodes = nil
	return &stowagev1.Cluster{Nodes: c.Nodes}, rest
}

// withEverything is a cluster with classes, templates, namespaces and workload selectors.
func withEverything(nodes int) *stowagev1.Cluster {
	c := bigcluster.Compact(bigcluster.New(nodes))
	more := request().GetContext().GetCluster()
	c.Namespaces, c.WorkloadSelectors = more.Namespaces, more.WorkloadSelectors
	c.Nodes[nodes-1].Pods = []*stowagev1.Pod{{Name: "named", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 3}}}
	return c
}

func inline(t testing.TB, of *decode.Nodeless, pieces wire.Pieces) *decode.Snapshot {
	r := decode.NewInline(context.Background(), of)
	r.Part("context.cluster", pieces)
	if err := r.Err(); err != nil {
		t.Error(err)
		return nil
	}
	return r.Cluster()
}

func decisions(t testing.TB, c *decode.Snapshot) (all []any) {
	for _, i := range []int{2, 7, 12} {
		pod := &api.Pod{TemplateIndex: i, Template: c.Templates()[i]}
		filter, err := c.Filter(context.Background(), pod, engine.FilterOptions{Profile: api.Kube137()})
		if err != nil {
			t.Error(err)
		}
		score, err := c.Score(context.Background(), pod, engine.ScoreOptions{Profile: api.Kube137()})
		if err != nil {
			t.Error(err)
		}
		all = append(all, filter, score)
	}
	return all
}

// TestNodelessClustersAreRemembered states clusters that differ in nodes alone, in any order of fields, from many
// goroutines, and expects what a server that remembers nothing answers.
func TestNodelessClustersAreRemembered(t *testing.T) {
	type stated struct {
		raw     []byte
		address string
		want    []any
	}
	var all []stated
	whole := withEverything(80)
	for size := 40; size <= 80; size += 10 {
		nodes, rest := split(whole)
		nodes.Nodes = nodes.Nodes[80-size:]
		for _, parts := range [][2]*stowagev1.Cluster{{nodes, rest}, {rest, nodes}} {
			raw := append(marshal(t, parts[0]), marshal(t, parts[1])...)
			c := inline(t, nil, wire.Pieces{raw})
			all = append(all, stated{raw, c.Address, decisions(t, c)})
		}
	}
	var of decode.Nodeless
	var callers sync.WaitGroup
	for caller := range uint64(4) {
		callers.Go(func() {
			rng := rand.New(rand.NewPCG(caller, 0))
			for range 5 {
				s := all[rng.IntN(len(all))]
				c := inline(t, &of, cut(s.raw, rng))
				if c.Address != s.address {
					t.Errorf("address %s, want %s", c.Address, s.address)
				}
				if diff := cmp.Diff(s.want, decisions(t, c)); diff != "" {
					t.Errorf("decided otherwise (-without remembering +with):\n%s", diff)
				}
			}
		})
	}
	callers.Wait()
	if n := of.Len(); n != 1 {
		t.Errorf("%d are remembered, want the one there is", n)
	}
}

func TestWhatIsRememberedOfNodelessClusters(t *testing.T) {
	var of decode.Nodeless
	state := func(parts ...*stowagev1.Cluster) error {
		r := decode.NewInline(t.Context(), &of)
		var raw []byte
		for _, p := range parts {
			raw = append(raw, marshal(t, p)...)
		}
		r.Part("context.cluster", wire.Pieces{raw})
		return r.Err()
	}
	labelled := func(value string) *stowagev1.Cluster {
		return &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{Labels: map[string]string{"app": value}}}}
	}
	node := func(name string) *stowagev1.Cluster {
		return &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: name}}}
	}
	for _, c := range []struct {
		what  string
		parts []*stowagev1.Cluster
		fails bool
		want  int
	}{
		{"nodes alone", []*stowagev1.Cluster{node("a")}, false, 0},
		{"what lies in two pieces", []*stowagev1.Cluster{labelled("a"), node("a"), labelled("b")}, false, 0},
		{"what is refused", []*stowagev1.Cluster{{NodeClasses: []*stowagev1.NodeClass{{NameLabelKeys: []string{""}}}}, node("a")}, true, 0},
		{"a template", []*stowagev1.Cluster{node("a"), labelled("a")}, false, 1},
		{"it again, with a refused node", []*stowagev1.Cluster{node("a"), node("a"), labelled("a")}, true, 1},
		{"more than there is room for", []*stowagev1.Cluster{{PodTemplates: slices.Repeat([]*stowagev1.PodTemplate{{}}, 40_000)}, node("a")}, false, 1},
		{"another of the same length", []*stowagev1.Cluster{node("a"), labelled("b")}, false, 2},
	} {
		if err := state(c.parts...); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.what, err)
		}
		if n := of.Len(); n != c.want {
			t.Errorf("%s: %d are remembered, want %d", c.what, n, c.want)
		}
	}
	for i := range 40 {
		if err := state(labelled(fmt.Sprint("app-", i)), node("a")); err != nil {
			t.Fatal(err)
		}
	}
	if n := of.Len(); n != decode.MaxNodeless {
		t.Errorf("%d are remembered, want %d", n, decode.MaxNodeless)
	}
}
