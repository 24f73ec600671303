// Package advice finds changes of a workload, rather than of one pod or node, that give a pending pod of it a node: a rule that is only
// preferred in all of its pods, fewer replicas, a higher priority, another node for the pod that it must be with,
// another class or volume for a claim, another request for devices, or devices that are freed. Each of them is played by
// SimulationService.WhatIf before it is offered.
package advice
