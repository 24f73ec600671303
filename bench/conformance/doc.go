// Package conformance checks whether an implementation of stowage.v1 decides as kube-scheduler v1.37 does.
//
// A case is a PlaceRequest with its expected answers, and the expected answers of Filter and Score for each entry of its queue. The
// answers are kube-scheduler's. They come from the parity module, which runs kube-scheduler, or from a recorded corpus, so this
// package and its users do not depend on kube-scheduler. Answers are compared as messages, every field for equality. In explanations
// only failing_checks is compared, because kube-scheduler has no counterpart of the rest.
package conformance
