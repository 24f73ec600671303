package content

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sort"
)

// pageSize is the number of items per page, except the last page of a list.
const pageSize = 256

// List is an immutable ordered list of items. Lists share unchanged pages.
type List struct {
	pages []*page
	len   int
	bytes int64 // of all items as stored
	root  [sha256.Size]byte

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
	for i := range l.len {
		if !yield(i, l.At(i)) {
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
	if l.len%pageSize == 0 {
		capacity := min(l.len, pageSize) // allocate whole pages, except the first
		l.pages = append(l.pages, &page{items: make([][]byte, 0, capacity), digests: make([]byte, 0, capacity*sha256.Size)})
	}
	p := l.mutable(l.len / pageSize)
	p.items = append(p.items, item)
	p.digests = append(p.digests, digest[:]...)
	l.len++
	l.bytes += int64(len(item))
}

// set replaces the i-th item and keeps a reference to the new one.
func (l *List) set(i int, item []byte, digest Digest) {
	l.bytes += int64(len(item) - len(l.raw(i)))
	p := l.mutable(i / pageSize)
	i %= pageSize
	p.items[i] = item
	copy(p.digests[i*sha256.Size:], digest[:])
}

// remove removes the items at ascending indexes. It must be the first change after edit.
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

// edited returns the list with edits, of which at most one is about each item. It shares the pages before the first item that is added or removed,
// and the pages behind the last one if as many items are added as removed.
func (l *List) edited(edits []edit) List {
	next := l.edit()
	edits = slices.DeleteFunc(edits, func(e edit) bool {
		if e.replaces {
			next.set(e.at, e.item, DigestOf(e.item))
		}
		return e.replaces
	})
	slices.SortFunc(edits, func(x, y edit) int {
		return cmp.Or(cmp.Compare(x.at, y.at), x.id.compare(y.id))
	})
	if len(edits) > 0 {
		next.shift(edits)
	}
	next.seal()
	return next
}

// shift adds and removes items, in the order of their indexes.
func (l *List) shift(edits []edit) {
	first, n := edits[0].at/pageSize, l.len
	moved := l.pages[first:]
	l.pages, l.len = slices.Clone(l.pages[:first]), first*pageSize
	for i := l.len; ; i++ {
		removed := false
		for ; len(edits) > 0 && edits[0].at == i; edits = edits[1:] {
			if edits[0].removes {
				removed = true
			} else {
				l.push(edits[0].item, DigestOf(edits[0].item))
			}
		}
		if i == n {
			return
		}
		from := moved[i/pageSize-first]
		if !removed && len(edits) == 0 && i == l.len && i%pageSize == 0 {
			l.pages, l.len = append(l.pages, moved[i/pageSize-first:]...), n
			return
		}
		item, digest := from.items[i%pageSize], Digest(from.digests[i%pageSize*sha256.Size:])
		l.bytes -= int64(len(item)) // push adds them
		if !removed {
			l.push(item, digest)
		}
	}
}

// seal completes an edit and computes the root.
func (l *List) seal() {
	sum := binary.BigEndian.AppendUint64(nil, uint64(l.len))
	for _, p := range l.pages {
		if !p.sealed {
			p.seal()
		}
		sum = append(sum, p.digest[:]...)
	}
	l.root = sha256.Sum256(sum)
}

func (p *page) seal() {
	p.digest = sha256.Sum256(p.digests)
	p.sealed = true
}

// Memory returns the size of the list in bytes.
func (l *List) Memory() int64 {
	const perItem = 24 + sha256.Size // its slice and its digest
	const perPage = 112              // the page and the pointer to it
	return l.sharedMemory() + l.bytes + int64(l.len)*perItem + int64(len(l.pages))*perPage
}
