package verdict

// ScaleDown is the replicas of a workload to delete.
type ScaleDown struct {
	// Deletions are the replicas to delete, in order.
	Deletions []ScaledPod
	// Remaining are the remaining replicas, by node.
	Remaining []ScaledPod
	Spread    []ReplicaSpread
	// Replicas is the number of replicas.
	Replicas int
	Doubts   []Doubt
}

// ScaledPod is a replica, or several identical ones on one node.
type ScaledPod struct {
	Pod PodReference
	// Cost orders deletions: lower costs first; 0 for a remaining replica.
	Cost int32
	// Broken are the rules that rejected the replica on its node when it was selected. Score is the total score of the
	// node at that time, if there are none.
	Broken []PodRule
	Score  int64
}

// ReplicaSpread is the distribution of replicas over the domains of a topology key.
type ReplicaSpread struct {
	TopologyKey string
	Domains     []DomainReplicas // in order of their values
}

// DomainReplicas is the number of replicas in a domain, before and after.
type DomainReplicas struct {
	Value         string
	Before, After int
}
