package cluster

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// image says who has an image: the nodes of some kinds, and some nodes for themselves.
type image struct {
	kinds     []int32
	kindSizes []int64 // one for each of kinds
	nodes     []uint32
	sizes     []int64 // one for each of nodes
}

// Image returns the nodes that have an image, nil if there are none, and its size as the first of them says
// (pkg/scheduler/backend/cache addNodeImageStates, v1.37).
func (c *Cluster) Image(name string) (nodes nodeset.Set, sizeBytes int64) {
	m := c.images[name]
	if m == nil {
		return nil, 0
	}
	nodes = nodeset.Of(c.Len(), m.nodes)
	first := noNode
	if len(m.nodes) > 0 {
		first, sizeBytes = m.nodes[0], m.sizes[0]
	}
	if len(m.kinds) == 0 {
		return nodes, sizeBytes
	}
	has := make([]bool, len(c.kinds))
	for _, k := range m.kinds {
		has[k] = true
	}
	for i, k := range c.kindOf {
		if !has[k] {
			continue
		}
		nodes.Add(uint32(i))
		// What a node has of its class comes before what it has for itself.
		if uint32(i) <= first {
			first, sizeBytes = uint32(i), m.kindSizes[slices.Index(m.kinds, k)]
		}
	}
	if nodes.Empty() {
		return nil, 0
	}
	return nodes, sizeBytes
}

// eachImage calls use once for each name in a list of images.
func eachImage(images []api.Image, use func(name string, sizeBytes int64)) {
	for i := range images {
		for _, name := range images[i].Names {
			use(name, images[i].SizeBytes)
		}
	}
}

func (c *Cluster) image(name string) *image {
	m := c.images[name]
	if m == nil {
		m = &image{}
		c.images[strings.Clone(name)] = m
	}
	return m
}

// addKindImage adds an image of the class that was compiled last. The first of its name counts.
func (c *Cluster) addKindImage(name string, kind int32, sizeBytes int64) {
	m := c.image(name)
	if n := len(m.kinds); n == 0 || m.kinds[n-1] != kind {
		m.kinds, m.kindSizes = append(m.kinds, kind), append(m.kindSizes, sizeBytes)
	}
}

// addImage adds an image of the last node, unless one of its name is there: the first counts.
func (c *Cluster) addImage(name string, node uint32, sizeBytes int64) (added bool) {
	m := c.image(name)
	if n := len(m.nodes); n > 0 && m.nodes[n-1] == node {
		return false
	}
	m.nodes, m.sizes = append(m.nodes, node), append(m.sizes, sizeBytes)
	return true
}
