// Package doubt collects what an answer does not decide about the pods that it places, or that it evicts and that are created again.
//
// Every answer of the engine has a Ledger. A pod goes through Ledger.Pod, which applies all sources, so that a new source reaches
// every answer. Calls note doubts that depend on what happened to the pod, such as a limit, with Ledger.Note.
package doubt

import (
	"cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// A Source returns the doubts that follow from a pod and the profile, without a reference to the pod.
type Source func(*api.Profile, *api.Pod) []verdict.Doubt

// Sources are all sources, in the order in which their doubts are listed.
var Sources = []Source{unread, otherScheduler, groupMember}

func unread(_ *api.Profile, pod *api.Pod) (out []verdict.Doubt) {
	for _, field := range pod.Unread {
		out = append(out, verdict.Doubt{Kind: verdict.UnreadField, Unread: field})
	}
	return out
}

func otherScheduler(profile *api.Profile, pod *api.Pod) []verdict.Doubt {
	if !Left(profile, pod.Template) {
		return nil
	}
	return []verdict.Doubt{{Kind: verdict.OtherScheduler, Name: cmp.Or(pod.Template.Spec.SchedulerName, api.DefaultScheduler)}}
}

// groupMember is about pods that a call decides on their own. OfQueue leaves it out for the pods of groups that the call decides.
func groupMember(_ *api.Profile, pod *api.Pod) []verdict.Doubt {
	if pod.Template.Spec.SchedulingGroup == "" {
		return nil
	}
	return []verdict.Doubt{{Kind: verdict.SingleGroupMember, Name: pod.Template.Spec.SchedulingGroup}}
}

// Left reports whether another scheduler than the profile's places the pods of a template.
func Left(profile *api.Profile, t *api.PodTemplate) bool {
	own := cmp.Or(profile.SchedulerName, api.DefaultScheduler)
	return own != api.AnyScheduler && cmp.Or(t.Spec.SchedulerName, api.DefaultScheduler) != own
}

// Undecided reports whether a pod demands devices, if a search for devices was not decided; nil if all were.
type Undecided func(*api.PodSpec) bool

// Ledger is the doubts of one answer.
type Ledger struct {
	// Decided reports whether the call decides the pods of a pod group as the group, by its name; nil for none.
	Decided func(group string) bool
	// Undecided is about the searches before Pod is called.
	Undecided Undecided

	profile *api.Profile
	doubts  []verdict.Doubt
}

// NewLedger returns an empty ledger.
func NewLedger(profile *api.Profile) *Ledger { return &Ledger{profile: profile} }

// Pod adds the doubts about a pod. It keeps no reference to the pod.
func (l *Ledger) Pod(pod *api.Pod, of verdict.PodReference) {
	for _, source := range Sources {
		for _, d := range source(l.profile, pod) {
			if d.Kind == verdict.SingleGroupMember && l.Decided != nil && l.Decided(cluster.PodGroupOf(pod.Template)) {
				continue
			}
			d.Pod = of
			l.doubts = append(l.doubts, d)
		}
	}
	l.Searched(l.Undecided, pod, of)
}

// Searched adds a doubt about a pod that demands devices if a search for devices was not decided.
func (l *Ledger) Searched(undecided Undecided, pod *api.Pod, of verdict.PodReference) {
	if undecided != nil && undecided(&pod.Template.Spec) {
		l.Note(verdict.Doubt{Kind: verdict.DevicesUndecided, Pod: of})
	}
}

// Note adds a doubt.
func (l *Ledger) Note(d verdict.Doubt) { l.doubts = append(l.doubts, d) }

// Doubts returns the doubts in the order in which they were added; nil if there are none.
func (l *Ledger) Doubts() []verdict.Doubt { return l.doubts }

// Preempted adds a doubt for each of the pods of the cluster that were preempted, unless no controller creates them again.
func (l *Ledger) Preempted(templates []*api.PodTemplate, pods []verdict.PodReference) {
	for _, p := range pods {
		if p.Queue >= 0 || p.Template >= 0 && !templates[p.Template].Controller.Creates() {
			continue
		}
		l.Note(verdict.Doubt{Kind: verdict.PreemptedForGood, Pod: p})
	}
}

// OfQueue returns the doubts about the pods of a queue, by entry. groups are the groups that are decided as a whole.
func OfQueue(profile *api.Profile, queue []place.Pending, groups []gang.PodGroup, undecided Undecided) []verdict.Doubt {
	grouped := make(map[int]bool)
	for i := range groups {
		for _, entry := range groups[i].Entries {
			grouped[entry] = true
		}
	}
	l := NewLedger(profile)
	l.Undecided = undecided
	for i := range queue {
		pod := &queue[i].Pod
		l.Decided = func(string) bool { return grouped[i] }
		l.Pod(pod, verdict.PodReference{
			Namespace: pod.Template.Namespace, Name: pod.Name, Node: verdict.NoNode, Template: -1, Queue: i, Count: queue[i].Count,
		})
	}
	return l.Doubts()
}

// OfPod returns the doubts about the pod of a request that has a single one. decided reports whether it is decided as a member of its
// pod group.
func OfPod(profile *api.Profile, pod *api.Pod, decided bool, undecided Undecided) []verdict.Doubt {
	l := NewLedger(profile)
	l.Undecided = undecided
	l.Decided = func(string) bool { return decided }
	l.Pod(pod, verdict.PodReference{
		Namespace: pod.Template.Namespace, Node: verdict.NoNode, Template: -1, Queue: 0, Count: 1,
	})
	return l.doubts
}
