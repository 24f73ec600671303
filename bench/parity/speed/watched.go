package speed

import (
	"context"
	"fmt"
	"runtime"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// watched measures a snapshot of pods with names, as a client keeps it that watches a cluster: what a name takes, and how long it
// takes to put what one event of the watch changed.
func (r *run) watched(nodes int) error {
	cluster := bigcluster.New(nodes)
	_, counted, err := r.weighed(bigcluster.Compact(cluster))
	if err != nil {
		return err
	}
	named, err := compact.Cluster(bigcluster.StatedInFull(cluster), compact.Options{})
	if err != nil {
		return err
	}
	base, kept, err := r.weighed(named)
	if err != nil {
		return err
	}
	r.set("named-pods", float64(kept-counted)/float64(nodes*bigcluster.PodsPerNode))
	before, err := content.Of(named)
	if err != nil {
		return err
	}
	if got := before.Address().String(); got != base.address {
		return fmt.Errorf("the server has the address %s, not %s", base.address, got)
	}
	want := map[int]string{}
	t, err := r.measurement().of(&subject{
		name: "put of a delta",
		prepare: func(n int) (call, error) {
			messages, address, err := watchEvent(before, named, r.trial())
			want[n] = address
			return func() ([]byte, error) { return r.stowage.stream(messages) }, err
		},
		check: func(n int, answer []byte) error {
			var response stowagev1.PutSnapshotResponse
			if err := proto.Unmarshal(answer, &response); err != nil {
				return err
			}
			if response.Address != want[n] {
				return fmt.Errorf("the server has the address %s, not %s", response.Address, want[n])
			}
			return nil
		},
	})
	if err == nil {
		r.setTime("delta-put", t[0])
	}
	return err
}

// weighed puts a cluster and returns what the server keeps of it.
func (r *run) weighed(c *stowagev1.Cluster) (*target, int64, error) {
	messages, err := stream(c)
	if err != nil {
		return nil, 0, err
	}
	before := liveHeap()
	target, err := r.stowage.target(messages)
	kept := int64(liveHeap()) - int64(before)
	runtime.KeepAlive(messages)
	return target, kept, err
}

// watchEvent returns the messages that put one pod more, and the address of the cluster with it.
func watchEvent(base *content.Content, c *stowagev1.Cluster, trial int) (messages [][]byte, address string, err error) {
	delta := &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{
		NodeName: c.Nodes[trial*7919%len(c.Nodes)].Name,
		Pods: []*stowagev1.Pod{{
			Name: fmt.Sprint("new-", trial), Source: &stowagev1.Pod_Template{Template: bigcluster.Template(2)},
		}},
	}}}
	after, _, err := base.Apply(context.Background(), delta)
	if err != nil {
		return nil, "", err
	}
	address = after.Address().String()
	for _, step := range []*stowagev1.PutSnapshotRequest{
		{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: base.Address().String()}},
		{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: delta}},
		{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: proto.String(address)}}},
	} {
		message, err := proto.Marshal(step)
		if err != nil {
			return nil, "", err
		}
		messages = append(messages, message)
	}
	return messages, address, nil
}
