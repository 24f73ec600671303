// Package cluster holds a compiled cluster: columns over dense node indexes, and groups of equal pods.
//
// A Cluster is immutable once Build or With returns it, and shared by any number of requests without locks; what is
// computed on demand and worth keeping (topology columns, counts of terms) is published once by atomic pointer. Clusters
// that With derives share what did not change with the one they come from. A State is one request's private view of a
// cluster: it holds what the request adds, namely strings the cluster does not know, and a journal of the pods that it
// assumes and evicts along the way, which can be undone to any mark.
//
// Nodes are indexes in the order in which they were stated. Quantities have the units of package api.
package cluster
