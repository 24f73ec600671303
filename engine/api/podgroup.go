package api

// PodGroup is pods that are placed together. In a cluster, the members are the pods whose PodSpec.SchedulingGroup names the group in
// their namespace; queue entries can be members, too.
type PodGroup struct {
	// Name is "namespace/name" in a cluster. A group of a request with the name of one of the cluster replaces it.
	Name string
	// Entries are queue indexes in ascending order, for a group of a request.
	Entries []int
	// Minimum is the minimum number of members with a node after placement, including members that had a node before. A group that
	// cannot reach the minimum, or for which no further pod can be placed, is not placed at all. 0 means all pods.
	Minimum int
	// Priority is the group's priority, which its pods must have; nil for any.
	Priority *int32
	// DisruptAll reports whether preemption evicts the group's pods only all together.
	DisruptAll bool
	// Joint requests a placement of the group as a whole within a number of Steps.
	Joint bool
	Steps int
	// Keys are topology keys, in order of preference. The group is placed in one domain: of the first key that has a
	// domain with room for the minimum. With Preferred, a group without such a domain is placed in several domains of the
	// last key, or else on any candidates. Pods that have a node determine the domain.
	Keys      []string
	Preferred bool
	// Constrained is set if the group has a topology, even without a key.
	Constrained bool
}
