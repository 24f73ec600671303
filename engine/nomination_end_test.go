package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestNominationEndsWithoutNode: a pod that finds no node loses its nomination as in kube-scheduler, so that the next pod gets
// the room. It stays nominated where it may not preempt, and where preemption finds its own node.
func TestNominationEndsWithoutNode(t *testing.T) {
	sized := func(cpu int) *enginetest.Pod { return enginetest.MakePod("n").Request("cpu", cpu).Priority(10) }
	never, gated := sized(50000), sized(50000)
	never.Template.Spec.NeverPreempts, gated.Template.Spec.SchedulingGates = true, []string{"g"}
	small := enginetest.MakePod("x").Request("cpu", 2000)
	low := func(cpu int) *enginetest.Pod { return enginetest.MakePod("low").Request("cpu", cpu) }
	for name, test := range map[string]struct {
		first  *enginetest.Pod
		on, n1 *enginetest.Pod // pods that run on the node of the nomination, and on another one
		want   []uint32
	}{
		"no victims":              {sized(50000), low(10), low(16000), []uint32{0, 0}},
		"never preempts":          {never, low(10), low(16000), nil},
		"gated":                   {gated, low(10), low(16000), nil},
		"victims on its node":     {sized(7500), low(1000), low(16000).Priority(20), nil},
		"victims on another node": {sized(10000), low(10), low(16000), []uint32{0, 0}},
	} {
		for how, o := range map[string]engine.PlaceOptions{
			"scanning": {Scan: true}, "as it pays": {}, "board": engine.PlaceOptions{}.WithBoard(), "preempting": {Preempt: true},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				c := compile(t, enginetest.MakeNode("n0").Run(test.on).Nominate(test.first),
					enginetest.MakeNode("n1").Allocate("cpu", 16000).Run(test.n1))
				o.Profile = api.Kube137()
				result, err := c.Place(t.Context(), []engine.Pending{pending(1, test.first), pending(2, small)}, o)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, result.Placements[1].Nodes); diff != "" {
					t.Errorf("the next pods (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// endNomination ends the nomination of a pod without a feasible node as kube-scheduler does.
func endNomination(t testing.TB, stated *api.Cluster, profile *api.Profile, pod *api.Pod) {
	t.Helper()
	f, err := compiled(t, stated).Filter(t.Context(), pod, engine.FilterOptions{Profile: profile, Preempt: &engine.PreemptOptions{}})
	if err != nil {
		t.Fatal(err)
	}
	if len(pod.Template.Spec.SchedulingGates) > 0 {
		return
	}
	if p := f.Preemption; p != nil && !p.ClearsNomination {
		if p.Nominated == nil || slices.ContainsFunc(stated.Nodes[p.Nominated.Node].Nominated, func(n api.Pod) bool {
			return n.Name == pod.Name && n.Template.Namespace == pod.Template.Namespace
		}) {
			return
		}
	}
	forgetNominated(stated, pod)
}
