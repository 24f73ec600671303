package verdict

// Preemption is what DefaultPreemption finds for a pod without feasible nodes.
type Preemption struct {
	// Best are the best candidates; empty if there are none.
	Best []uint32
	// Nominated is the first of Best; nil if there is none.
	Nominated *Candidate
	// Message is the part of kube-scheduler's event text that is about preemption.
	Message string
	// ClearsNomination reports whether kube-scheduler clears the pod's nominatedNodeName.
	ClearsNomination bool
	// Rejections are about the nodes that are no candidates; empty if the pod may not preempt.
	Rejections []Rejection
	// Candidates are all candidates, if requested.
	Candidates []Candidate
	// Safe is nil unless requested, and without candidates.
	Safe *SafePreemption
	// Across is nil unless requested, and if the pod may not preempt.
	Across *AcrossNodes
}

// Event returns kube-scheduler's event text for a pod without feasible nodes, with the part about preemption
// (pkg/scheduler/framework/types.go FitError.Error, v1.37).
func (p *Preemption) Event(filter string) string {
	if p == nil || p.Message == "" {
		return filter
	}
	return filter + " " + p.Message
}

// Listed returns the number of nodes and victims that a preemption lists.
func (p *Preemption) Listed() int {
	listed := len(p.Best)
	for i := range p.Rejections {
		listed += len(p.Rejections[i].Nodes)
	}
	if p.Nominated != nil {
		listed += len(p.Nominated.Victims)
	}
	return listed
}

// Candidate is a node that evicting pods makes feasible.
type Candidate struct {
	Node uint32
	// Victims are the pods to evict, the most important first.
	Victims []PodReference
	// Violations is the number of victims that violate a PodDisruptionBudget.
	Violations int
}

// Eviction is the pods that one pod of a queue evicted, or a pod group.
type Eviction struct {
	// Entry is the entry of the pod that evicted them, or the first of the group.
	Entry int
	// Group is the name of the group that evicted them, from any nodes; empty for a pod. Node of the candidate is 0 then.
	Group string
	// Nominations are the nominations of the group's pods.
	Nominations []GroupNomination
	Candidate
}

// SafePreemption is a candidate after whose preemption all pods that come back have a node.
type SafePreemption struct {
	// Candidate is nil if none was found.
	Candidate *Candidate
	// Replacements are the pods that come back for victims of Candidate, in the order in which they are placed.
	Replacements []Replacement
	// Unsafe are the replacements without a node if the nominated candidate's victims are evicted.
	Unsafe []Replacement
	// InVain is why the nominated candidate's node rejects the pod without these victims; empty if it does not.
	InVain string
	// Examined is the number of candidates that were examined.
	Examined int
	// Truncated reports whether others were not.
	Truncated bool
	// Doubts are about the pods that come back for the victims of the nominated candidate and of Candidate. A pod with doubts counts
	// as one without a node.
	Doubts []Doubt
}

// Replacement is the pods that come back for equal victims.
type Replacement struct {
	// Pod are the victims.
	Pod PodReference
	// Cascade is 0 for victims of the candidate, 1 for victims of their replacements, and so on.
	Cascade int
	// Nodes are the nodes of the placed replacements. Unplaced is the number of the others, and Message the event text of the first of
	// these.
	Nodes    []uint32
	Unplaced int
	Message  string
	// Unknown reports whether the cluster does not specify what comes back, or whether there are doubts about it.
	Unknown bool
	// Evicted are the pods that these preempt.
	Evicted []PodReference
}

// AcrossNodes is victims on any nodes that make one node feasible.
type AcrossNodes struct {
	// Candidate is nil if none was found. Its Violations count, for each budget, the disruptions that it does not allow.
	Candidate *Candidate
	// Proven reports whether no candidate is better, or whether there is none.
	Proven bool
	Steps  int
}

// GroupPreemption is what DefaultPreemption finds for a pod group that is not placed.
type GroupPreemption struct {
	// Victims are the pods to evict, the most important first. Pods of a group that is evicted as a whole follow each other.
	Victims []PodReference
	// Count is the number of victims, and Violations how many of them violate a PodDisruptionBudget.
	Count, Violations int
	// Disruptions is the number of victims that are pods of groups, where a group that is evicted as a whole counts once.
	Disruptions int
	// Nominations are by entry of the group; none if preemption finds nothing.
	Nominations []GroupNomination
	// Ongoing reports whether pods that were preempted for the group before are still there. There are no victims then.
	Ongoing bool
	// Undecided reports whether it is not known what preemption finds, because the pods' rules count too much.
	Undecided bool
	// Message is the part of the text of kube-scheduler's condition that is about preemption.
	Message string
}

// Listed returns the number of nodes and victims that a preemption lists.
func (p *GroupPreemption) Listed() int {
	listed := len(p.Victims)
	for _, n := range p.Nominations {
		listed += len(n.Nodes)
	}
	return listed
}

// GroupNomination is the nodes that pods of a queue entry are nominated to, in the order of placing.
type GroupNomination struct {
	Entry int
	Nodes []uint32
}
