// Package imagelocality prefers nodes that have a pod's images
// (pkg/scheduler/framework/plugins/imagelocality, v1.37).
package imagelocality

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is ImageLocality.
var Plugin = &plugin.Plugin{
	Name:   verdict.ImageLocality,
	Score:  Score,
	Weight: func(w *api.Weights) *int64 { return &w.ImageLocality },
}

// Image sizes outside of this range do not count, in bytes.
const (
	minBytes         = 23 << 20
	maxBytesPerImage = 1000 << 20
)

// Score returns the nodes' scores. An image counts with its size times the share of nodes that have it.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	scores := c.Scores(len(feasible))
	sums, images := sums(c)
	if sums == nil {
		return scores
	}
	for i, n := range feasible {
		scores[i] = score(sums[n], images)
	}
	return scores
}

// ByNode returns the scores of all nodes; nil if all are 0.
func ByNode(c *plugin.Cycle) []int64 {
	scores, images := sums(c)
	for n, sum := range scores {
		scores[n] = score(sum, images)
	}
	return scores
}

func score(sum, images int64) int64 {
	most := maxBytesPerImage * images
	return plugin.MaxScore * (min(max(sum, minBytes), most) - minBytes) / (most - minBytes)
}

// sums returns the sizes of the pod's images by node, nil if no node has one, and the number of images.
func sums(c *plugin.Cycle) (sums []int64, images int64) {
	spec := c.Pod.Spec()
	images = int64(len(spec.ImageVolumes))
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
	return sums, images
}

// add adds an image to the nodes that have it.
func add(c *plugin.Cycle, sums []int64, name string) []int64 {
	if !c.State.ImagesCount() {
		return sums
	}
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

// normalized adds the default tag to an image name without a tag, as container runtimes do.
func normalized(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
