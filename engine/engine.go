// Package engine decides where pods go, as kube-scheduler v1.37 does with every node considered.
//
// Compile, or a Builder, turns a stated cluster into an immutable one; With derives another from it. Filter, Score and Place read it; what a call changes is its
// own, so any number of calls may share a cluster without locks. The same arguments give the same result, whatever the
// parallelism.
//
// The engine is pure: values in, values out, no clock, randomness, logging or IO. A call returns the context's error if
// the context ends before the answer is there, and no other error.
package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/change"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
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
	answers  *answers
	kept     *memo.Map[string, any]
}

func newCluster(compiled *cluster.Cluster) *Cluster {
	return &Cluster{
		compiled: compiled,
		plugins:  registry.Plugins,
		answers:  newAnswers(compiled.Len()),
		kept:     memo.New[string, any](keptBytes + int64(compiled.Len())*keptBytesPerNode),
	}
}

// Compile compiles a cluster. It keeps no reference to c's slices.
func Compile(ctx context.Context, c *api.Cluster) (*Cluster, error) {
	compiled, err := cluster.Compile(ctx, c)
	if err != nil {
		return nil, err
	}
	return newCluster(compiled), nil
}

// With returns the cluster that a change turns c into; c stays as it is, and the two share what the change leaves alone.
// Every answer is that of the resulting cluster compiled anew. Of the change's nodes nothing is kept, as with Builder.
func (c *Cluster) With(ctx context.Context, change *api.Change) (*Cluster, error) {
	compiled, err := c.compiled.With(ctx, change)
	if err != nil {
		return nil, err
	}
	return newCluster(compiled), nil
}

func (c *Cluster) framework(profile *api.Profile) *decide.Framework {
	return decide.NewFramework(profile, c.plugins)
}

// Len returns the number of nodes.
func (c *Cluster) Len() int { return c.compiled.Len() }

// Names returns the nodes' names by index. They must not be changed.
func (c *Cluster) Names() []string { return c.compiled.Names }

// Node returns the index of the node with a name, and whether there is one.
func (c *Cluster) Node(name string) (uint32, bool) { return c.compiled.Node(name) }

// Bytes estimates the memory that the cluster keeps: what it remembers at the moment and what it shares with other
// clusters are included.
func (c *Cluster) Bytes() int64 { return c.compiled.Bytes() + c.answers.Taken() + c.kept.Taken() }

// MaxBytes is what Bytes may grow to as the cluster remembers more.
func (c *Cluster) MaxBytes() int64 {
	bytes := c.Bytes() + c.compiled.ToFind()
	for _, m := range c.memos() {
		bytes += m.Limit() - m.Taken()
	}
	return bytes
}

// CopiedByChange estimates how many bytes With copies, besides what the change itself states. It depends on whether nodes
// are added and whether some are removed.
func (c *Cluster) CopiedByChange(added, removed bool) int64 {
	return c.compiled.CopiedByChange(added, removed)
}

// Remembered is the part of Bytes that grows as the cluster remembers more.
func (c *Cluster) Remembered() int64 {
	return c.compiled.Remembered() + c.answers.Taken() + c.kept.Taken()
}

// RememberAtMost makes the cluster remember so many bytes in all, or what it does already; the terms and labels of its
// pods and the room of its nodes it finds in any case. It may be called while the cluster is asked, and no answer depends
// on it.
func (c *Cluster) RememberAtMost(bytes int64) {
	room := max(0, bytes-c.Remembered()-c.compiled.ToFind())
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

func (c *Cluster) memos() []memo.Bounded { return append(c.compiled.Memos(), c.answers, c.kept) }

// Bounds of what callers keep with a cluster, in bytes: some for every cluster and some for each node. An encoded answer
// takes some 2 bytes a node for a filter and 4 for a score.
const (
	keptBytes        = 2 << 20
	keptBytesPerNode = 2048
)

// Kept returns what Keep was first given for a key, nil if nothing.
func (c *Cluster) Kept(key string) any {
	v, _ := c.kept.Load(key)
	return v
}

// Keep keeps a value of a caller's, which follows from the cluster and takes so many bytes, as long as the cluster, if
// there is room for it.
func (c *Cluster) Keep(key string, v any, bytes int64) { c.kept.Keep(key, v, bytes+int64(len(key))) }

// Templates returns the pod templates that the cluster was stated with. They must not be changed.
func (c *Cluster) Templates() []*api.PodTemplate { return c.compiled.Templates() }

// Classes returns the node classes that the cluster was stated with. They must not be changed.
func (c *Cluster) Classes() []*api.NodeClass { return c.compiled.Classes() }

// FilterOptions are the arguments of Filter besides the pod.
type FilterOptions struct {
	Profile *api.Profile
	// Candidates are the nodes to consider, in ascending order without duplicates; nil for all.
	Candidates []uint32
	Explain    bool
	// Changes asks for Filter.Changes.
	Changes bool
	// Key is the caller's promise that calls with equal keys, other than "", have equal pods and profiles. The cluster
	// may then remember the answer, unless it is about some nodes only. What an answer holds must not be changed.
	Key string
}

// ScoreOptions are the arguments of Score besides the pod.
type ScoreOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Key is as in FilterOptions: Score may remember, and use, which nodes can take the pod.
	Key string
	// TotalsOnly leaves out Score.Plugins.
	TotalsOnly bool
	// Rejections asks for Score.Rejections.
	Rejections bool
}

// Filter tells which nodes can take the pod, and why the others cannot.
func (c *Cluster) Filter(ctx context.Context, pod *api.Pod, o FilterOptions) (*verdict.Filter, error) {
	key := o.Key
	if o.Candidates != nil || o.Explain {
		key = ""
	}
	q := question{c: c, ctx: ctx, pod: pod, profile: o.Profile, key: key, candidates: c.candidates(o.Candidates)}
	a, err := q.answer()
	if err != nil {
		return nil, err
	}
	result := &verdict.Filter{Feasible: a.feasible, Rejections: a.rejections, Message: a.messageFor(q.framework(), pod)}
	if o.Explain {
		if result.Explanation, err = q.decision().Explain(ctx, q.candidates); err != nil {
			return nil, err
		}
	}
	if o.Changes && len(a.feasible) == 0 {
		if result.Changes, err = change.Find(ctx, q.decision(), q.candidates); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// Score tells how good each node is that can take the pod.
func (c *Cluster) Score(ctx context.Context, pod *api.Pod, o ScoreOptions) (*verdict.Score, error) {
	key := o.Key
	if o.Candidates != nil {
		key = ""
	}
	q := question{c: c, ctx: ctx, pod: pod, profile: o.Profile, key: key, candidates: c.candidates(o.Candidates)}
	a, err := q.answer()
	if err != nil {
		return nil, err
	}
	result, err := q.decision().Score(ctx, a.feasible, o.TotalsOnly)
	if err != nil {
		return nil, err
	}
	result.Message = a.message
	if failure := q.decision().Failure; failure != nil {
		result = &verdict.Score{Nodes: a.feasible, Message: failure.Message}
	}
	if o.Rejections {
		result.Rejections = a.rejections
	}
	return result, nil
}

func (c *Cluster) candidates(stated []uint32) nodeset.Set {
	if stated == nil {
		return nodeset.Full(c.compiled.Len())
	}
	return nodeset.Of(c.compiled.Len(), stated)
}
