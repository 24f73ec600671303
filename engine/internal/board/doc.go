// Package board finds the best node for each pod of a queue without evaluating every node for every pod. The result is
// the same as after filtering and scoring all nodes.
//
// A Class is the board's view of one equivalence class. It divides the nodes into buckets. The nodes of a bucket are all
// feasible or all infeasible, and their scores differ only by resource score:
//
//   - Properties that no pod changes (taints, node affinity, images, inclusion policies) divide nodes into cells.
//   - A topology key of low cardinality divides the cells further. Best looks up the pod counts of its domains once per
//     bucket, so a pod that counts for a third of all nodes moves none of them.
//   - A key of high cardinality (hostnames, racks) divides nodes by the pod counts of their domains. A node moves to
//     another bucket when the count of its domain changes.
//
// Scores are normalized over the feasible nodes, and therefore over the feasible buckets. A bucket keeps its nodes in a
// heap ordered by resource score and tie-break. Heap entries are upper bounds. An entry whose score fell is corrected at the
// top of the heap; a node whose score rose gets another entry. Resource scores are kept per distinct request and
// updated only for nodes that pods came to or left.
//
// Pods may leave, nodes may be cordoned, and all of that may be undone. The state has a chain of its moves (cluster.Move). Scores,
// indexes and classes each know up to which move they have counted, and catch up on the way from there to the state's last move: they
// take back the moves that were undone, and count the others. So the trials of a call share one board, and each trial costs what it
// changes. A class that cannot follow a move is stale, and is compiled again.
//
// Classes share cells, heaps and resource scores where these are equal. Everything is computed on first use.
package board
