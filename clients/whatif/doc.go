// Package whatif tells what becomes of the pods of a cluster after a change: of workloads and their replicas, and of the
// PodDisruptionBudgets that select them. It joins the answers of SimulationService.WhatIf with the objects of a snapshot.
//
// The values are those that the command prints as JSON and YAML. Lists are never nil.
package whatif
