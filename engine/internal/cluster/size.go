package cluster

import (
	"reflect"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/memo"
)

// Approximate costs of Go's maps and allocations in addition to their contents.
const (
	mapOverhead   = 1.5 // factor of the size of the entries
	allocOverhead = 8   // bytes by which a small allocation is rounded up
)

// account is what Bytes cannot compute from the lengths of lists. It is kept as the cluster changes.
type account struct {
	// These are the bytes of the lists of nodes, of sparse columns and of the members of groups.
	rowBytes, sparseBytes, memberBytes int64
	// described is the bytes of everything else, plus one; 0 until Bytes computes it. Clusters that differ in nodes alone share it.
	described *atomic.Int64
}

// Bytes estimates the memory of the cluster, including its memos, its indexes and the memory shared with other clusters. Only the
// first call scans the whole cluster, and not even that one if a base has been scanned.
func (c *Cluster) Bytes() int64 {
	described := c.described.Load() - 1
	if described < 0 {
		described = c.describedSince(&Cluster{})
		c.described.Store(described + 1)
	}
	columns := 16*cap(c.Names) + 8*cap(c.Unschedulable) + 4*cap(c.index) + 4*cap(c.imagesMoved)
	for p := range c.paged() {
		columns += p.bytes()
	}
	groups := c.groups.bytes() + 12*c.groupOf.len() + 8*cap(c.ports)
	lists := 8*(cap(c.podTemplates)+cap(c.classes)+cap(c.kinds)) + c.templates.bytes() + sizeOf[load]()*cap(c.loads)
	return int64(c.symbols.Bytes()+columns+groups+lists) + c.rowBytes + c.sparseBytes + c.memberBytes + described + c.Remembered()
}

// reckon keeps what Bytes has computed of the base.
func (b *Builder) reckon() {
	c, known := b.c, int64(0)
	if b.base.described != nil {
		if known = b.base.described.Load(); !b.describes() {
			return
		}
	}
	c.described = new(atomic.Int64)
	if known > 0 {
		c.described.Store(known + c.describedSince(b.base))
	}
}

// describes reports whether there is anything that describedSince counts.
func (b *Builder) describes() bool {
	c, base := b.c, b.base
	for i, f := range c.fields {
		if f.values() > base.fields[i].values() {
			return true
		}
	}
	return b.beyondNodes || len(c.loads) > len(base.loads) || len(c.kinds) > len(base.kinds) || c.groups.len() > base.groups.len()
}

// describedSince estimates the memory of templates, classes, values of fields, loads, shapes and objects such as namespaces and
// budgets, without the memory of a base.
func (c *Cluster) describedSince(base *Cluster) (bytes int64) {
	s, before := newSizes(), newSizes()
	for i, f := range c.fields {
		since := 0
		if base.fields != nil {
			since = base.fields[i].values()
		}
		bytes += f.describedSince(since)
	}
	for _, l := range c.loads[len(base.loads):] {
		bytes += s.of(l)
	}
	for i := range c.kinds {
		if i >= len(base.kinds) {
			bytes += s.of(c.kinds[i])
		} else if c.kinds[i] != base.kinds[i] {
			bytes -= before.of(base.kinds[i])
		}
	}
	for i := range c.templates.len() {
		if i >= base.templates.len() {
			bytes += s.of(*c.templates.get(i))
		} else if c.podTemplates[i] != base.podTemplates[i] {
			bytes += s.of(*c.templates.get(i)) - before.of(*base.templates.get(i))
		}
	}
	for i := base.groups.len(); i < c.groups.len(); i++ {
		g := c.groups.get(i)
		bytes += int64(sizeOf[Shape]()) + allocated(8*cap(g.Labels)) + s.of(g.Rules) + g.indexBytes()
	}
	return bytes + s.of(c.namespaces, c.byName, c.workloads, c.budgets, c.podGroups) -
		before.of(base.namespaces, base.byName, base.workloads, base.budgets, base.podGroups) + c.storage.bytes() - base.storage.bytes() +
		c.devices.bytes() - base.devices.bytes()
}

// indexBytes estimates what the group takes of the indexes of groups by term and label, whether they are built or not.
func (g *Group) indexBytes() int64 {
	const (
		perTerm  = 40 * mapOverhead // a label and a slice
		perLabel = 4 * 3            // its place in a bucket, and a bucket for each one to two
	)
	terms := len(g.Shape.AntiAffinity) + len(g.Shape.Affinity) + len(g.Shape.PreferredAffinity) + len(g.Shape.PreferredAntiAffinity)
	return int64(terms*(2*sizeOf[TermOf]()+perTerm) + perLabel*len(g.Labels))
}

// bytes estimates what a row refers to.
func (r *row) bytes() int64 {
	return allocated(8*cap(r.labels)) + allocated(8*cap(r.pods)) + bytesOf(r.named)
}

