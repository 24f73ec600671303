// Package connect has the flags for connections of commands to Stowage, and TLS credentials for clients and servers that reload changed
// files.
package connect
