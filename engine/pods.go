package engine

import "github.com/stowage-scheduler/stowage/engine/api"

// PodsOn returns how many pods are on a node.
func (c *Cluster) PodsOn(node uint32) int64 { return c.compiled.PodsOn(node) }

// ClassOf returns the class of a node as it was stated, nil if the node has none.
func (c *Cluster) ClassOf(node uint32) *api.NodeClass { return c.compiled.ClassOf(node) }
