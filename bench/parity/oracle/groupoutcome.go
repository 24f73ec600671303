package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Outcome is a possible result of a group.
type Outcome struct {
	// Domain is the value of the topology key that a placed group is in.
	Domain string
	// Message is kube-scheduler's condition of a group that it does not place, without preemption's part.
	Message string
	Failed  bool
	// Placements are by Entries.
	Placements []Member
	// First is the first of Entries with a pod that found no node, -1 for none.
	First int
	// Preempts says that preemption ran, if only to end with an error.
	Preempts bool
	// Preemption is nil where kube-scheduler does not run it for the group, and after an error.
	Preemption *GroupPreemption
	// Bindings are the claims that a placed group binds.
	Bindings []Binding
}

// Member is the result of the pods of one entry.
type Member struct {
	Nodes []uint32
	// Unplaced is the decision about the first pod that found no node when it was attempted, on the nodes of Candidates.
	Unplaced   *Decision
	Candidates []uint32
	// First is the decision about the first pod of the entry, on the nodes of Among; nil if it was not attempted.
	First *Decision
	Among []uint32
	// Message is the event's text: about that pod, or else about the first one if the group is not placed.
	Message string
	Failed  bool
}

// outcomes are what may become of the group, which depends on the order of the domains that are tried without victims.
func (y *groupCycle) outcomes(s *Scheduler, entries []int, placements int) ([]Outcome, error) {
	found, err := y.preemption()
	if err != nil {
		return nil, err
	}
	o := y.outcome(s, entries, placements)
	o.Preempts, o.Preemption = y.preempted.ran, found
	out := []Outcome{o}
	texts := y.preempted.texts
	if len(texts) < 2 {
		return out, nil
	}
	// All texts contain the text about the first domain, as the plugin ran only for it.
	replaced := func(in Outcome, by string) Outcome {
		was := strings.TrimPrefix(y.preempted.status.Message(), groupPrefix)
		in.Message = strings.ReplaceAll(in.Message, groupPrefix+was, groupPrefix+by)
		in.Placements = slices.Clone(in.Placements)
		for i := range in.Placements {
			in.Placements[i].Message = strings.ReplaceAll(in.Placements[i].Message, groupPrefix+was, groupPrefix+by)
		}
		if in.Preemption != nil {
			p := *in.Preemption
			p.Message = groupPrefix + by
			in.Preemption = &p
		}
		return in
	}
	for _, text := range texts {
		out = append(out, replaced(o, text.Message()))
	}
	return out, nil
}

// groupPrefix is what DefaultPreemption's texts about groups begin with.
const groupPrefix = "pod group preemption: "

// outcome is the result of the group. A text about one placement becomes the text about several.
func (y *groupCycle) outcome(s *Scheduler, entries []int, placements int) Outcome {
	about := func(status *fwk.Status) string {
		text := strings.ReplaceAll(status.Message(), strconv.Quote(preemptingName), strconv.Quote(names.DefaultPreemption))
		return strings.Replace(text, "0/1 placements are", fmt.Sprintf("0/%d placements are", placements), 1)
	}
	o := Outcome{First: -1, Placements: make([]Member, len(entries))}
	if !y.placed() {
		o.Message, o.Failed = about(y.status), y.status.IsError()
	}
	if m := y.members[0]; !y.placed() && !o.Failed && y.statuses[m.UID].IsError() { // preemption's, of the whole group
		o.Message, o.Failed = about(y.statuses[m.UID]), true
	}
	said := make([]bool, len(entries))
	for _, m := range y.members {
		i := slices.Index(entries, m.entry)
		entry := &o.Placements[i]
		if entry.First == nil {
			entry.First, entry.Among = y.decisions[m.UID], y.among[m.UID]
		}
		if node, ok := y.assumed[m.UID]; ok {
			entry.Nodes = append(entry.Nodes, s.index[node])
			continue
		}
		d := y.decisions[m.UID]
		rejected := d != nil && len(d.Feasible) == 0 || d.Failed()
		if o.Failed && !d.Failed() {
			rejected = false // the error is what counts
		}
		if said[i] && (!rejected || entry.Unplaced != nil) {
			continue
		}
		said[i] = true
		entry.Message, entry.Failed = about(y.statuses[m.UID]), y.statuses[m.UID].IsError()
		if rejected {
			entry.Unplaced, entry.Candidates = d, y.among[m.UID]
			if o.First < 0 {
				o.First = i
			}
		}
	}
	return o
}
