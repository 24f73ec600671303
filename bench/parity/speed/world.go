package speed

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// world is a cluster that the server has, and what it decided on it.
type world struct {
	size   int
	target *target
	want   map[*podCase]decision
	// nodes are the first nodes, as they were put. No more is kept: what the garbage collector goes through here, calls
	// pay for.
	nodes []*stowagev1.Node
}

// changedNodes is how many of the nodes deltas change.
const changedNodes = 1000

// world puts the cluster of a size and asks about each case.
func (r *run) world(nodes int) (*world, error) {
	return r.put(bigcluster.Compact(newCluster(nodes)), r.cases)
}

// put puts a cluster and asks about each case.
func (r *run) put(cluster *stowagev1.Cluster, cases []*podCase) (*world, error) {
	w := newWorld(cluster)
	messages, err := stream(cluster)
	if err != nil {
		return nil, err
	}
	if w.target, err = r.stowage.target(messages); err != nil {
		return nil, err
	}
	return w, r.decide(w, cases)
}

// newWorld is the world of a cluster that was not put yet.
func newWorld(c *stowagev1.Cluster) *world {
	return &world{
		size:  len(c.Nodes),
		nodes: slices.Clone(c.Nodes[:min(changedNodes, len(c.Nodes))]),
		want:  map[*podCase]decision{},
	}
}

// decide asks about each case.
func (r *run) decide(w *world, cases []*podCase) error {
	for _, c := range cases {
		d, err := r.stowage.decide(w.target, c.pod(0))
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if len(d.feasible) == 0 || len(d.feasible) == w.size || len(d.best) == 0 {
			return fmt.Errorf("%s: %d nodes of %d can take the pod, %d are the best: not a case to measure",
				c.Name, len(d.feasible), w.size, len(d.best))
		}
		w.want[c] = d
	}
	return nil
}

// seen is a Filter of a pod whose template the server has seen before.
func (r *run) seen(w *world, c *podCase) (*subject, error) {
	request, err := w.target.filterRequest(c.pod(0))
	if err != nil {
		return nil, err
	}
	s := always("filter, "+c.Name, func() ([]byte, error) { return r.stowage.filter(request) })
	s.want = w.want[c].filter
	return s, nil
}

// first is a Filter of a pod of a new template each time.
func (r *run) first(w *world, c *podCase) *subject {
	return &subject{
		name: "first filter, " + c.Name,
		want: w.want[c].filter,
		prepare: func(int) (call, error) {
			request, err := w.target.filterRequest(c.pod(r.trial()))
			return func() ([]byte, error) { return r.stowage.filter(request) }, err
		},
	}
}

// scored is a Score of the pod, of a new template each time or always of the same.
func (r *run) scored(w *world, c *podCase, fresh bool) *subject {
	return &subject{
		name: "score, " + c.Name,
		want: w.want[c].score,
		prepare: func(int) (call, error) {
			request, err := w.target.scoreRequest(c.pod(r.trialIf(fresh)))
			return func() ([]byte, error) { return r.stowage.score(request) }, err
		},
	}
}

// both is a Filter and a Score of the pod in one call, of a new template each time or always of the same.
func (r *run) both(w *world, c *podCase, fresh bool) *subject {
	return &subject{
		name: "filter and score, " + c.Name,
		want: w.want[c].both,
		prepare: func(int) (call, error) {
			request, err := w.target.bothRequest(c.pod(r.trialIf(fresh)))
			return func() ([]byte, error) { return r.stowage.score(request) }, err
		},
	}
}

func (r *run) trialIf(fresh bool) int {
	if fresh {
		return r.trial()
	}
	return 0
}

// accepts checks that an answer to a Filter of a case is the one that the world knows, but for a node.
func (w *world) accepts(c *podCase, answer []byte, without ...uint32) error {
	got, err := feasible(answer)
	if err != nil {
		return err
	}
	want := slices.DeleteFunc(slices.Clone(w.want[c].feasible), func(n uint32) bool { return slices.Contains(without, n) })
	return decision{feasible: got}.differs(decision{feasible: want})
}
