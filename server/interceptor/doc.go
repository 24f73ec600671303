// Package interceptor holds the gRPC server interceptors and their order, see Chain.
//
// Health checks and reflection pass only the outermost recovery: they are neither logged nor limited, so an overloaded
// server still answers probes. All types are safe for concurrent use; calls share only atomics.
package interceptor
