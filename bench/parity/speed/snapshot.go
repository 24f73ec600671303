package speed

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// memory measures what the server keeps of the big cluster, and how long it takes to put it.
func (r *run) memory(nodes int) error {
	for key, c := range map[string]*stowagev1.Cluster{"wire-pools": bigcluster.New(nodes), "wire-random": bigcluster.Random(nodes)} {
		messages, err := stream(bigcluster.Compact(c))
		if err != nil {
			return err
		}
		r.set(key, float64(bytesOf(messages))/1e6)
	}
	messages, err := stream(bigcluster.Compact(newCluster(nodes)))
	if err != nil {
		return err
	}
	put := func(trial int) (call, error) {
		stream, err := ended(messages, trial)
		return func() ([]byte, error) { return r.stowage.stream(stream) }, err
	}
	// The first snapshot brings what the server makes once, the second is the one to weigh.
	var kept uint64
	for range 2 {
		do, err := put(r.trial())
		if err != nil {
			return err
		}
		before := liveHeap()
		if _, err := do(); err != nil {
			return err
		}
		kept = liveHeap() - before
	}
	r.set("memory", float64(kept)/(1<<20))

	t, err := r.measurement().of(&subject{
		name:    "put",
		prepare: func(int) (call, error) { return put(r.trial()) },
		check:   func(_ int, answer []byte) error { return checkPut(answer, nodes) },
	})
	if err == nil {
		r.setTime("put", t[0])
	}
	return err
}

func checkPut(answer []byte, nodes int) error {
	var response stowagev1.PutSnapshotResponse
	if err := proto.Unmarshal(answer, &response); err != nil {
		return err
	}
	if response.NodeCount != uint32(nodes) {
		return fmt.Errorf("the server has a snapshot of %d nodes, not %d", response.NodeCount, nodes)
	}
	return nil
}
