package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// pageSize is the number of items in all pages of a list but the last.
const pageSize = 256

// List is an ordered list of items. It never changes; lists share the pages that they have in common.
type List struct {
	pages []*page
	len   int
	bytes int64 // of all items as they are kept
	root  [sha256.Size]byte

	shared      [][][]byte // templates that packed nodes refer to
	sharedBytes int64
}

// page is a run of items. It may change until it is sealed.
type page struct {
	items   [][]byte // canonical encodings, or packed nodes
	digests []byte   // of the items, one after the other
	digest  [sha256.Size]byte
	sealed  bool
}

// Len is the number of items.
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

// edit returns a copy that push, set and remove may be called on, and seal after them.
func (l *List) edit() List {
	e := *l
	e.pages = slices.Clone(l.pages)
	return e
}

// own returns a page that may change.
func (l *List) own(i int) *page {
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

// push appends an item, which the list keeps.
func (l *List) push(item []byte, digest Digest) {
	if l.len%pageSize == 0 {
		room := min(l.len, pageSize) // a page all at once, unless it may be the only one
		l.pages = append(l.pages, &page{items: make([][]byte, 0, room), digests: make([]byte, 0, room*sha256.Size)})
	}
	p := l.own(l.len / pageSize)
	p.items = append(p.items, item)
	p.digests = append(p.digests, digest[:]...)
	l.len++
	l.bytes += int64(len(item))
}

// set replaces the i-th item by one that the list keeps.
func (l *List) set(i int, item []byte, digest Digest) {
	l.bytes += int64(len(item) - len(l.raw(i)))
	p := l.own(i / pageSize)
	i %= pageSize
	p.items[i] = item
	copy(p.digests[i*sha256.Size:], digest[:])
}

// remove removes the items of these indexes, ascending, from a list of which nothing was changed yet.
func (l *List) remove(gone []uint32) {
	first := int(gone[0]) / pageSize
	moved := l.pages[first:]
	l.pages, l.len = slices.Clone(l.pages[:first]), first*pageSize
	i := uint32(l.len)
	for _, from := range moved {
		for j, item := range from.items {
			l.bytes -= int64(len(item))
			if len(gone) > 0 && gone[0] == i {
				gone = gone[1:]
			} else {
				l.push(item, Digest(from.digests[j*sha256.Size:]))
			}
			i++
		}
	}
}

// seal ends the changes and computes the root.
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

// memory is what the list takes, in bytes.
func (l *List) memory() int64 {
	const perItem = 24 + sha256.Size // its slice and its digest
	const perPage = 112              // the page and the pointer to it
	return l.sharedMemory() + l.bytes + int64(l.len)*perItem + int64(len(l.pages))*perPage
}
