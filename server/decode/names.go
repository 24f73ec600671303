package decode

import (
	"context"
	"maps"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// nameKind is a kind of names whose number in a request is limited.
type nameKind uint8

const (
	resourceName nameKind = iota // of scalar resources
	topologyKey
	nameKinds = iota
)

// nameLimit bounds the names of a kind.
type nameLimit struct {
	name  string
	limit int
	cells int // bounds the names times the nodes
}

var nameLimits = [nameKinds]nameLimit{
	resourceName: {"resource", MaxDistinctResources, math.MaxInt},
	topologyKey:  {"topology key", MaxDistinctTopologyKeys, MaxTopologyCells},
}

// with is the largest number of names in a cluster with a number of nodes.
func (l *nameLimit) with(nodes int) int { return min(l.limit, l.cells/max(nodes, 1)) }

// names are the distinct names in a request and its cluster. After deltas, names that no longer occur may be among them: before a
// limit is exceeded, the names are counted again, so that limits depend on the content only.
type names struct {
	of [nameKinds]distinct
	// loose reports whether some names may no longer occur.
	loose bool
}

// shared returns a copy whose changes do not affect n.
func (n names) shared() names {
	for kind := range n.of {
		n.of[kind].own = false
	}
	return n
}

// limit is the largest number of names of a kind with the nodes so far.
func (d *decoder) limit(kind nameKind) int {
	nodes := d.counts[content.Nodes]
	switch {
	case d.base == nil:
	case d.base.Content != nil:
		nodes = d.base.Content.Nodes().Len()
	default:
		nodes = d.base.Len()
	}
	if d.unlimited {
		return math.MaxInt
	}
	return nameLimits[kind].with(nodes)
}

// boundNames refuses a cluster with a number of nodes if it has too many names.
func (d *decoder) boundNames(at *path, nodes int) {
	for kind, l := range nameLimits {
		if n, limit := len(d.of[kind].names), l.with(nodes); n > limit && !d.unlimited {
			d.refuse(*at, wrongCount, "leads to %d distinct %ss, at most %d are allowed", n, l.name, limit)
		}
	}
}

// countName counts a name, and refuses it if there are too many.
func (d *decoder) countName(at path, kind nameKind, name string) {
	if !d.addName(kind, name) && !d.full {
		d.refuse(at, wrongCount, "is one more distinct %s than the %d that a request may have", nameLimits[kind].name, d.limit(kind))
	}
}

// addName counts a name, and reports whether the limit allows it.
func (d *decoder) addName(kind nameKind, name string) bool {
	limit := d.limit(kind)
	if !d.of[kind].add(name, limit) && (!d.tighten() || !d.of[kind].add(name, limit)) {
		return false
	}
	if d.loose && !d.unlimited {
		d.requested[kind].add(name, math.MaxInt)
	}
	return true
}

// addNames counts the names that an item adds, or none if the limits do not allow all.
func (d *decoder) addNames(added *newNames) bool {
	for kind, names := range added {
		if !d.of[kind].fit(names, d.limit(nameKind(kind))) {
			return false
		}
	}
	for kind, names := range added {
		for _, name := range names {
			d.addName(nameKind(kind), name)
		}
	}
	return true
}

// tighten removes the names that no longer occur. It reports whether there may have been any.
func (d *decoder) tighten() bool {
	if !d.loose || d.ended != nil {
		return false
	}
	exact, err := d.base.exactNames(d.ctx)
	if err != nil {
		d.ended = err
		return false
	}
	d.names = exact.shared()
	for kind := range d.requested {
		for name := range d.requested[kind].names {
			d.of[kind].add(name, math.MaxInt)
		}
	}
	return true
}

// exactNames returns the names that occur in the content.
func (c *Snapshot) exactNames(ctx context.Context) (*names, error) {
	if n := c.exact.Load(); n != nil {
		return n, nil
	}
	n, err := namesIn(ctx, c.Content)
	if err != nil {
		return nil, err
	}
	c.exact.Store(n)
	return n, nil
}

// namesIn returns the names in a content, which may exceed the limits.
func namesIn(ctx context.Context, of *content.Content) (*names, error) {
	r := &Request{decoder: decoder{ctx: ctx, to: nowhere{}, content: &content.Builder{AddressOnly: true}, unlimited: true}}
	r.Part("cluster", encoding(of))
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &r.names, ctx.Err()
}

// encoding returns the encoded cluster of a content.
func encoding(of *content.Content) wire.Pieces {
	var pieces wire.Pieces
	for field, item := range of.Items() {
		head := protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), uint64(len(item)))
		pieces = append(pieces, head, item)
	}
	return pieces
}

// nowhere is a sink that drops the cluster.
type nowhere struct{}

func (nowhere) Grow(int)                                                         {}
func (nowhere) AddTemplate(*api.PodTemplate)                                     {}
func (nowhere) AddClass(*api.NodeClass)                                          {}
func (nowhere) AddNode(ctx context.Context, _ *api.Node) error                   { return ctx.Err() }
func (nowhere) Preparer() func(*engine.Draft, *api.Node)                         { return func(*engine.Draft, *api.Node) {} }
func (nowhere) AddDraft(ctx context.Context, _ *engine.Draft, _ *api.Node) error { return ctx.Err() }
func (nowhere) AddNamespace(api.Namespace)                                       {}
func (nowhere) AddWorkloadSelector(api.WorkloadSelector)                         {}
func (nowhere) SetStorage(api.Storage)                                           {}
func (nowhere) SetDevices(api.Devices)                                           {}
func (nowhere) AddPodDisruptionBudget(api.PodDisruptionBudget)                   {}
func (nowhere) AddPodGroup(api.PodGroup)                                         {}

// distinct is a set of names. Copies share the map until one adds a name.
type distinct struct {
	names map[string]struct{}
	own   bool // no copy shares the map
}

func (s *distinct) has(name string) bool {
	_, ok := s.names[name]
	return ok
}

// add adds a name unless the set would exceed the limit, and reports whether the set has it.
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
	s.names[strings.Clone(name)] = struct{}{} // name may share memory with a frame
	return true
}

// fit reports whether the set with names, which are unique, stays within the limit.
func (s *distinct) fit(names []string, limit int) bool {
	more := 0
	for _, name := range names {
		if !s.has(name) {
			more++
		}
	}
	return len(s.names)+more <= limit
}
