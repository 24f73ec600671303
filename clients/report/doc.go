// Package report renders responses for people: a picture of nodes and pods, tables of verdicts, scores and counts, and one
// line that says what keeps a pod from being placed. Output is plain text, with the colours of an Ink if there is one, and
// equal for equal responses. Where kube-scheduler has a wording, the report uses it.
//
// Responses must name nodes (include_node_names).
package report
