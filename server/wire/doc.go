// Package wire keeps the clusters of requests in the frames in which gRPC receives them, so that they are decoded from
// there once, into what the engine wants, and never become protobuf messages in between. Everything else of a request is
// an ordinary message.
package wire
