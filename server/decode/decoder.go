package decode

import (
	"context"
	"maps"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
)

// decoder decodes one request.
type decoder struct {
	problems
	ctx context.Context
	// ended is the context's error, if that ended.
	ended error

	// base is the cluster that the request asks about, where it is there already. Otherwise to and content take it.
	base    *Cluster
	to      sink
	content *content.Builder
	known
	readers []*reader
	chunks  []*chunk

	nodes      int
	inherited  uint64
	namespaces list[string]
	workloads  list[workload]
	selectors  []api.WorkloadSelector
	canonical  []byte // scratch
}

// list is a list whose elements have identities.
type list[K comparable] struct {
	count int
	first map[K]int // index of the first with an identity
}

// add counts an element and tells which one had its identity before.
func (l *list[K]) add(id K) (first int, again bool) {
	if l.first == nil {
		l.first = make(map[K]int)
	}
	first, again = l.first[id]
	if !again {
		l.first[id] = l.count
	}
	l.count++
	return first, again
}

// within reports whether a list is as short as it must be. Callers do not walk one that is not.
func (d *decoder) within(at *path, field string, length, limit int) bool {
	if length <= limit {
		return true
	}
	d.refuse(at.field(field), "has %d entries, at most %d are allowed", length, limit)
	return false
}

// name checks a required name.
func (d *decoder) name(at *path, field, value string, longest int) {
	if value == "" {
		d.refuse(at.field(field), "is required")
		return
	}
	d.length(at.field(field), value, longest)
}

// length checks the length of a string.
func (d *decoder) length(at path, value string, longest int) {
	if len(value) > longest {
		d.refuse(at, "has %d bytes, at most %d are allowed", len(value), longest)
	}
}

// namespace checks a namespace's name and applies the default.
func (d *decoder) namespace(at *path, value string) string {
	if value == "" {
		return "default"
	}
	d.length(at.field("namespace"), value, MaxNamespaceBytes)
	return value
}

// topologyKey checks a required topology key.
func (d *decoder) topologyKey(at *path, key string) {
	if key == "" {
		d.refuse(at.field("topology_key"), "is required")
	} else if !isLabelKey(key) {
		d.refuse(at.field("topology_key"), labelKeySyntax)
	}
	if !d.topologyKeys.add(key, MaxDistinctTopologyKeys) && !d.full {
		d.refuse(at.field("topology_key"), "is one more distinct topology key than the %d that a request may have",
			MaxDistinctTopologyKeys)
	}
}

// distinct is a set of names. Copies share what they have in common.
type distinct struct {
	names map[string]struct{}
	own   bool // nobody else has the map
}

func (s *distinct) has(name string) bool {
	_, ok := s.names[name]
	return ok
}

// add reports whether a name is in the set or found room in it.
func (s *distinct) add(name string, limit int) bool {
	if s.has(name) {
		return true
	}
	if len(s.names) >= limit {
		return false
	}
	if !s.own {
		s.names, s.own = maps.Clone(s.names), true
		if s.names == nil {
			s.names = make(map[string]struct{})
		}
	}
	s.names[name] = struct{}{}
	return true
}

// fit reports whether there is room for names, which differ from each other.
func (s *distinct) fit(names []string, limit int) bool {
	more := 0
	for _, name := range names {
		if !s.has(name) {
			more++
		}
	}
	return len(s.names)+more <= limit
}

// shared returns a copy that changes nothing of s.
func (s distinct) shared() distinct { return distinct{names: s.names} }
