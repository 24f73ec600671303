package content

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sort"
)

// pageSize is the number of items per page of a list with indexes, except its last page.
const pageSize = 256

// lastBelow bounds the first byte of the digest of an item that ends a page of a list ordered by identity: one of 64 items does. What an edit
// hashes grows with a page and with the number of pages.
const lastBelow = 4

// List is an immutable ordered list of items. Lists share unchanged pages.
type List struct {
	pages []*page
	len   int
	bytes int64 // of all items as stored
	root  [sha256.Size]byte

	ordered bool  // by identity: see lastBelow
	ends    []int // of the pages of an ordered list: the number of items up to there

	shared      [][][]byte // templates that packed nodes refer to, by sharer
	sharedBytes int64
}

// page is a run of items. It is immutable once sealed.
type page struct {
	items   [][]byte // canonical encodings, or packed nodes
	digests []byte   // of the items, concatenated
	digest  [sha256.Size]byte
	sealed  bool
}

// Len returns the number of items.
func (l *List) Len() int { return l.len }

// At returns the canonical encoding of the i-th item, which must not be changed.
func (l *List) At(i int) []byte {
	item := l.raw(i)
	if packed(item) {
		return l.unpack(item)
	}
	return item
}

// All yields the items in order.
func (l *List) All(yield func(int, []byte) bool) {
	for i, item := range l.allRaw {
		if packed(item) {
			item = l.unpack(item)
		}
		if !yield(i, item) {
			return
		}
	}
}

// edit returns a copy for push, set and remove. The caller must seal it.
func (l *List) edit() List {
	e := *l
	e.pages = slices.Clone(l.pages)
	return e
}

// mutable returns the i-th page, copied if it is sealed.
func (l *List) mutable(i int) *page {
	p := l.pages[i]
	if p.sealed {
		p = &page{items: slices.Clone(p.items), digests: bytes.Clone(p.digests)}
		l.pages[i] = p
	}
	return p
}

// Digest is the digest of an item.
type Digest [sha256.Size]byte

// DigestOf returns the digest of an item given in its canonical encoding.
func DigestOf(canonical []byte) Digest { return sha256.Sum256(canonical) }

// push appends an item and keeps a reference to it.
func (l *List) push(item []byte, digest Digest) {
	if l.full() {
		capacity := 0
		if !l.ordered {
			capacity = min(l.len, pageSize) // allocate whole pages, except the first
		}
		l.pages = append(l.pages, &page{items: make([][]byte, 0, capacity), digests: make([]byte, 0, capacity*sha256.Size)})
	}
	p := l.mutable(len(l.pages) - 1)
	p.items = append(p.items, item)
	p.digests = append(p.digests, digest[:]...)
	l.len++
	l.bytes += int64(len(item))
}

// full reports whether the next item begins a page.
func (l *List) full() bool {
	if !l.ordered {
		return l.len%pageSize == 0
	}
	if len(l.pages) == 0 {
		return true
	}
	p := l.pages[len(l.pages)-1]
	return p.digests[len(p.digests)-sha256.Size] < lastBelow
}

// set replaces the i-th item of a list with indexes and keeps a reference to the new one.
func (l *List) set(i int, item []byte, digest Digest) {
	l.bytes += int64(len(item) - len(l.raw(i)))
	p := l.mutable(i / pageSize)
	i %= pageSize
	p.items[i] = item
	copy(p.digests[i*sha256.Size:], digest[:])
}

// remove removes the items at ascending indexes of a list with indexes. It must be the first change after edit.
func (l *List) remove(indexes []uint32) {
	first := int(indexes[0]) / pageSize
	moved := l.pages[first:]
	l.pages, l.len = slices.Clone(l.pages[:first]), first*pageSize
	i := uint32(l.len)
	for _, from := range moved {
		for j, item := range from.items {
			l.bytes -= int64(len(item))
			if len(indexes) > 0 && indexes[0] == i {
				indexes = indexes[1:]
			} else {
				l.push(item, Digest(from.digests[j*sha256.Size:]))
			}
			i++
		}
	}
}

// search returns the index of the item with an identity in a list that is ordered by identity, or the index where it would be.
func (l *List) search(identify func([]byte) identity, id identity) (index int, found bool) {
	index = sort.Search(l.len, func(i int) bool { return identify(l.raw(i)).compare(id) >= 0 })
	return index, index < l.len && identify(l.raw(index)) == id
}

// edit is a change of a list: the item at an index is replaced or removed, or else a new item is added before it.
type edit struct {
	at                int
	replaces, removes bool
	item              []byte
	id                identity // orders the new items before one item
}

// edited returns an ordered list with edits, of which at most one is about each item. It shares the pages that they leave as they are.
func (l *List) edited(edits []edit) List {
	slices.SortFunc(edits, func(x, y edit) int {
		return cmp.Or(cmp.Compare(x.at, y.at), x.id.compare(y.id))
	})
	next := List{ordered: true, pages: make([]*page, 0, len(l.pages)+1), bytes: l.bytes}
	i := 0
	for of, p := range l.pages {
		if next.full() && (len(edits) == 0 || edits[0].at >= l.ends[of]) {
			next.pages, next.len, i = append(next.pages, p), next.len+len(p.items), l.ends[of]
			continue
		}
		for j, item := range p.items {
			next.bytes -= int64(len(item)) // push adds it
			removed, digest := false, Digest(p.digests[j*sha256.Size:])
			for ; len(edits) > 0 && edits[0].at == i; edits = edits[1:] {
				switch e := &edits[0]; {
				case e.removes:
					removed = true
				case e.replaces:
					item, digest = e.item, DigestOf(e.item)
				default:
					next.push(e.item, DigestOf(e.item))
				}
			}
			if !removed {
				next.push(item, digest)
			}
			i++
		}
	}
	for _, e := range edits {
		next.push(e.item, DigestOf(e.item))
	}
	next.seal()
	return next
}

// seal completes an edit and computes the root.
func (l *List) seal() {
	root := sha256.New()
	_, _ = root.Write(binary.BigEndian.AppendUint64(nil, uint64(l.len)))
	if l.ordered {
		l.ends = make([]int, 0, len(l.pages))
	}
	n := 0
	for _, p := range l.pages {
		if !p.sealed {
			if l.ordered {
				p.items, p.digests = exact(p.items), exact(p.digests)
			}
			p.seal()
		}
		if n += len(p.items); l.ordered {
			l.ends = append(l.ends, n)
		}
		_, _ = root.Write(p.digest[:])
	}
	root.Sum(l.root[:0])
}

// exact returns a slice without room for more.
func exact[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

func (p *page) seal() {
	p.digest = sha256.Sum256(p.digests)
	p.sealed = true
}

// Memory returns the size of the list in bytes.
func (l *List) Memory() int64 {
	const perItem = 24 + sha256.Size // its slice and its digest
	const perPage = 112              // the page and the pointer to it
	return l.sharedMemory() + l.bytes + int64(l.len)*perItem + int64(len(l.pages))*perPage + int64(8*len(l.ends))
}
