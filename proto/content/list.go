package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
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
