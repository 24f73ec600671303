// Package api holds the input values of the engine: clusters, pods and profiles, in Kubernetes' terms.
//
// The values are plain data. The engine reads them while it compiles and keeps no reference to the slices afterwards.
// It relies on the invariants that are documented at the fields; the server's decoder establishes them for requests.
//
// Quantities are integers: cpu in thousandths of a core, memory, ephemeral-storage and hugepages in bytes, everything
// else as a count.
package api
