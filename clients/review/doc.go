// Package review finds placement rules that are void or that look like mistakes: a topology key that no node has, a selector
// that selects no pod, a budget that never allows an eviction. It tells them also where the pods are placed: a rule without
// effect fails no pod.
//
// A finding is a fact about the objects of a snapshot. Where they leave it open, as pods of kinds that are not read may be
// selected, there is none. A finding is no decision: the engine decides, and a review explains what a decision cannot.
//
// What a node selector or a label selector matches is decided by the libraries that kube-scheduler uses
// (k8s.io/component-helpers, k8s.io/apimachinery).
//
// A Reviewer only reads its snapshot, and may be used by several goroutines.
package review
