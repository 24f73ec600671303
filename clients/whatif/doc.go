// Package whatif reports the effects of a change on the pods of a cluster, on workloads and their replicas, and on the
// PodDisruptionBudgets that select them. It joins the answers of SimulationService.WhatIf with the objects of a snapshot.
//
// The command prints the values as JSON and YAML. Lists are never nil.
package whatif
