// Package connect is how commands that run in a cluster reach Stowage and the API server: flags to embed in a kong command
// line, and TLS of which the files are read again when they change, both as client and as server.
package connect
