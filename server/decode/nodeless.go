package decode

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Nodeless is a cache of inline clusters without their nodes: templates, classes, namespaces, workload selectors and budgets,
// decoded and compiled. Clients that send inline clusters repeat them. It has no locks: readers load a pointer, writers publish
// a new list. Of two concurrent additions one may be lost.
type Nodeless struct {
	published atomic.Pointer[[]*nodeless]
	clock     atomic.Uint64
}

// Bounds of the cache: entries, and their estimated bytes together.
const (
	maxNodeless      = 8
	maxNodelessBytes = 64 << 20
)

// Estimates of an entry's memory.
const (
	nodelessBytesPerField = 2048
	nodelessBytesPerByte  = 16
)

type nodeless struct {
	raw     []byte // as encoded
	bytes   int
	used    atomic.Uint64
	known   known
	built   *engine.Builder // built and content are only forked
	content *content.Builder
}

// nodelessIn returns the encoded items of a cluster, nil unless they are contiguous before or after the nodes.
func nodelessIn(items, nodes runs) wire.Pieces {
	if items.fields == 0 {
		return nil
	}
	if nodes.fields > 0 && items.end.Left() < nodes.first.Left() && items.first.Left() > nodes.end.Left() {
		return nil
	}
	return items.first.Cut(items.first.Left() - items.end.Left())
}

// goOnFrom continues from the cache entry of a cluster without nodes, and reports whether there is one.
func (r *Request) goOnFrom(in wire.Pieces) bool {
	n := r.nodeless.find(in)
	if n != nil {
		r.forked(n)
	}
	return n != nil
}

// remember adds the items that were just decoded to the cache. fields is their number.
func (r *Request) remember(in wire.Pieces, fields int) {
	size := fields*nodelessBytesPerField + in.Len()*nodelessBytesPerByte
	if r.nodeless == nil || in == nil || size > maxNodelessBytes || r.over() || len(r.violations) > 0 {
		return
	}
	r.finish()
	r.content.Seal()
	n := &nodeless{raw: slices.Concat(in...), bytes: size, known: r.known.shared(), built: r.built, content: r.content}
	r.forked(n)
	r.nodeless.keep(n)
}

func (r *Request) forked(n *nodeless) {
	r.known = n.known.shared()
	r.built, r.content = n.built.Fork(), n.content.Fork()
	r.to = r.built
	for _, reader := range r.readers {
		reader.prepare = r.to.Preparer()
	}
}

func (l *Nodeless) find(in wire.Pieces) *nodeless {
	if l == nil || in == nil || l.published.Load() == nil {
		return nil
	}
	size := in.Len()
	for _, n := range *l.published.Load() {
		if len(n.raw) == size && equal(n.raw, in) {
			n.used.Store(l.clock.Add(1))
			return n
		}
	}
	return nil
}

// equal compares raw with pieces of the same length.
func equal(raw []byte, in wire.Pieces) bool {
	for _, b := range in {
		if !bytes.Equal(raw[:len(b)], b) {
			return false
		}
		raw = raw[len(b):]
	}
	return true
}

// keep adds n. It removes the least recently used entries beyond the bounds.
func (l *Nodeless) keep(n *nodeless) {
	n.used.Store(l.clock.Add(1))
	old := l.published.Load()
	var list []*nodeless
	if old != nil {
		list = slices.Clone(*old)
	}
	slices.SortFunc(list, func(a, b *nodeless) int { return cmp.Compare(b.used.Load(), a.used.Load()) })
	size := n.bytes
	for i, o := range list {
		if bytes.Equal(o.raw, n.raw) {
			return // added by another request
		}
		if size += o.bytes; size > maxNodelessBytes || i+2 > maxNodeless {
			list = list[:i]
			break
		}
	}
	list = append(list, n)
	l.published.CompareAndSwap(old, &list)
}
