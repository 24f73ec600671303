package scenarios_test

import (
	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// inEngine answers questions without gRPC: the service decodes, calls the engine and encodes.
var inEngine = scenarios.Client(conformance.Direct(placement.New(0, nil)))