// bytesOf estimates a list of pods and the memory that it refers to.
func bytesOf(pods []NamedPod) int64 {
	bytes := allocated(sizeOf[NamedPod]() * cap(pods))
	for i := range pods {
		bytes += int64(len(pods[i].Name))
		if pods[i].unread != nil {
			s := newSizes()
			bytes += s.of(pods[i].unread)
		}
	}
	return bytes
}

func sizeOf[T any]() int { return int(reflect.TypeFor[T]().Size()) }

// allocated returns the size of an allocation.
func allocated(bytes int) int64 {
	if bytes == 0 {
		return 0
	}
	return int64(bytes + allocOverhead)
}

// Memos are the caches of the cluster.
func (c *Cluster) Memos() []memo.Bounded {
	return []memo.Bounded{c.domains, c.counts, c.perNode, c.attachments, c.reaches, c.found}
}

// Remembered is the part of Bytes that memos take.
func (c *Cluster) Remembered() (bytes int64) {
	for _, m := range c.Memos() {
		bytes += m.Taken()
	}
	if before := c.attachedBefore; before != nil {
		bytes += before.known.Taken()
	}
	return bytes
}

// CopiedByChange estimates the bytes that With copies in addition to the change itself, which replaces a number of nodes, adds some
// or removes some.
func (c *Cluster) CopiedByChange(replaced int, added, removed bool) int64 {
	const (
		perKind      = 64 // with a map entry
		perNominated = 12
		perName      = 16
		perMember    = 8
		groupPages   = 16 // of the groups of a node's pods
	)
	pages := len(c.Unschedulable)
	copied := min(replaced, pages)
	ofGroups := min(groupPages*max(replaced, 1), len(c.groups.pages))
	bytes := len(c.kinds) * perKind
	if column := c.nominated[nomineesColumn]; column != nil {
		bytes += perNominated * len(column.Nodes)
	}
	if added { // the last page gets nodes, and the list of names grows
		copied = min(copied+1, pages)
		bytes += 2 * perName * c.Len()
	}
	if removed { // later nodes get other indexes
		copied, ofGroups = pages, len(c.groups.pages)
		bytes += perName * c.Len()
		for i := range c.groups.len() {
			bytes += perMember * len(c.groups.get(i).Nodes)
		}
	}
	bytes += len(c.groups.pages)*sizeOf[*Word]() + ofGroups*c.groups.pageBytes()
	for p := range c.paged() {
		bytes += pages*sizeOf[*Word]() + copied*p.pageBytes()
	}
	return int64(bytes)
}

// sizes adds up memory, each pointer once.
type sizes struct {
	total  int64
	seen   map[any]bool           // pointers already followed
	fields map[reflect.Type][]int // see deepFields
}

func newSizes() sizes { return sizes{seen: make(map[any]bool), fields: make(map[reflect.Type][]int)} }

// of returns the memory that values refer to.
func (s *sizes) of(values ...any) int64 {
	before := s.total
	for _, v := range values {
		s.deep(reflect.ValueOf(v))
	}
	return s.total - before
}

func (s *sizes) add(bytes int) { s.total += int64(bytes) }

// deep adds the memory that a value refers to.
func (s *sizes) deep(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || s.seen[v.UnsafePointer()] {
			return
		}
		s.seen[v.UnsafePointer()] = true
		s.add(int(v.Type().Elem().Size()))
		s.deep(v.Elem())
	case reflect.Slice:
		s.add(v.Cap() * int(v.Type().Elem().Size()))
		if !s.flat(v.Type().Elem()) {
			for i := range v.Len() {
				s.deep(v.Index(i))
			}
		}
	case reflect.String:
		s.add(v.Len() + allocOverhead)
	case reflect.Struct:
		for _, i := range s.deepFields(v.Type()) {
			s.deep(v.Field(i))
		}
	case reflect.Map:
		entry := int(v.Type().Key().Size() + v.Type().Elem().Size())
		s.add(int(mapOverhead * float64(v.Len()*entry)))
		for entries := v.MapRange(); entries.Next(); {
			s.deep(entries.Key())
			s.deep(entries.Value())
		}
	}
}

// flat reports whether values of a type refer to no other memory.
func (s *sizes) flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.String, reflect.Map:
		return false
	case reflect.Struct:
		return len(s.deepFields(t)) == 0
	}
	return true
}

// deepFields returns the fields of a struct type that refer to other memory.
func (s *sizes) deepFields(t reflect.Type) []int {
	fields, known := s.fields[t]
	if !known {
		fields = s.findDeep(t)
		s.fields[t] = fields
	}
	return fields
}

func (s *sizes) findDeep(t reflect.Type) (fields []int) {
	for field := range t.Fields() {
		if !s.flat(field.Type) {
			fields = append(fields, field.Index[0])
		}
	}
	return fields
}
