package verdict

// ScaleDown is which replicas of a workload to delete.
type ScaleDown struct {
	// Deletions are the replicas to delete, in order.
	Deletions []ScaledPod
	// Remaining are those that remain, by node.
	Remaining []ScaledPod
	Spread    []ReplicaSpread
	// Replicas is how many there are.
	Replicas int
}

// ScaledPod is a replica, or several equal ones on one node.
type ScaledPod struct {
	Pod ConflictingPod
	// Cost is the lower the earlier the pod is deleted; 0 for one that remains.
	Cost int32
	// Broken is the rules by which the pod would have been refused where it was when its turn came. Without any, Score is
	// the total score of its node then.
	Broken []JointRule
	Score  int64
}

// ReplicaSpread is how replicas are spread over the domains of a topology key.
type ReplicaSpread struct {
	TopologyKey string
	Domains     []DomainReplicas // in order of their values
}

// DomainReplicas is how many replicas are in a domain, before and after.
type DomainReplicas struct {
	Value         string
	Before, After int
}
