package decode

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Cluster is a cluster that requests ask about, compiled. It is immutable.
type Cluster struct {
	*engine.Cluster
	Content *content.Content
	// Address is the content's, as text.
	Address string
	known
	// interned is what the engine had interned when the whole cluster was compiled last.
	interned int

	// fixed is Memory without what the cluster remembers and without slack; 0 until somebody asked.
	fixed atomic.Int64
	// exact is the names without those of what is gone, nil until somebody needed them.
	exact atomic.Pointer[names]
}

// known is what later parts of a request refer to and what counts against its limits.
type known struct {
	referred
	// pods is the number of pods on all nodes, inherited that of what nodes inherit from their classes.
	pods, inherited uint64
	names
}

// shared returns a copy whose changes do not affect k.
func (k known) shared() known {
	k.templates, k.pinned, k.classes = slices.Clip(k.templates), slices.Clip(k.pinned), slices.Clip(k.classes)
	k.names = k.names.shared()
	return k
}

// sink takes a cluster part by part, as *engine.Builder does.
type sink interface {
	Grow(nodes int)
	AddTemplate(*api.PodTemplate)
	AddClass(*api.NodeClass)
	AddNode(context.Context, *api.Node) error
	Preparer() func(*engine.Draft, *api.Node)
	AddDraft(context.Context, *engine.Draft, *api.Node) error
	AddNamespace(api.Namespace)
	AddWorkloadSelector(api.WorkloadSelector)
}

// Message decodes a request's cluster that is a message, nil if it has none.
func (r *Request) Message(in *stowagev1.Cluster) {
	at := path{name: "context.cluster"}
	if in == nil {
		r.refuse(at, "is required")
		return
	}
	raw := encoded(in)
	if raw == nil {
		r.refuse(at, "has text that is not UTF-8")
		return
	}
	r.Part("context.cluster", wire.Pieces{raw})
}

// Part decodes a cluster, or the next part of one, from the wire; field is what it is called in the request.
func (r *Request) Part(field string, in wire.Pieces) {
	d := &r.decoder
	at := path{name: field}
	items, nodes, wrong := cut(in)
	// Nodes refer to templates and classes, which follow them in the usual order of fields.
	if nodeless := nodelessIn(items, nodes); !r.goOnFrom(nodeless) {
		d.inOrder(items, (*reader).readItems, func(c *chunk) { d.commitItems(&at, c) })
		r.remember(nodeless, items.fields)
	}
	r.nodeless = nil // parts that follow go on from this one
	d.grow(nodes)
	d.inOrder(nodes, (*reader).readNodes, func(c *chunk) { d.commitNodes(&at, c) })
	if wrong != "" {
		d.refuse(at, "%s", wrong)
	}
	d.bounds(&at)
}

// grownBytes is how large nodes are at least for which room is made before they are read: what comes as nodes need not be
// any, and the room for one takes many times the few bytes that an empty one has.
const grownBytes = 16

// grow makes room for nodes.
func (d *decoder) grow(nodes runs) {
	room := min(nodes.fields, nodes.bytes/grownBytes, MaxNodes)
	d.to.Grow(room)
	d.content.Grow(room)
}

// over reports whether there is no point in decoding more.
func (d *decoder) over() bool { return d.full || d.ended != nil }

// finish hands over what had to be complete first: workload selectors go in the order of the canonical form, so that
// clusters of equal content get equal answers.
func (d *decoder) finish() {
	slices.SortFunc(d.selectors, func(a, b api.WorkloadSelector) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, s := range d.selectors {
		d.to.AddWorkloadSelector(s)
	}
	d.selectors = nil
}

// besides is what a cluster takes that nobody counts, such as what later parts of a request refer to.
const besides = 16 << 10

// withSlack is an estimate of memory from above: sizes that allocations are rounded up to are not known exactly.
func withSlack(bytes int64) int64 { return bytes + bytes/8 }

// Memory is what the cluster takes at most, in bytes, what it remembers at the moment included.
func (c *Cluster) Memory() int64 {
	fixed := c.fixed.Load()
	if fixed == 0 {
		fixed = c.Bytes() - c.Cluster.Remembered() + c.Content.Bytes()
		c.fixed.Store(fixed)
	}
	return besides + withSlack(fixed+c.Cluster.Remembered())
}

// Remembered is the part of Memory that grows as the cluster remembers more.
func (c *Cluster) Remembered() int64 { return withSlack(c.Cluster.Remembered()) }

// RememberAtMost bounds Remembered.
func (c *Cluster) RememberAtMost(bytes int64) { c.Cluster.RememberAtMost(bytes - bytes/8) }

// mayIntern is how much more than a multiple of what it takes a cluster may have interned.
const mayIntern = 1024

// Compact returns the cluster itself, or the same compiled anew once it has interned more than twice what it had when it
// was last compiled as a whole, and mayIntern: what a chain of deltas leaves behind of what is gone is bounded, at the
// price of one compilation now and then. It returns the context's error if that ends first.
func (c *Cluster) Compact(ctx context.Context) (*Cluster, error) {
	if c.Interned() <= 2*c.interned+mayIntern {
		return c, nil
	}
	r := newRequest(ctx, &content.Builder{AddressOnly: true})
	r.Part("cluster", encoding(c.Content))
	if err := r.Err(); err != nil {
		return nil, err
	}
	out := r.Cluster()
	out.Content, out.Address = c.Content, c.Address
	return out, nil
}
