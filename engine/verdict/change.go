package verdict

// Change is one thing that, if it were different, would let a node take a pod that none takes. One of the kinds is there.
type Change struct {
	AddedNode      *AddedNode
	RemovedPods    []ConflictingPod // of one node
	RaisedMaxSkew  *RaisedMaxSkew
	PreferredRule  *JointRule // a required rule that is only preferred; Entry is 0
	LoweredRequest *LoweredRequest
	// Nodes is the node with the lowest index of those that would then take the pod; empty with AddedNode.
	Nodes []uint32
}

// AddedNode is a node like another one, with a name of its own and no pods.
type AddedNode struct {
	Like uint32
	// NewDomainKeys are the topology keys of which it has a value that no node has.
	NewDomainKeys []string
}

// RaisedMaxSkew is a spread constraint of the pod with another maxSkew.
type RaisedMaxSkew struct {
	Index       int
	TopologyKey string
	From, To    int32
}

// LoweredRequest is what the pod asks for of a resource.
type LoweredRequest struct {
	Resource string
	From, To int64
}
