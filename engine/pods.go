package engine

import "github.com/stowage-scheduler/stowage/engine/api"

// PodsOn returns how many pods are on a node.
func (c *Cluster) PodsOn(node uint32) int64 { return c.compiled.PodsOn(node) }

// ClassOf returns the class of a node as it was stated, nil if the node has none.
func (c *Cluster) ClassOf(node uint32) *api.NodeClass { return c.compiled.ClassOf(node) }

// Interned returns how many strings, lists of taints, node classes and loads of pods the cluster holds, of nodes that went
// included.
func (c *Cluster) Interned() int { return c.compiled.Interned() }
