// Package cluster holds a compiled cluster: columns over dense node indexes, and groups of equal pods.
//
// A Cluster is immutable, and any number of requests share it without locks. Values cached on demand, such as topology columns and
// counts of terms, are published once by atomic pointer. A cluster derived by With shares the unchanged parts with its base. A State
// is one request's private view of a cluster: the strings that the cluster does not know, and a journal of assumed and evicted pods,
// which can be undone to any mark.
//
// Node indexes follow the order of the request. Quantities have the units of package api.
package cluster
