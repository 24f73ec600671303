// Package imagelocality prefers nodes that have a pod's images
// (pkg/scheduler/framework/plugins/imagelocality, v1.37).
package imagelocality

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/plugin"
)

// What an image counts for, in bytes.
const (
	minBytes         = 23 << 20
	maxBytesPerImage = 1000 << 20
)

// Score returns the nodes' scores. An image counts by its size and by the share of all nodes that have it.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	spec := c.Pod.Spec()
	sums, found := make([]int64, c.State.Len()), false
	images := int64(len(spec.ImageVolumes))
	for i := range spec.InitContainers {
		found = add(c, sums, spec.InitContainers[i].Image) || found
		images++
	}
	for i := range spec.Containers {
		found = add(c, sums, spec.Containers[i].Image) || found
		images++
	}
	for _, reference := range spec.ImageVolumes {
		found = add(c, sums, reference) || found
	}
	most := maxBytesPerImage * images
	scores := make([]int64, len(feasible))
	if !found {
		return scores
	}
	for i, n := range feasible {
		sum := sums[n]
		if sum < minBytes {
			sum = minBytes
		} else if sum > most {
			sum = most
		}
		scores[i] = plugin.MaxScore * (sum - minBytes) / (most - minBytes)
	}
	return scores
}

// add counts an image on the nodes that have it, and reports whether any has.
func add(c *plugin.Cycle, sums []int64, name string) bool {
	nodes, size := c.State.Image(normalized(name))
	if nodes == nil || c.State.Ended() {
		return false
	}
	spread := float64(nodes.Len()) / float64(c.State.Len())
	bytes := int64(float64(size) * spread)
	for n := range nodes.All() {
		sums[n] += bytes
	}
	return true
}

// normalized gives an image name without a tag the tag that container runtimes add.
func normalized(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
