// Command stowage-batch schedules pods in batches, by Stowage's decisions. It exits with 2 if a setting is invalid, with 1
// after any other error.
package main

import (
	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/process"
)

func main() {
	process.Main("stowage-batch", "Schedules pods in batches, by Stowage's decisions.", &batch.Config{})
}
