// Package loopback has what measuring over loopback needs: Stowage's server and an echo server in this process, a client
// that passes messages as bytes, and clocks.
//
// The client neither encodes nor decodes, so that a call costs what the server and gRPC make of it. The echo server is
// the floor: it receives the same bytes with the same settings, and answers with how many there were.
package loopback
