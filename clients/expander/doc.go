// Package expander selects a node group for Cluster Autoscaler, which asks with --expander=grpc.
//
// Cluster Autoscaler sends options: a node group each, the number of nodes to add, and the pods that need them. Every option is
// verified: its nodes are added to a cluster and its pods are placed, with kube-scheduler's decisions. All options are verified
// by one call of WhatIf, each with a delta of its own. The cluster has no other nodes, or with Options.Cluster those of a live
// cluster with their pods, and the new nodes have their DaemonSet pods.
//
// The best options are those that, in this order, place the most pods; cost least, by Prices; have the fewest nodes; and waste
// least: the mean of the fractions of cpu and memory of the new nodes that the placed pods do not request. Options of a group
// without a price come behind those with one. If several are equal in all of this, all are returned, and Cluster Autoscaler's
// next expander selects one of them. Option.debug says why.
//
// An option that cannot be read is not selected, nor one whose nodes take no pod: nodes of the live cluster may have got room. If
// no option places a pod on its nodes, or the answer is not known in time, the answer is an error, after which Cluster Autoscaler
// goes on with all options; Options.Refuse returns none instead in the first case, so that Cluster Autoscaler of 1.35 or later
// adds no nodes.
//
// What is not known: pods of a PodGroup are placed one by one; volumes and resource claims are not read, which Option.debug says
// of a pod that has some; without Options.Cluster, pods on existing nodes and DaemonSets do not count.
package expander
