// Package compare puts a case to Stowage and tells where its answers differ from kube-scheduler's.
//
// Stowage gets the objects through clients/kube, as requests, and answers in process (decode, engine, encode) or over
// gRPC. Both forms of an object must come to the same: the manifest, which the client library completes, and what the
// API server stored.
package compare
