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

// Snapshot is a compiled cluster. It is immutable.
type Snapshot struct {
	*engine.Cluster
	Content *content.Content
	Address string // of the content
	known
	interned int // what the engine interned when the whole cluster was compiled

	// fixed is Memory without the engine's memo and without slack; 0 until the first call of Memory.
	fixed atomic.Int64
	// exact is the names that occur in the content, nil until they are needed.
	exact atomic.Pointer[names]
}

// known is what later parts of a request refer to, and the counts for the limits.
type known struct {
	referred
	// pods is the number of pods on all nodes and nominated to them, nominated the number of nominated pods only. inherited is the
	// number of entries that nodes inherit from their classes.
	pods, nominated, inherited uint64
	groups                     groups
	names
}

// shared returns a copy whose changes do not affect k.
func (k known) shared() known {
	k.templates, k.pinned, k.classes = slices.Clip(k.templates), slices.Clip(k.pinned), slices.Clip(k.classes)
	k.names, k.groups.own = k.names.shared(), false
	return k
}

// sink is the methods of *engine.Builder that a decoder calls.
type sink interface {
	Grow(nodes int)
	AddTemplate(*api.PodTemplate)
	AddClass(*api.NodeClass)
	AddNode(context.Context, *api.Node) error
	Preparer() func(*engine.Draft, *api.Node)
	AddDraft(context.Context, *engine.Draft, *api.Node) error
	AddNamespace(api.Namespace)
	AddWorkloadSelector(api.WorkloadSelector)
	AddPodDisruptionBudget(api.PodDisruptionBudget)
	AddPodGroup(api.PodGroup)
	SetStorage(api.Storage)
	SetDevices(api.Devices)
}

// Message decodes the cluster of a request from its message, nil if the request has none.
func (r *Request) Message(in *stowagev1.Cluster) {
	at := path{name: "context.cluster"}
	if !r.require(in != nil, at) {
		return
	}
	raw := encoded(in)
	if raw == nil {
		r.refuse(at, malformed, "has text that is not UTF-8")
		return
	}
	r.Part("context.cluster", wire.Pieces{raw})
}

// Part decodes an encoded cluster, or the next part of one. field is its path in the request.
func (r *Request) Part(field string, in wire.Pieces) {
	d := &r.decoder
	at := path{name: field}
	items, nodes, wrong := cut(in)
	// Nodes refer to templates and classes, which follow them in the usual order of fields.
	if nodeless := nodelessIn(items, nodes); !r.goOnFrom(nodeless) {
		d.inOrder(items, (*reader).readItems, func(c *chunk) { d.commitItems(&at, c) })
		r.remember(nodeless, items.fields)
	}
	r.nodeless = nil // more parts extend this one
	d.grow(nodes)
	d.inOrder(nodes, (*reader).readNodes, func(c *chunk) { d.commitNodes(&at, c) })
	if wrong != nil {
		d.refuse(at, wrong.reason, "%s", wrong.description)
	}
	d.bounds(&at)
	d.boundNames(&at, d.counts[content.Nodes])
}

// minNodeBytes is the least size of nodes that memory is reserved for: the reservation for an empty node is many times its size.
const minNodeBytes = 16

func (d *decoder) grow(nodes runs) {
	room := min(nodes.fields, nodes.bytes/minNodeBytes, MaxNodes)
	d.to.Grow(room)
	d.content.Grow(room)
}

// over reports whether decoding must stop.
func (d *decoder) over() bool { return d.full || d.ended != nil }

// Nominates reports whether pods are nominated to nodes. Decisions about a pod then depend on its name, as a nominated pod does not
// count itself.
func (c *Snapshot) Nominates() bool { return c.nominated > 0 }

// Pods returns the number of pods on all nodes, including nominated pods.
func (c *Snapshot) Pods() int { return int(c.pods) }

// finish adds the workload selectors, the budgets, the storage objects and the device objects in canonical order, so that clusters with equal content
// have equal responses.
func (d *decoder) finish() {
	slices.SortFunc(d.selectors, func(a, b api.WorkloadSelector) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, s := range d.selectors {
		d.to.AddWorkloadSelector(s)
	}
	d.selectors = nil
	slices.SortFunc(d.budgets, func(a, b api.PodDisruptionBudget) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, p := range d.budgets {
		d.to.AddPodDisruptionBudget(p)
	}
	d.budgets = nil
	if d.storage.Len() > 0 {
		d.storage.Sort()
		d.to.SetStorage(d.storage)
		d.storage = api.Storage{}
	}
	if d.devices.Len() > 0 {
		d.devices.Sort()
		d.to.SetDevices(d.devices)
		d.devices = api.Devices{}
	}
}

// fixedOverheadBytes is memory that is not itemised elsewhere, such as the tables that requests refer to.
const fixedOverheadBytes = 16 << 10

// withSlack adds an upper estimate of the allocator's rounding.
func withSlack(bytes int64) int64 { return bytes + bytes/8 }

// Memory is an upper estimate of the cluster's size in bytes, with the engine's memo.
func (c *Snapshot) Memory() int64 {
	fixed := c.fixed.Load()
	if fixed == 0 {
		fixed = c.Bytes() - c.Cluster.Remembered() + c.Content.Bytes()
		c.fixed.Store(fixed)
	}
	return fixedOverheadBytes + withSlack(fixed+c.Cluster.Remembered())
}

// Remembered is the part of Memory that grows with the engine's memo.
func (c *Snapshot) Remembered() int64 { return withSlack(c.Cluster.Remembered()) }

// RememberAtMost bounds Remembered.
func (c *Snapshot) RememberAtMost(bytes int64) { c.Cluster.RememberAtMost(bytes - bytes/8) }

// internSlack keeps Compact from compiling small clusters often.
const internSlack = 1024

// Compact compiles the whole cluster again if the engine interned more than twice as much as the last time. This bounds the
// leftovers of a chain of deltas. Otherwise it returns c. The error is the context's.
func (c *Snapshot) Compact(ctx context.Context) (*Snapshot, error) {
	if c.Interned() <= 2*c.interned+internSlack {
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
