package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
)

// decoder decodes one request. What it keeps beside the problems is what later parts of the request refer to.
type decoder struct {
	problems
	// nodes is how many nodes there are, and nodeIndexes where each is, by name.
	nodes       int
	nodeIndexes map[string]uint32
	// templates are Cluster.Templates.
	templates []*api.PodTemplate
	// footprints has one element per template.
	footprints []footprint
	// pods counts the pods on all nodes.
	pods uint64
	// resourceNames and topologyKeys are the distinct names, up to their limits.
	resourceNames, topologyKeys map[string]struct{}
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
	if _, ok := d.topologyKeys[key]; ok || d.full {
		return
	}
	if len(d.topologyKeys) == MaxDistinctTopologyKeys {
		d.refuse(at.field("topology_key"), "is one more distinct topology key than the %d that a request may have",
			MaxDistinctTopologyKeys)
		return
	}
	if d.topologyKeys == nil {
		d.topologyKeys = make(map[string]struct{})
	}
	d.topologyKeys[key] = struct{}{}
}
