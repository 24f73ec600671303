package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Image returns the nodes that have an image, nil for none, and its size on the first of them
// (pkg/scheduler/backend/cache addNodeImageStates, v1.37).
func (c *Cluster) Image(name string) (nodes nodeset.Set, sizeBytes int64) {
	own := c.images[name].moved(c.imagesMoved)
	first := noNode
	if own != nil {
		nodes, first, sizeBytes = nodeset.Of(c.Len(), own.Nodes), own.Nodes[0], own.Values[0]
	}
	var sizes []int64 // by kind, -1 for none; nil if no kind has the image
	for i, k := range c.kinds {
		if k == nil {
			continue
		}
		if at, found := slices.BinarySearchFunc(k.images, name, compareName); found {
			if sizes == nil {
				sizes = slices.Repeat([]int64{-1}, len(c.kinds))
			}
			sizes[i] = k.images[at].value
		}
	}
	if sizes == nil {
		return nodes, sizeBytes
	}
	if nodes == nil {
		nodes = nodeset.New(c.Len())
	}
	for i := range uint32(c.Len()) {
		size := sizes[*c.kind.at(i)]
		if size < 0 {
			continue
		}
		nodes.Add(i)
		// The images of a node's class precede its own.
		if i <= first {
			first, sizeBytes = i, size
		}
	}
	if nodes.Empty() {
		return nil, 0
	}
	return nodes, sizeBytes
}

// appendImages appends the names of images with their sizes.
func appendImages(list []named[int64], images []api.Image) []named[int64] {
	for i := range images {
		for _, name := range images[i].Names {
			list = append(list, named[int64]{name, images[i].SizeBytes})
		}
	}
	return list
}
