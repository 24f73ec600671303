package engine

import "github.com/stowage-scheduler/stowage/engine/api"

// PodsOn returns the number of pods on a node.
func (c *Cluster) PodsOn(node uint32) int64 { return c.compiled.PodsOn(node) }

// ClassOf returns the class of a node, nil if it has none.
func (c *Cluster) ClassOf(node uint32) *api.NodeClass { return c.compiled.ClassOf(node) }

// Interned returns the number of interned strings, taint lists, node classes and pod loads, including entries used only by removed
// nodes.
func (c *Cluster) Interned() int { return c.compiled.Interned() }
