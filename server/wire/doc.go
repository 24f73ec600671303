// Package wire keeps the clusters of requests in the frames in which gRPC receives them, so that they are decoded from
// there once, into what the engine wants, and never become protobuf messages in between. The rest of a request is for its
// decoder.
package wire
