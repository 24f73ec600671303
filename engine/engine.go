// Package engine decides on which nodes pods are placed, as kube-scheduler v1.37 does when it evaluates every node.
//
// Compile builds an immutable Cluster from an api.Cluster, a Builder does so part by part, and With derives one cluster
// from another. Filter, Score, Place, Drain and ScaleDown read a Cluster and change only their own state, so any number of
// calls share one without locks. Equal arguments give equal results, at any parallelism. Filter and Place also find which pods
// a pod without feasible nodes would preempt.
//
// The engine is pure: values in, values out, no clock, randomness, logging or IO. A call that cannot finish before its
// context ends returns the context's error. There is no other error.
package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/change"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/memo"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Cluster is a compiled cluster. It is immutable and safe for concurrent use.
type Cluster struct {
	compiled *cluster.Cluster
	plugins  []*plugin.Plugin
	cache    *memo.Map[cacheKey, any]
}

// cacheKey is the key of an answer, which is a FilterOptions.Key, or the key of a caller's value.
type cacheKey struct {
	key    string
	answer bool
}

// Bounds of the cache of a cluster, in bytes, per cluster and per node. An answer takes 4 bytes a node, an encoded one
// about 2 bytes a node for Filter and 4 for Score.
const (
	cacheBytes        = 4 << 20
	cacheBytesPerNode = 4096
)

func newCluster(compiled *cluster.Cluster) *Cluster {
	return &Cluster{
		compiled: compiled,
		plugins:  registry.Plugins,
		cache:    memo.New[cacheKey, any](cacheBytes + int64(compiled.Len())*cacheBytesPerNode),
	}
}

// Compile builds a cluster. It keeps no reference to c's slices.
func Compile(ctx context.Context, c *api.Cluster) (*Cluster, error) {
	compiled, err := cluster.Compile(ctx, c)
	if err != nil {
		return nil, err
	}
	return newCluster(compiled), nil
}

// With returns the cluster that results from a change. c stays unchanged; the clusters share what the change does not affect. Every
// answer is the same as for the resulting cluster compiled from scratch. With keeps nothing of the change's nodes, as Builder does.
func (c *Cluster) With(ctx context.Context, change *api.Delta) (*Cluster, error) {
	compiled, err := c.compiled.With(ctx, change)
	if err != nil {
		return nil, err
	}
	return c.derived(compiled), nil
}

// derived returns a cluster that is derived from c.
func (c *Cluster) derived(compiled *cluster.Cluster) *Cluster {
	d := newCluster(compiled)
	d.plugins = c.plugins
	return d
}

func (c *Cluster) framework(profile *api.Profile) *decide.Framework {
	return decide.NewFramework(profile, c.plugins)
}

// Len returns the number of nodes.
func (c *Cluster) Len() int { return c.compiled.Len() }

// Names returns the nodes' names by index, never nil. They must not be changed.
func (c *Cluster) Names() []string {
	if c.compiled.Names == nil {
		return []string{}
	}
	return c.compiled.Names
}

// Node returns the index of the node with a name, and whether there is one.
func (c *Cluster) Node(name string) (uint32, bool) { return c.compiled.Node(name) }

// Bytes estimates the memory of the cluster, including its caches and the memory shared with other clusters.
func (c *Cluster) Bytes() int64 { return c.compiled.Bytes() + c.cache.Taken() }

// MaxBytes is the limit of Bytes when all caches are full.
func (c *Cluster) MaxBytes() int64 {
	bytes := c.Bytes()
	for _, m := range c.memos() {
		bytes += m.Limit() - m.Taken()
	}
	return bytes
}

// CopiedByChange estimates the bytes that With copies in addition to the change itself, which replaces a number of nodes, adds
// some or removes some.
func (c *Cluster) CopiedByChange(replaced int, added, removed bool) int64 {
	return c.compiled.CopiedByChange(replaced, added, removed)
}

// Remembered is the part of Bytes that caches take.
func (c *Cluster) Remembered() int64 {
	return c.compiled.Remembered() + c.cache.Taken()
}

// RememberAtMost limits the caches to a total size, or to their current size if that is larger. The indexes of terms
// and labels and the free resources of nodes are exempt. It may run concurrently with other calls, and no answer
// depends on it.
func (c *Cluster) RememberAtMost(bytes int64) {
	room := max(0, bytes-c.Remembered())
	var may int64
	for _, m := range c.memos() {
		may += max(0, m.Limit()-m.Taken())
	}
	if may <= room {
		return
	}
	share := float64(room) / float64(may)
	for _, m := range c.memos() {
		taken := m.Taken()
		m.Lower(taken + int64(share*float64(max(0, m.Limit()-taken))))
	}
}

func (c *Cluster) memos() []memo.Bounded { return append(c.compiled.Memos(), c.cache) }

// Kept returns the value that Keep first stored under a key, nil for none.
func (c *Cluster) Kept(key string) any {
	v, _ := c.cache.Load(cacheKey{key: key})
	return v
}

// Keep stores a caller's value of a size with the cluster, if there is room. The value must follow from the cluster and
// the key.
func (c *Cluster) Keep(key string, v any, bytes int64) {
	c.cache.Keep(cacheKey{key: key}, v, bytes+int64(len(key)))
}

