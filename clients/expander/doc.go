// Package expander selects a node group for Cluster Autoscaler with --expander=grpc.
//
// Cluster Autoscaler sends options: each has a node group, the number of nodes to add, and the pods that need them. The expander
// verifies every option: it adds the nodes to a cluster and places the pods, with kube-scheduler's decisions. One call of WhatIf
// verifies all options, each with its own delta. By default the cluster has no other nodes; with Options.Cluster it has the nodes
// of a live cluster with their pods, and the new nodes have their DaemonSet pods.
//
// The best options, in this order, place the most pods; cost the least, by Prices; have the fewest nodes; and waste the least: the
// mean of the fractions of cpu and memory of the new nodes that the placed pods do not request. Options of a group without a price
// come last. Options that are equal in all of this are all returned, and Cluster Autoscaler's next expander selects one of them.
// Option.debug has the reasons.
//
// An unreadable option is not selected, nor an option whose new nodes remain empty because the pods now fit on existing nodes. If no
// option places a pod on its nodes, or time runs out, the response is an error, and Cluster Autoscaler continues with all options.
// With Options.Refuse the response is empty in the first case, so that Cluster Autoscaler of 1.35 or later adds no nodes.
//
// New nodes have the CSI drivers, and the limits of attached volumes, of a node of the cluster with the same instance type (kube.StorageOf).
//
// They also have the devices of such a node, of the pools that it has alone: Cluster Autoscaler sends no ResourceSlices. Option.debug names the node,
// or reports that there is none, where pods have resource claims.
//
// Limits: pods of a PodGroup are placed one by one; without Options.Cluster, pods on existing nodes and DaemonSets do not count, and volumes
// and devices are not read.
package expander
