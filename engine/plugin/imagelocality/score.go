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
	var sums []int64 // by node; nil if none has any of the images
	images := int64(len(spec.ImageVolumes))
	for i := range spec.InitContainers {
		sums = add(c, sums, spec.InitContainers[i].Image)
		images++
	}
	for i := range spec.Containers {
		sums = add(c, sums, spec.Containers[i].Image)
		images++
	}
	for _, reference := range spec.ImageVolumes {
		sums = add(c, sums, reference)
	}
	most := maxBytesPerImage * images
	scores := c.Scores(len(feasible))
	if sums == nil {
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

// add counts an image on the nodes that have it.
func add(c *plugin.Cycle, sums []int64, name string) []int64 {
	nodes, size := c.State.Image(normalized(name))
	if nodes == nil || c.State.Ended() {
		return sums
	}
	if sums == nil {
		sums = make([]int64, c.State.Len())
	}
	spread := float64(nodes.Len()) / float64(c.State.Len())
	bytes := int64(float64(size) * spread)
	for n := range nodes.All() {
		sums[n] += bytes
	}
	return sums
}

// normalized gives an image name without a tag the tag that container runtimes add.
func normalized(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
