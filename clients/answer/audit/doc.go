// Package audit finds problems of a live cluster, and of the cluster after the loss of a node or a zone: pods whose required rules no
// longer hold, over-committed nodes, pods without another node, replicas that fail together.
//
// A server decides: to check a rule, the audit removes a pod from its node and places it there again. To check the loss of a node, it
// places the node's pods elsewhere. One call has all pods, and equal pods on equal nodes only once. Facts of the objects alone, such
// as the zone of a node, need no call.
//
// Terminating pods and static pods are skipped.
package audit
