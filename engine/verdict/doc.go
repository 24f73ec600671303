// Package verdict holds what a decision says: plugins, reasons with kube-scheduler's texts, rejections, scores,
// placements and explanations, as plain values.
//
// Nodes are named by their index in the cluster. Lists of nodes are in ascending order unless a field says otherwise.
package verdict
