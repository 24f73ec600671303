// Command stowage-expander is a gRPC expander for Cluster Autoscaler that verifies its options with Stowage's decisions. It exits
// with 2 if a setting is invalid, with 1 after any other error.
package main

import (
	"github.com/stowage-scheduler/stowage/clients/expander"
	"github.com/stowage-scheduler/stowage/clients/process"
)

func main() {
	process.Main("stowage-expander", "Cluster Autoscaler's gRPC expander that verifies options with Stowage's decisions.",
		&expander.Config{})
}
