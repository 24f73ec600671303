// Package loopback has what measuring over loopback needs: Stowage's server and an echo server in this process, a client
// that passes messages as bytes, and clocks.
//
// The client neither encodes nor decodes, so that a call costs what the server and gRPC make of it. The echo server is
// the floor: with the same settings it sends back the bytes that it receives, or only counts them, and looks at none.
package loopback