// Templates returns the pod templates of the cluster. They must not be changed.
func (c *Cluster) Templates() []*api.PodTemplate { return c.compiled.Templates() }

// Classes returns the node classes of the cluster. They must not be changed.
func (c *Cluster) Classes() []*api.NodeClass { return c.compiled.Classes() }

// FilterOptions are the arguments of Filter in addition to the pod.
type FilterOptions struct {
	Profile *api.Profile
	// Candidates are the nodes to consider, in ascending order without duplicates; nil for all.
	Candidates []uint32
	Explain    bool
	// Changes requests Filter.Changes.
	Changes bool
	// Preempt requests Filter.Preemption if no node is feasible; nil for none.
	Preempt *PreemptOptions
	// Key is a cache key. Calls with equal keys, other than "", must have equal pods, with equal names if the cluster has
	// nominated pods, and equal profiles. The cluster may
	// cache the answer unless Candidates or Explain is set. A cached answer must not be changed.
	Key string
	// Memory is for Filter.Feasible; nil for new memory.
	Memory *Memory
}

// PreemptOptions are the options of preemption.
type PreemptOptions struct {
	// All requests Preemption.Candidates.
	All bool
	// RecountSpread lets PodTopologySpread count as Filter does, without terminating pods and without the pods that an empty selector
	// selects. kube-scheduler's dry run subtracts such victims, though it never counted them.
	RecountSpread bool
	// Safe requests Preemption.Safe; nil for none.
	Safe *SafeOptions
	// AcrossSteps requests Preemption.Across with a budget of steps; 0 for none.
	AcrossSteps int
}

// SafeOptions bound the search for a safe candidate.
type SafeOptions struct {
	// Cascades is how often in a row a pod that comes back may preempt others.
	Cascades int
	// Candidates is the number of candidates that are examined.
	Candidates int
}

// ScoreOptions are the arguments of Score in addition to the pod.
type ScoreOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Key is as in FilterOptions. Score caches, and uses, the feasible nodes.
	Key string
	// TotalsOnly leaves out Score.Plugins.
	TotalsOnly bool
	// Rejections requests Score.Rejections.
	Rejections bool
	// Memory is for Score.Nodes and Score.Totals; nil for new memory.
	Memory *Memory
}

// Filter returns the feasible nodes for the pod, and why the others are infeasible.
func (c *Cluster) Filter(ctx context.Context, pod *api.Pod, o FilterOptions) (*verdict.Filter, error) {
	key := o.Key
	if o.Candidates != nil || o.Explain {
		key = ""
	}
	q := c.ask(ctx, pod, o.Profile, o.Candidates, key)
	a, err := q.answer()
	if err != nil {
		return nil, err
	}
	result := &verdict.Filter{Feasible: o.Memory.indexes(a.feasible), Rejections: a.rejections}
	result.Message, result.Failed = a.event()
	preempts := o.Preempt != nil && len(result.Feasible) == 0 && q.group.Failure == ""
	result.Doubts = doubt.OfPod(o.Profile, pod, q.decided && !preempts, c.undecided(a.undecided())) // a pod group preempts as a whole
	if preempts {
		preemption, err := q.preemption(a.rejections, o.Preempt)
		if err != nil {
			return nil, err
		}
		result.Preemption, result.Message = preemption, preemption.Event(result.Message)
		if preemption != nil && preemption.Safe != nil {
			result.Doubts = append(result.Doubts, preemption.Safe.Doubts...)
		}
	}
	if o.Explain {
		if result.Explanation, err = q.decision().Explain(ctx, q.candidates); err != nil {
			return nil, err
		}
	}
	if o.Changes && len(result.Feasible) == 0 {
		if result.Changes, err = change.Find(ctx, q.decision(), q.candidates); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// Score returns the scores of the feasible nodes.
func (c *Cluster) Score(ctx context.Context, pod *api.Pod, o ScoreOptions) (*verdict.Score, error) {
	key := o.Key
	if o.Candidates != nil {
		key = ""
	}
	q := c.ask(ctx, pod, o.Profile, o.Candidates, key)
	a, err := q.answer()
	if err != nil {
		return nil, err
	}
	nodes := o.Memory.indexes(a.feasible)
	totals := o.Memory.lend(q.state)
	result, err := q.decision().ScoreIn(ctx, nodes, totals, o.TotalsOnly)
	if err != nil {
		return nil, err
	}
	o.Memory.take(q.state, result.Totals)
	result.Message, result.Failed = a.message, a.failed()
	if q.group.Failure != "" {
		result.Message, result.Failed = a.event()
	}
	if failure := q.decision().Failure; failure != nil {
		result = &verdict.Score{Nodes: nodes, Message: failure.Message, Failed: true}
	}
	if o.Rejections {
		result.Rejections = a.rejections
	}
	result.Doubts = doubt.OfPod(o.Profile, pod, q.decided, c.undecided(a.undecided()))
	return result, nil
}

func (c *Cluster) candidates(nodes []uint32) nodeset.Set {
	if nodes == nil {
		return nodeset.Full(c.compiled.Len())
	}
	return nodeset.Of(c.compiled.Len(), nodes)
}
