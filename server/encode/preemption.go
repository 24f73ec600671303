package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maxCandidateVictims bounds the victims of Preemption.candidates.
const maxCandidateVictims = 1_000_000

// Preempt encodes the response to a PreemptRequest. address is the content address of the cluster.
func Preempt(_ *stowagev1.PreemptRequest, f *verdict.Filter, names Names, address string) ([]byte, error) {
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+listBytes(f.Feasible))}
	if p := f.Preemption; p != nil {
		e.lengthDelimited(1, func() {
			e.message(names.preemption(p))
			e.candidates(p.Candidates)
		})
	}
	e.nodes(2, f.Feasible)
	out := &stowagev1.PreemptResponse{
		Message: f.Message, InternalError: f.Failed, SnapshotAddress: address, Doubts: doubts(f.Doubts),
	}
	if p := f.Preemption; p != nil {
		out.Safe, out.AcrossNodes = names.safe(p.Safe), names.across(p.Across)
	}
	e.message(out)
	return e.b, e.err
}

func (n Names) safe(p *verdict.SafePreemption) *stowagev1.SafePreemption {
	if p == nil {
		return nil
	}
	return &stowagev1.SafePreemption{
		Candidate: n.candidate(p.Candidate), Replacements: n.replacements(p.Replacements), Unsafe: n.replacements(p.Unsafe),
		InVain: p.InVain, ExaminedCount: uint32(p.Examined), Truncated: p.Truncated,
	}
}

func (n Names) replacements(of []verdict.Replacement) (out []*stowagev1.Replacement) {
	for i := range of {
		r := &of[i]
		m := &stowagev1.Replacement{
			Pod: podReference(&r.Pod), Cascade: uint32(r.Cascade), Nodes: n.list(r.Nodes), UnplacedCount: uint32(r.Unplaced),
			Message: r.Message, Unknown: r.Unknown,
		}
		for j := range r.Evicted {
			m.Evicted = append(m.Evicted, podReference(&r.Evicted[j]))
		}
		out = append(out, m)
	}
	return out
}

func (n Names) across(p *verdict.AcrossNodes) *stowagev1.AcrossNodes {
	if p == nil {
		return nil
	}
	return &stowagev1.AcrossNodes{Candidate: n.candidate(p.Candidate), Proven: p.Proven, Steps: uint64(p.Steps)}
}

// candidates appends the candidates of a Preemption, one message after the other: they may have a million victims.
func (e *encoder) candidates(candidates []verdict.Candidate) {
	victims := 0
	for i := range candidates {
		c := &candidates[i]
		if victims += len(c.Victims); victims > maxCandidateVictims {
			e.message(&stowagev1.Preemption{CandidatesTruncated: true})
			return
		}
		e.lengthDelimited(6, func() { e.message(e.names.candidate(c)) })
	}
}

// preemption returns a Preemption without its candidates.
func (n Names) preemption(p *verdict.Preemption) *stowagev1.Preemption {
	if p == nil {
		return nil
	}
	return &stowagev1.Preemption{
		BestNodes:        n.list(p.Best),
		Nominated:        n.candidate(p.Nominated),
		Message:          p.Message,
		ClearsNomination: p.ClearsNomination,
		Rejections:       n.rejections(p.Rejections),
	}
}

func (n Names) candidate(c *verdict.Candidate) *stowagev1.PreemptionCandidate {
	if c == nil {
		return nil
	}
	out := &stowagev1.PreemptionCandidate{NodeIndex: c.Node, PdbViolations: uint64(c.Violations)}
	if n != nil {
		out.NodeName = n[c.Node]
	}
	for i := range c.Victims {
		out.Victims = append(out.Victims, podReference(&c.Victims[i]))
	}
	return out
}

func (n Names) groupPreemption(p *verdict.GroupPreemption) *stowagev1.PodGroupPreemption {
	if p == nil {
		return nil
	}
	out := &stowagev1.PodGroupPreemption{
		PdbViolations: uint64(p.Violations), GroupDisruptionCount: uint32(p.Disruptions), Message: p.Message, Ongoing: p.Ongoing,
		Undecided: p.Undecided,
	}
	for i := range p.Victims {
		out.Victims = append(out.Victims, podReference(&p.Victims[i]))
	}
	out.Nominations = n.groupNominations(p.Nominations)
	return out
}

func (n Names) groupNominations(all []verdict.GroupNomination) (out []*stowagev1.PodGroupNomination) {
	for _, of := range all {
		out = append(out, &stowagev1.PodGroupNomination{QueueIndex: uint32(of.Entry), Nodes: n.list(of.Nodes)})
	}
	return out
}
