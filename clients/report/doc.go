// Package report shows answers to people: a picture of who is where, tables of verdicts, scores and counts, and what
// keeps a pod from being placed in one line. It is all plain text, and the same for the same answer. Where
// kube-scheduler has a wording, that is used.
//
// Answers must name nodes (include_node_names).
package report
