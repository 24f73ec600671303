// Command stowage-extender is an HTTP extender for kube-scheduler that answers with Stowage's decisions. It exits with 2 if a
// setting is invalid, with 1 after any other error.
package main

import (
	"github.com/stowage-scheduler/stowage/clients/extender"
	"github.com/stowage-scheduler/stowage/clients/process"
)

func main() {
	process.Main("stowage-extender", "kube-scheduler's HTTP extender that answers with Stowage's decisions.", &extender.Config{})
}
