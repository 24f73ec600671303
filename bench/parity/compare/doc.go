// Package compare decides a case with Stowage and reports the differences from kube-scheduler's answers.
//
// Stowage gets the objects through clients/kube, as requests, and answers in process (decode, engine, encode) or over gRPC. Both
// forms of an object must lead to equal requests: the manifest, which the client library completes, and the object that the API
// server stored.
package compare
