package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// TestSelectable compares what a selector selects out of Selectable with what it selects out of all groups, groups that the
// request added included.
func TestSelectable(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	labels := func() api.Labels {
		m := map[string]string{}
		for range rng.IntN(5) {
			m[fmt.Sprint("key-", rng.IntN(6))] = fmt.Sprint(rng.IntN(4))
		}
		return api.LabelsOf(m)
	}
	for range 200 {
		stated := &api.Cluster{Nodes: []api.Node{{Name: "node"}}}
		for i := range rng.IntN(40) {
			stated.Templates = append(stated.Templates, &api.PodTemplate{Namespace: "default", Labels: labels()})
			stated.Nodes[0].PodCounts = append(stated.Nodes[0].PodCounts, api.PodCount{Template: i, Count: 1})
		}
		c, err := Compile(context.Background(), stated)
		if err != nil {
			t.Fatal(err)
		}
		s := NewState(context.Background(), c)
		for range []int{3, 60}[rng.IntN(2)] {
			s.Assume(s.Compile(&api.Pod{TemplateIndex: -1, Template: &api.PodTemplate{Namespace: "default", Labels: labels()}}), "", 0, 0)
		}
		for range 20 {
			by := &api.LabelSelector{MatchLabels: labels()}
			if rng.IntN(3) == 0 {
				by.MatchExpressions = []api.Requirement{{Key: "key-1", Operator: api.Exists}}
			}
			compiled := selector.CompileSelector(s.Symbols, by)
			var want, got []*Group
			for _, g := range s.Groups() {
				if compiled.Matches(g.Labels) {
					want = append(want, g)
				}
			}
			for _, g := range s.Selectable(compiled) {
				if compiled.Matches(g.Labels) {
					got = append(got, g)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d groups of %d, want %d", compiled.Text(s.Symbols), len(got), s.groups.len(), len(want))
			}
		}
	}
}
