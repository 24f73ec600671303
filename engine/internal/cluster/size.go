package cluster

import (
	"math/bits"
	"reflect"

	"github.com/stowage-scheduler/stowage/engine/internal/memo"
)

// Approximate costs of Go's maps and allocations in addition to their contents.
const (
	mapOverhead   = 1.5 // factor of the size of the entries
	allocOverhead = 8   // bytes by which a small allocation is rounded up
)

// Bytes estimates the memory of the cluster, including its memos, its indexes and what it shares with other clusters.
func (c *Cluster) Bytes() int64 {
	s := sizes{seen: make(map[any]bool), fields: make(map[reflect.Type][]int)}
	s.add(c.symbols.Bytes())
	s.add(16*cap(c.Names) + 4*(cap(c.nameIDs)+cap(c.index)+cap(c.kindOf)+cap(c.Taints.Class)))
	s.add(8 * cap(c.Unschedulable))
	s.deep(reflect.ValueOf(c.Taints.Lists))
	s.add(8 * cap(c.rows))
	for _, r := range c.rows {
		s.add(int(reflect.TypeFor[row]().Size()) + 8*(cap(r.labels)+cap(r.pods)) + 3*allocOverhead)
		s.add(int(reflect.TypeFor[NamedPod]().Size()) * cap(r.named))
		for i := range r.named {
			s.add(len(r.named[i].Name))
			s.deep(reflect.ValueOf(r.named[i].unread))
		}
	}
	s.add(int(reflect.TypeFor[Group]().Size())*cap(c.groups) + 12*len(c.groupOf))
	for i := range c.groups {
		g := &c.groups[i]
		s.add(4*(cap(g.Nodes)+cap(g.Counts)) + int(reflect.TypeFor[Shape]().Size()) + 8*cap(g.Labels))
		s.deep(reflect.ValueOf(g.Rules))
	}
	s.add(8 * cap(c.ports))
	for _, part := range []any{
		c.resources, c.images, c.nominated, c.stated, c.classes, c.kinds, c.templates, c.loads, c.namespaces, c.byName, c.workloads,
		c.budgets, c.podGroups,
	} {
		s.deep(reflect.ValueOf(part))
	}
	return s.total + c.indexBytes() + c.Remembered()
}

// Memos are the caches of the cluster.
func (c *Cluster) Memos() []memo.Bounded { return []memo.Bounded{c.columns, c.counts, c.perNode} }

// Remembered is the part of Bytes that memos take.
func (c *Cluster) Remembered() int64 { return c.columns.Taken() + c.counts.Taken() + c.perNode.Taken() }

// indexBytes estimates the memory of the indexes of groups by term and label and of Room, whether they are built or not.
func (c *Cluster) indexBytes() int64 {
	terms, labels := 0, 0
	for i := range c.groups {
		s := c.groups[i].Shape
		terms += len(s.AntiAffinity) + len(s.Affinity) + len(s.PreferredAffinity) + len(s.PreferredAntiAffinity)
		labels += len(s.Labels)
	}
	const termEntry = 40 // a label and a slice
	byTerm := terms * (2*int(reflect.TypeFor[TermOf]().Size()) + int(mapOverhead*termEntry))
	byLabel := 4 * (1<<bits.Len(uint(labels)) + 1 + labels)
	return int64(byTerm + byLabel + (c.Len()+63)/64*8*(1+Lanes))
}

// CopiedByChange estimates the bytes that With copies in addition to the change itself. It depends on whether nodes are
// added and whether some are removed.
func (c *Cluster) CopiedByChange(added, removed bool) int64 {
	const (
		perNode      = 16 + 4*4 + 8 + 8*len(amounts{}) // name, ids, row and amounts
		perMember    = 8
		perKind      = 64 // with a map entry
		perNominated = 12
	)
	perTemplate := int(reflect.TypeFor[template]().Size()) + 8
	bytes := len(c.kinds)*perKind + len(c.groups)*int(reflect.TypeFor[Group]().Size()) + len(c.templates)*perTemplate
	if column := c.nominated[nomineesColumn]; column != nil {
		bytes += perNominated * len(column.Nodes)
	}
	if bytes += c.Len() * perNode; added {
		bytes += c.Len() * perNode // columns grow
	}
	if removed { // later nodes get other indexes
		bytes += c.Len() * perNode
		for i := range c.groups {
			bytes += perMember * len(c.groups[i].Nodes)
		}
	}
	return int64(bytes)
}

// sizes adds up memory.
type sizes struct {
	total  int64
	seen   map[any]bool           // pointers already followed
	fields map[reflect.Type][]int // see deepFields
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
