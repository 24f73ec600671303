package cluster

import (
	"reflect"

	"github.com/stowage-scheduler/stowage/engine/internal/memo"
)

// What Go's maps and allocations cost beside what they hold, about.
const (
	mapOverhead   = 1.5 // slots for each entry
	allocOverhead = 8   // of a small allocation that is rounded up
)

// Bytes estimates the memory that the cluster keeps, what it remembers now and what it shares with others included.
func (c *Cluster) Bytes() int64 {
	s := sizes{seen: make(map[any]bool)}
	s.add(c.symbols.Bytes())
	s.add(16*cap(c.Names) + 4*(cap(c.nameIDs)+cap(c.index)+cap(c.kindOf)+cap(c.Taints.Class)))
	s.add(8 * cap(c.Unschedulable))
	s.deep(reflect.ValueOf(c.Taints.Lists))
	s.add(8 * cap(c.rows))
	for _, r := range c.rows {
		s.add(int(reflect.TypeFor[row]().Size()) + 8*(cap(r.labels)+cap(r.pods)) + 24*cap(r.named))
		for i := range r.named {
			s.add(len(r.named[i].Name))
		}
	}
	s.add(12 * len(c.groupOf))
	s.add(8 * cap(c.ports))
	for _, part := range []any{c.resources, c.images, c.groups, c.stated, c.classes, c.kinds, c.templates, c.loads, c.namespaces, c.byName, c.workloads} {
		s.deep(reflect.ValueOf(part))
	}
	return s.total + c.Remembered()
}

// Remembered returns how many bytes of these are what the cluster came to remember.
func (c *Cluster) Remembered() int64 {
	bytes := c.columns.Taken() + c.counts.Taken() + c.perNode.Taken()
	if x := c.terms.antiAffinity.Load(); x != nil {
		bytes += x.bytes
	}
	if x := c.terms.wishes.Load(); x != nil {
		bytes += x.bytes
	}
	if x := c.terms.byLabel.Load(); x != nil {
		bytes += x.memory()
	}
	if c.room.published.Load() != nil {
		bytes += roomBytes(c.Len())
	}
	return bytes
}

// CopiedByChange estimates how many bytes With copies, besides what the change itself states. It depends on whether nodes
// are added and whether some are removed.
func (c *Cluster) CopiedByChange(added, removed bool) int64 {
	const (
		perNode   = 16 + 4*4 + 8 + 8*len(amounts{}) // its name, its ids, its row and its numbers
		perMember = 8
		perKind   = 64 // with its place in a map
	)
	perTemplate := int(reflect.TypeFor[template]().Size()) + 8
	bytes := len(c.kinds)*perKind + len(c.groups)*int(reflect.TypeFor[Group]().Size()) + len(c.templates)*perTemplate
	if bytes += c.Len() * perNode; added {
		bytes += c.Len() * perNode // columns grow
	}
	if removed { // all nodes behind get other indexes
		bytes += c.Len() * perNode
		for i := range c.groups {
			bytes += perMember * len(c.groups[i].Nodes)
		}
	}
	return int64(bytes)
}

var termBytes = int(reflect.TypeFor[TermOf]().Size())

// termEntryBytes is a label and a slice.
const termEntryBytes = 40

// memory is what terms take beside the groups that have them.
func (x *terms) memory() int64 {
	bytes := cap(x.others)*termBytes + int(mapOverhead*float64(termEntryBytes*len(x.byLabel)))
	for _, of := range x.byLabel {
		bytes += cap(of) * termBytes
	}
	return int64(bytes)
}

// Memos are what the cluster remembers by keys.
func (c *Cluster) Memos() []memo.Bounded { return []memo.Bounded{c.columns, c.counts, c.perNode} }

// ToFind estimates the bytes that it will take to find groups by their terms and labels, and nodes by their room, once
// somebody has asked.
func (c *Cluster) ToFind() int64 {
	antiAffinity, wishes, labels := 0, 0, 0
	for i := range c.groups {
		s := c.groups[i].Shape
		antiAffinity += len(s.AntiAffinity)
		wishes += len(s.Affinity) + len(s.PreferredAffinity) + len(s.PreferredAntiAffinity)
		labels += len(s.Labels)
	}
	if c.terms.antiAffinity.Load() != nil {
		antiAffinity = 0
	}
	if c.terms.wishes.Load() != nil {
		wishes = 0
	}
	bytes := int64(antiAffinity+wishes) * int64(2*termBytes+int(mapOverhead*termEntryBytes))
	if c.terms.byLabel.Load() == nil {
		bytes += byLabelMemory(labels)
	}
	if c.room.published.Load() == nil {
		bytes += roomBytes(c.Len())
	}
	return bytes
}

// sizes adds up memory.
type sizes struct {
	total int64
	seen  map[any]bool // pointers that have been followed
}

func (s *sizes) add(bytes int) { s.total += int64(bytes) }

// deep adds what a value points to.
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
		if !flat(v.Type().Elem()) {
			for i := range v.Len() {
				s.deep(v.Index(i))
			}
		}
	case reflect.String:
		s.add(v.Len() + allocOverhead)
	case reflect.Struct:
		for _, field := range v.Fields() {
			s.deep(field)
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

// flat reports whether values of a type point to nothing.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.String, reflect.Map:
		return false
	case reflect.Struct:
		for field := range t.Fields() {
			if !flat(field.Type) {
				return false
			}
		}
	}
	return true
}
