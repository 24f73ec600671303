// Package api holds the values in which a caller states a cluster, a pod and a profile to the engine, in Kubernetes'
// words.
//
// They are plain data. The engine reads them while it compiles and keeps no reference to the slices afterwards; it
// trusts the invariants that stand beside the fields (the server's decoder establishes them for requests).
//
// Quantities are integers: cpu in thousandths of a core, memory, ephemeral-storage and hugepages in bytes, everything
// else as a count.
package api
