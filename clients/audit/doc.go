// Package audit looks for what is wrong with a cluster as it is, or would be once a node or a zone is lost: pods whose required
// rules do not hold any more, nodes that are over-committed, pods that have no other node, replicas that fail together.
//
// Decisions are those of a server: whether a rule holds is asked by taking a pod off its node and placing it there again, and
// what the loss of a node leads to by placing its pods elsewhere. All pods go into one call, equal pods of equal
// nodes once. What the objects say alone, such as the zone of a node, is read from them.
//
// Pods that terminate and pods that a kubelet made are left out.
package audit
