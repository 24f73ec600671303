// Package wire receives requests without copying their clusters: a cluster stays in the frames that gRPC received and is
// decoded from there directly into the engine's values. The rest of a request is unmarshalled as usual.
package wire
