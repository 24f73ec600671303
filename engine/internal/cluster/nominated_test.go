package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// nominatedIn lists the nominated pods of a state, and checks that no group counts them.
func nominatedIn(t *testing.T, s *cluster.State) (pods []string) {
	t.Helper()
	for node, n := range s.Nominated() {
		pods = append(pods, fmt.Sprint(s.Names[node], "/", n.Name, " ", n.Usage.Amounts[cluster.CPU], " ", n.Priority))
		if n.Has(node) || s.PodsOn(node) != 0 || s.Resources.At(node, cluster.Requested(cluster.CPU)) != 0 {
			t.Errorf("%s: %s counts", s.Names[node], n.Name)
		}
	}
	for first := range uint32(s.Len()) {
		for last := range uint32(s.Len()) {
			var want, got []string
			for node, n := range s.Nominated() {
				if first <= node && node <= last {
					want = append(want, fmt.Sprint(node, n.Name))
				}
			}
			for node, n := range s.NominatedFrom(first, last) {
				got = append(got, fmt.Sprint(node, n.Name))
			}
			if first <= last && !slices.Equal(want, got) {
				t.Errorf("from %d to %d: %v, want %v", first, last, got, want)
			}
		}
	}
	return pods
}

// TestNominated derives clusters with other nominated pods, and assumes one of these pods.
func TestNominated(t *testing.T) {
	pod := func(name string, cpu int) *enginetest.Pod {
		return enginetest.MakePod(name).Request("cpu", cpu).Priority(int32(cpu))
	}
	base, err := cluster.Compile(t.Context(), enginetest.Cluster(
		enginetest.MakeNode("n0"), enginetest.MakeNode("n1").Nominate(pod("a", 1), pod("b", 2)),
		enginetest.MakeNode("n2").Nominate(pod("c", 3)),
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change api.Delta
		want   []string
	}{
		"as compiled": {want: []string{"n1/a 1 1", "n1/b 2 2", "n2/c 3 3"}},
		"replaced": {
			change: api.Delta{Replaced: []api.Replacement{
				{Index: 0, Node: enginetest.MakeNode("n0").Nominate(pod("d", 4)).Node}, {Index: 1, Node: enginetest.MakeNode("n1").Node},
				{Index: 2, Node: enginetest.MakeNode("n2").Nominate(pod("c", 5)).Node},
			}},
			want: []string{"n0/d 4 4", "n2/c 5 5"},
		},
		"removed and added": {
			change: api.Delta{Removed: []uint32{0, 1}, Added: []api.Node{enginetest.MakeNode("n3").Nominate(pod("d", 4)).Node}},
			want:   []string{"n2/c 3 3", "n3/d 4 4"},
		},
		"none left": {change: api.Delta{Removed: []uint32{1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := base.With(t.Context(), &test.change)
			if err != nil {
				t.Fatal(err)
			}
			if got := nominatedIn(t, cluster.NewState(t.Context(), c)); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if c.AnyNominated() != (len(test.want) > 0) {
				t.Errorf("AnyNominated = %v", c.AnyNominated())
			}
		})
	}
	s := cluster.NewState(context.Background(), base)
	for placed, want := range map[*enginetest.Pod]int{
		pod("a", 1): 2, pod("", 1): 3, pod("a", 9).Namespace("other"): 3, pod("x", 1): 3,
	} {
		mark := s.Mark()
		s.Assume(s.Compile(&placed.Pod), placed.Name, 0, 0)
		if got := nominatedIn(t, s); len(got) != want {
			t.Errorf("%q with %s/%s placed", got, placed.Template.Namespace, placed.Name)
		}
		if s.Undo(mark); len(nominatedIn(t, s)) != 3 {
			t.Errorf("%q after undoing", nominatedIn(t, s))
		}
	}
}
