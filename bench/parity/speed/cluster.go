package speed

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// newCluster is a cluster of bench/bigcluster with companions: pods that cases look for. They are in two zones of three,
// and in one.
func newCluster(nodes int) *stowagev1.Cluster { return withCompanions(bigcluster.New(nodes)) }

func withCompanions(c *stowagev1.Cluster) *stowagev1.Cluster {
	cache, canary := addTemplate(c, "cache"), addTemplate(c, "canary")
	for i, n := range c.Nodes {
		zone := i % bigcluster.Pools % bigcluster.Zones
		if zone < 2 && i%40 < 2 {
			n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{TemplateIndex: cache, Count: 1})
		}
		if zone == 0 && i%300 == 0 {
			n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{TemplateIndex: canary, Count: 1})
		}
	}
	return c
}

func addTemplate(c *stowagev1.Cluster, app string) uint32 {
	t := bigcluster.Template(0)
	t.Namespace, t.Labels = "apps", map[string]string{"app": app}
	t.Spec.TopologySpreadConstraints = nil
	c.PodTemplates = append(c.PodTemplates, t)
	return uint32(len(c.PodTemplates) - 1)
}

// chunkBytes is about how much of a cluster one message of a stream brings.
const chunkBytes = 1 << 20

// stream states a cluster as the messages that put it, but for the end.
func stream(c *stowagev1.Cluster) ([][]byte, error) {
	nodes := c.Nodes
	c.Nodes = nil
	part := proto.CloneOf(c) // whatever lists a cluster has
	c.Nodes = nodes
	var messages [][]byte
	add := func() error {
		message, err := step(part)
		messages = append(messages, message)
		return err
	}
	size := proto.Size(part)
	for _, n := range c.Nodes {
		if size >= chunkBytes {
			if err := add(); err != nil {
				return nil, err
			}
			part, size = &stowagev1.Cluster{}, 0
		}
		part.Nodes = append(part.Nodes, n)
		size += proto.Size(n)
	}
	return messages, add()
}

func step(part *stowagev1.Cluster) ([]byte, error) {
	return proto.Marshal(&stowagev1.PutSnapshotRequest{
		Step: &stowagev1.PutSnapshotRequest_Part{Part: part},
	})
}

// ended is the stream with its end. Each trial but the first is another cluster, with a namespace without pods more, about
// which every answer is the same.
func ended(messages [][]byte, trial int) ([][]byte, error) {
	out := append([][]byte(nil), messages...)
	if trial > 0 {
		empty := &stowagev1.Cluster{Namespaces: []*stowagev1.Namespace{{Name: fmt.Sprintf("trial-%d", trial)}}}
		message, err := step(empty)
		if err != nil {
			return nil, err
		}
		out = append(out, message)
	}
	end, err := proto.Marshal(&stowagev1.PutSnapshotRequest{
		Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}},
	})
	return append(out, end), err
}

// bytesOf is the size of messages together.
func bytesOf(messages [][]byte) int {
	total := 0
	for _, m := range messages {
		total += len(m)
	}
	return total
}
