// Package connect has the flags by which commands in a cluster connect to Stowage and to the API server, and TLS
// credentials, for clients and servers, that reload their files when these change.
package connect
