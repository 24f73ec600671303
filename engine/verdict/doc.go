// Package verdict holds the results of decisions: plugins, reasons with kube-scheduler's texts, rejections, scores, placements and
// explanations, as plain values.
//
// Nodes are named by their index in the cluster. Lists of nodes are in ascending order unless a field specifies otherwise.
package verdict
