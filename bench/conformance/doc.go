// Package conformance tells whether something that answers stowage.v1 requests decides as kube-scheduler v1.37 does.
//
// A case is a PlaceRequest with the answers that it must get, and those that Filter and Score must give for each entry of
// its queue. Cases come from kube-scheduler itself: from a run beside it, or from a corpus that was written down once, so
// that neither this package nor who uses it depends on kube-scheduler. Answers are compared as messages, so every field
// counts; nothing is close, only equal. Of explanations only failing_checks is compared, as the rest is Stowage's own.
package conformance
