// Package review finds placement rules that are void or look like mistakes: a topology key that no node has, a selector that selects
// no pod, a budget that never allows an eviction. It reports them even if the pods have nodes, because a rule without effect never
// leaves a pod pending.
//
// A finding is a fact about the objects of a snapshot. If the objects leave it open, for example because a selector might select pods
// of unsupported kinds, there is no finding. A finding is not a decision: the engine decides, and a review explains what a decision
// cannot.
//
// Node selectors and label selectors are matched by kube-scheduler's libraries (k8s.io/component-helpers, k8s.io/apimachinery).
//
// A Reviewer only reads its snapshot, and may be used by several goroutines.
package review
