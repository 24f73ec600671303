// Package words has the sentences of answers: which change would place a pod, what keeps it from a node, which pods are preempted. Where
// kube-scheduler has a wording, the sentence uses it. Responses must name nodes (include_node_names).
package words
