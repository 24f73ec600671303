package batch

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Pods behind one that may evict others are decided again; pods that evict nothing hold no others up.
func TestWhatIsBehindAPreemptorIsDecidedAgain(t *testing.T) {
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for name, priority := range map[string]int32{"low": 5, "high": 50} {
		p := waitingPod(name, priority, 0, "")
		p.Spec.NodeName = "a"
		if err := pods.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := pods.Add(waitingPod("lowest, but pending", 0, 0, "")); err != nil {
		t.Fatal(err)
	}
	pending := func(priority int32) verdict {
		return verdict{candidate: candidate{pod: waitingPod("p", priority, 0, "")}}
	}
	placed, undecided, grouped, never, preempting := pending(9), pending(9), pending(9), pending(9), pending(9)
	placed.node, undecided.why, grouped.group = "a", undecidable, "g"
	never.pod.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	preempting.preempts = &stowagev1.Preemption{Nominated: &stowagev1.PreemptionCandidate{}}
	groupPreempts := pending(9)
	groupPreempts.group = "g"
	groupPreempts.groupPreempts = &stowagev1.PodGroupPreemption{Nominations: []*stowagev1.PodGroupNomination{{}}}
	lowGroup := pending(5)
	lowGroup.group = "low"
	for name, c := range map[string]struct {
		last     verdict
		included bool
		evicts   bool
		decided  int
	}{
		"it preempts":                             {preempting, true, true, 4},
		"no pods are evicted":                     {preempting, true, false, 5},
		"a group preempts":                        {groupPreempts, true, true, 4},
		"a group has no victims":                  {grouped, true, true, 5},
		"a group without a result":                {grouped, false, true, 4},
		"a group above no pod":                    {lowGroup, false, true, 5},
		"it has no candidates":                    {pending(9), true, true, 5},
		"preemption not included":                 {pending(6), false, true, 4},
		"it is above no pod":                      {pending(5), false, true, 5},
		"preemption not included, never preempts": {never, false, true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Scheduler{pods: pods, options: Options{Preempt: c.evicts}}
			before, behind := s.untilPreemptor([]verdict{placed, undecided, never, pending(4), c.last}, c.included)
			if len(before) != c.decided || len(before)+len(behind) != 5 {
				t.Errorf("%d are decided and %d behind, want %d decided", len(before), len(behind), c.decided)
			}
		})
	}
}

// The placed pods of a group are not torn apart.
func TestAGroupIsNotCut(t *testing.T) {
	one := func(name, group, node string) verdict {
		return verdict{candidate: candidate{pod: waitingPod(name, 0, 0, group)}, node: node}
	}
	before, behind := cut([]verdict{
		one("first", "", "a"), one("g-1", "g", "a"), one("g-2", "g", ""), one("g-3", "g", "a"), one("last", "", "a"),
	}, 2)
	got := fmt.Sprint(podNames(before), podNames(behind))
	if want := "[first g-1 g-3] [g-2 last]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func podNames(verdicts []verdict) (out []string) {
	for _, v := range verdicts {
		out = append(out, v.pod.Name)
	}
	return out
}
