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

// Eviction is the pods that one pod of a queue evicted.
type Eviction struct {
	// Entry is the entry of the pod that evicted them.
	Entry int
	Candidate
}
