package verdict

// Change is a change that makes a node feasible for a pod without feasible nodes. Exactly one kind is set.
type Change struct {
	AddedNode      *AddedNode
	RemovedPods    []PodReference // of one node
	RaisedMaxSkew  *RaisedMaxSkew
	PreferredRule  *PodRule // a required rule to make a preferred one; Entry is 0
	LoweredRequest *LoweredRequest
	// Nodes is the feasible node with the lowest index after the change; empty with AddedNode.
	Nodes []uint32
}

// AddedNode is a copy of a node with a new name and without pods.
type AddedNode struct {
	Like uint32
	// NewDomainKeys are the topology keys under which it is in a new domain.
	NewDomainKeys []string
}

// RaisedMaxSkew is a new maxSkew of a spread constraint of the pod.
type RaisedMaxSkew struct {
	Index       int
	TopologyKey string
	From, To    int32
}

// LoweredRequest is a new request of the pod for a resource.
type LoweredRequest struct {
	Resource string
	From, To int64
}
