package decode

import (
	"context"

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
	// asked are the names met since known was taken over, as long as that may have names of what is gone.
	asked names
	// unlimited says that names are gathered beyond their limits, which are checked afterwards.
	unlimited bool
	readers   []*reader
	chunks    []*chunk

	nodes      int
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
	if !d.knows(theTopologyKeys, key, MaxDistinctTopologyKeys) && !d.full {
		d.refuse(at.field("topology_key"), "is one more distinct topology key than the %d that a request may have",
			MaxDistinctTopologyKeys)
	}
}
