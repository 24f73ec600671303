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

// Nodeless remembers what clusters that came with requests were without their nodes: templates, classes, namespaces and
// workload selectors, read and compiled. A caller who states clusters anew states mostly these again. It has no locks:
// readers load one pointer, writers publish a new list. What two publish at once, one of them may lose.
type Nodeless struct {
	published atomic.Pointer[[]*nodeless]
	clock     atomic.Uint64
}

// How many are remembered, and about how many bytes they may take in all.
const (
	maxNodeless      = 8
	maxNodelessBytes = 64 << 20
)

// What a field takes that is remembered, and each of its bytes on the wire, about.
const (
	nodelessBytesPerField = 2048
	nodelessBytesPerByte  = 16
)

type nodeless struct {
	raw     []byte // on the wire
	bytes   int
	used    atomic.Uint64
	known   known
	built   *engine.Builder // these two are only forked
	content *content.Builder
}

// nodelessIn returns the part of a cluster without nodes, nil if that does not lie in one piece before or after them.
func nodelessIn(items, nodes runs) wire.Pieces {
	if items.fields == 0 {
		return nil
	}
	if nodes.fields > 0 && items.end.Left() < nodes.first.Left() && items.first.Left() > nodes.end.Left() {
		return nil
	}
	return items.first.Cut(items.first.Left() - items.end.Left())
}

// goOnFrom takes over what is remembered of the part of the cluster without nodes, and reports whether anything is.
func (r *Request) goOnFrom(in wire.Pieces) bool {
	if r.nodeless == nil || in == nil {
		return false
	}
	n := r.nodeless.find(in)
	if n != nil {
		r.forked(n)
	}
	return n != nil
}

// remember remembers the part of the cluster without nodes, of so many fields, which was just decoded.
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

// forked goes on from n.
func (r *Request) forked(n *nodeless) {
	r.known = n.known.shared()
	r.built, r.content = n.built.Fork(), n.content.Fork()
	r.to = r.built
	for _, reader := range r.readers {
		reader.prepare = r.to.Preparer()
	}
}

func (l *Nodeless) find(in wire.Pieces) *nodeless {
	list := l.published.Load()
	if list == nil {
		return nil
	}
	size := in.Len()
	for _, n := range *list {
		if len(n.raw) == size && equal(n.raw, in) {
			n.used.Store(l.clock.Add(1))
			return n
		}
	}
	return nil
}

// equal reports whether pieces, of the same length as raw, are raw.
func equal(raw []byte, in wire.Pieces) bool {
	for _, b := range in {
		if !bytes.Equal(raw[:len(b)], b) {
			return false
		}
		raw = raw[len(b):]
	}
	return true
}

// keep adds n, in place of those that were not used for longest if it is too much in all.
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
			return // another request was faster
		}
		if size += o.bytes; size > maxNodelessBytes || i+2 > maxNodeless {
			list = list[:i]
			break
		}
	}
	list = append(list, n)
	l.published.CompareAndSwap(old, &list)
}
