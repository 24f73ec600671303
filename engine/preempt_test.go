package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// comparableWith reports whether a cluster that is compiled without victims decides as a dry run does: no two pods of a node hold
// one of the pod's host ports, and PreFilter does not skip InterPodAffinity only once the victims are gone.
func comparableWith(c *api.Cluster, pod *api.Pod) bool {
	spec := &pod.Template.Spec
	terms := spec.PodAffinity != nil && len(spec.PodAffinity.Required) > 0 ||
		spec.PodAntiAffinity != nil && len(spec.PodAntiAffinity.Required) > 0
	for i := range c.Nodes {
		ports := make(map[int32]int)
		for _, v := range podsOf(c, i) {
			for _, h := range v.pod.Template.Spec.Containers[0].HostPorts {
				ports[h.Port]++
			}
		}
		for _, h := range spec.Containers[0].HostPorts {
			if ports[h.Port] > 1 {
				return false
			}
		}
		for _, n := range c.Nodes[i].Nominated {
			if anti := n.Template.Spec.PodAntiAffinity; !terms && anti != nil && len(anti.Required) > 0 {
				return false
			}
		}
	}
	return true
}

// spreadsAlike reports whether PodTopologySpread's RemovePod counts as its PreFilter does.
func spreadsAlike(c *api.Cluster, pod *api.Pod) bool {
	for i := range c.Nodes {
		for _, v := range podsOf(c, i) {
			if v.pod.Terminating {
				return false
			}
		}
	}
	return !slices.ContainsFunc(pod.Template.Spec.Spread, func(s api.TopologySpreadConstraint) bool {
		return s.LabelSelector != nil && len(s.LabelSelector.MatchLabels) == 0
	})
}

// TestPreemptionEqualsOracle compares preemption with its description, on clusters that are compiled without the victims.
func TestPreemptionEqualsOracle(t *testing.T) {
	found, cleared, violations, ties, kube, several := 0, 0, 0, 0, 0, 0
	for seed := range uint64(cases(2000)) {
		rng := rand.New(rand.NewPCG(seed, 77))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomVictims(rng, stated, pods)
		for i := range pods {
			pod := &pods[i]
			if !comparableWith(stated, pod) {
				continue
			}
			o := oracle{t, stated, pod}
			want := o.preempt()
			options := []engine.PreemptOptions{{All: true, RecountSpread: true}}
			if spreadsAlike(stated, pod) {
				kube++
				options = append(options, engine.PreemptOptions{All: true})
			}
			for _, option := range options {
				f := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &option})
				if rejectedAsAWhole := f.Preemption != nil && f.Preemption.Message == "not found"; rejectedAsAWhole {
					continue
				}
				if diff := gocmp.Diff(want, asPreempted(stated, f.Preemption), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d, pod %d, %+v (-oracle +now):\n%s", seed, i, option, diff)
				}
				if f.Preemption == nil {
					continue
				}
				option.All = false
				short := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &option})
				all := *f.Preemption
				if all.Candidates = nil; gocmp.Diff(&all, short.Preemption, cmpopts.EquateEmpty()) != "" || f.Message != short.Message {
					t.Fatalf("seed %d, pod %d: %+v without all candidates, %+v with them", seed, i, short.Preemption, all)
				}
				if best := f.Preemption.Nominated; best != nil {
					found++
					violations += best.Violations
					if len(best.Victims) > 1 {
						several++
					}
					if len(f.Preemption.Best) > 1 {
						ties++
					}
					at := slices.IndexFunc(f.Preemption.Candidates, func(c verdict.Candidate) bool { return c.Node == best.Node })
					if at < 0 || gocmp.Diff(*best, f.Preemption.Candidates[at]) != "" || best.Node != f.Preemption.Best[0] {
						t.Fatalf("seed %d, pod %d: %+v nominated of %+v", seed, i, best, f.Preemption)
					}
				} else if f.Preemption.ClearsNomination {
					cleared++
				}
			}
		}
	}
	t.Logf("%d found, %d cleared, %d violations, %d ties, %d as kube-scheduler, %d with several victims",
		found, cleared, violations, ties, kube, several)
	if min(found, cleared, violations, ties, kube, several) == 0 {
		t.Error("some outcome never occurs")
	}
}
