package cluster_test

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// TestUndoRestoresEveryField changes states in all ways and undoes that. A field of State must be restored, or be one of kept.
func TestUndoRestoresEveryField(t *testing.T) {
	empty := cluster.NewState(t.Context(), compileOrFail(t, &api.Cluster{}))
	for _, field := range reflect.VisibleFields(reflect.TypeFor[cluster.State]()) {
		if field.Anonymous || len(field.Index) > 1 && field.Index[0] == 0 {
			continue // a part, or a field of the cluster
		}
		if _, compared := empty.Restored()[field.Name]; compared == cluster.Kept[field.Name] {
			t.Errorf("the test does not know whether Undo restores %s", field.Name)
		}
	}
	done := make(map[string]int)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 27))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomNominated(rng, stated, pods)
		if seed%2 == 0 {
			enginetest.RandomDevices(rng, stated, pods)
		}
		s := cluster.NewState(t.Context(), compileOrFail(t, stated))
		type marked struct {
			cluster.Mark
			was map[string]any
		}
		var marks []marked
		for range 40 {
			if rng.IntN(4) == 0 {
				marks = append(marks, marked{s.Mark(), s.Restored()})
			}
			what, change := anyChange(rng, s, pods)
			if change() {
				done[what]++
			}
			if len(marks) > 0 && rng.IntN(8) == 0 {
				at := rng.IntN(len(marks))
				s.Undo(marks[at].Mark)
				if diff := cmp.Diff(marks[at].was, s.Restored()); diff != "" {
					t.Fatalf("seed %d (-before +undone):\n%s", seed, diff)
				}
				marks = marks[:at]
			}
		}
	}
	if len(done) < 13 || slices.Min(slices.Collect(maps.Values(done))) < 20 {
		t.Errorf("the changes are %v", done)
	}
}

// anyChange returns one change of a state, which reports whether it changed anything.
func anyChange(rng *rand.Rand, s *cluster.State, pods []api.Pod) (what string, change func() bool) {
	node := rng.Uint32N(uint32(s.Len()))
	pending := s.Compile(&pods[rng.IntN(len(pods))])
	always := func(change func()) func() bool { return func() bool { change(); return true } }
	onVictims := func(change func(victims []cluster.Victim)) func() bool {
		return func() bool {
			victims := s.AllVictims(nil, node)
			if len(victims) > 0 {
				change(victims[:1+rng.IntN(len(victims))])
			}
			return len(victims) > 0
		}
	}
	onNomination := func(change func(n *cluster.Nomination)) func() bool {
		return func() bool {
			var own []*cluster.Nomination
			for _, n := range s.Nominated() {
				if n.Own() != nil {
					own = append(own, n.Own())
				}
			}
			if len(own) > 0 {
				change(own[rng.IntN(len(own))])
			}
			return len(own) > 0
		}
	}
	changes := []struct {
		what   string
		change func() bool
	}{
		{"assume", always(func() { s.Assume(pending, pending.Name, node, rng.IntN(3)) })},
		{"evict", onVictims(func(victims []cluster.Victim) { s.EvictVictim(node, &victims[0]) })},
		{"leave ports", onVictims(func(victims []cluster.Victim) { s.LeavePorts(node, victims) })},
		{"terminate", onVictims(func(victims []cluster.Victim) {
			o := s.VictimOccupant(node, &victims[0])
			s.Terminate(node, &o, 7)
		})},
		{"nominate", always(func() { pending.Nomination = s.Nominate(pending, node) })},
		{"withdraw", onNomination(s.Withdraw)},
		{"withdraw below", onNomination(func(n *cluster.Nomination) { s.WithdrawBelow(n.Node(), 1) })},
		{"count as", onNomination(func(n *cluster.Nomination) { s.CountAs(n, pending) })},
		{"clear", func() bool {
			for node, n := range s.Nominated() {
				if n.Own() == nil {
					s.Clear(node, &n)
					return true
				}
			}
			return false
		}},
		{"supersede", always(func() { s.Supersede(pending.Template.Namespace, pending.Name) })},
		{"cordon", always(func() { s.Cordon([]uint32{node}) })},
		{"mutate", always(s.Mutate)},
		{"join", always(func() {
			m := &cluster.Membership{All: rng.IntN(2) == 0}
			s.Join(pending.Template.Namespace, m)
			s.JoinEntries(func(int) (*cluster.Membership, bool) { return m, true })
		})},
		{"end queue", always(func() { s.EndQueue(cluster.Mark{}) })},
	}
	c := changes[rng.IntN(len(changes))]
	return c.what, c.change
}
