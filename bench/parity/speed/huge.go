package speed

import (
	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
)

// 500,000 nodes with 5 million pods.
const (
	hugeNodes       = 500_000
	hugePodsPerNode = 10
	// hugeSnapshots is room for such clusters.
	hugeSnapshots = 8 << 30
)

// huge measures a cluster that is far larger than the largest there are.
func (r *run) huge() error {
	server, err := loopback.ServeStowageWith(hugeSnapshots)
	if err != nil {
		return err
	}
	defer server.Stop()
	client, err := loopback.Dial(server.Address)
	if err != nil {
		return err
	}
	defer client.Close()
	usual := r.stowage
	defer func() { r.stowage = usual }()
	r.stowage = stowage{client}
	w, messages, err := hugeWorld()
	if err != nil {
		return err
	}
	together := r.find(all)
	var t []timing
	peak, err := peakHeap(func() error {
		put, err := measurement{turns: 1}.of(&subject{
			name: "put",
			prepare: func(int) (call, error) {
				all, err := ended(messages, r.trial())
				return func() ([]byte, error) { return r.stowage.stream(all) }, err
			},
			check: func(_ int, answer []byte) error { return checkPut(answer, w.size) },
		})
		if err != nil {
			return err
		}
		if w.target, err = r.stowage.target(messages); err != nil {
			return err
		}
		if err := r.decide(w, r.cases); err != nil {
			return err
		}
		seen, err := r.seen(w, together)
		if err != nil {
			return err
		}
		t, err = measurement{turns: 3}.of(seen, r.first(w, together), r.deltas(w, r.find(hostname), onePodMore))
		t = append(t, put...)
		return err
	})
	if err != nil {
		return err
	}
	r.set("huge-memory", float64(peak)/(1<<30))
	for i, key := range []string{"huge-filter", "huge-first", "huge-delta", "huge-put"} {
		r.setTime(key, t[i])
	}
	return nil
}

// hugeWorld is a world that was not put yet, and the messages that put it. Nothing else of it stays in memory.
func hugeWorld() (*world, [][]byte, error) {
	cluster := bigcluster.New(hugeNodes)
	for _, n := range cluster.Nodes {
		n.PodCounts = n.PodCounts[:hugePodsPerNode]
	}
	cluster = bigcluster.Compact(withCompanions(cluster))
	messages, err := stream(cluster)
	return newWorld(cluster), messages, err
}
