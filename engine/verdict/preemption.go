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
	// Rejections are those of the nodes that are no candidates; empty if the pod may not preempt.
	Rejections []Rejection
	// Candidates are all candidates, if requested.
	Candidates []Candidate
}

// Candidate is a node that evicting pods makes feasible.
type Candidate struct {
	Node uint32
	// Victims are the pods to evict, the most important first.
	Victims []PodReference
	// Violations is the number of victims that violate a PodDisruptionBudget.
	Violations int
}
