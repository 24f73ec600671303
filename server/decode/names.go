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

// names are the distinct names of which there are limits. Where nodes have changed, names of what is gone may be among
// them: they are counted anew when they would be too many, so that limits depend on what there is alone.
type names struct {
	resourceNames, topologyKeys distinct
	// loose says that some may be of what is gone.
	loose bool
}

func theResourceNames(n *names) *distinct { return &n.resourceNames }
func theTopologyKeys(n *names) *distinct  { return &n.topologyKeys }

// shared returns a copy that changes nothing of n.
func (n names) shared() names {
	return names{resourceNames: n.resourceNames.shared(), topologyKeys: n.topologyKeys.shared(), loose: n.loose}
}

// most is how many names there may be, the limit or any number.
func (d *decoder) most(limit int) int {
	if d.unlimited {
		return math.MaxInt
	}
	return limit
}

// knows counts a name, and reports whether there is room for it.
func (d *decoder) knows(of func(*names) *distinct, name string, limit int) bool {
	if !of(&d.names).add(name, d.most(limit)) && (!d.tighten() || !of(&d.names).add(name, limit)) {
		return false
	}
	if d.loose && !d.unlimited {
		of(&d.asked).add(name, math.MaxInt)
	}
	return true
}

// tighten takes away the names of what is gone, and reports whether there may have been any.
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
	for name := range d.asked.resourceNames.names {
		d.resourceNames.add(name, math.MaxInt)
	}
	for key := range d.asked.topologyKeys.names {
		d.topologyKeys.add(key, math.MaxInt)
	}
	return true
}

// exactNames returns the names in the cluster.
func (c *Cluster) exactNames(ctx context.Context) (*names, error) {
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

// namesIn counts the names in a content that nothing is wrong with, but that they may be too many.
func namesIn(ctx context.Context, of *content.Content) (*names, error) {
	r := &Request{decoder: decoder{ctx: ctx, to: nowhere{}, content: &content.Builder{AddressOnly: true}, unlimited: true}}
	r.Part("cluster", encoding(of))
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &r.names, ctx.Err()
}

// encoding returns the cluster of a content in its wire form.
func encoding(of *content.Content) wire.Pieces {
	var pieces wire.Pieces
	for _, l := range []struct {
		field protowire.Number
		items *content.List
	}{
		{clusterPodTemplates, of.Templates()},
		{clusterNodeClasses, of.Classes()},
		{clusterNamespaces, of.Namespaces()},
		{clusterWorkloadSelectors, of.WorkloadSelectors()},
		{clusterNodes, of.Nodes()},
	} {
		for _, item := range l.items.All {
			head := protowire.AppendVarint(protowire.AppendTag(nil, l.field, protowire.BytesType), uint64(len(item)))
			pieces = append(pieces, head, item)
		}
	}
	return pieces
}

// nowhere is a sink for clusters that are only looked at.
type nowhere struct{}

func (nowhere) Grow(int)                                                         {}
func (nowhere) AddTemplate(*api.PodTemplate)                                     {}
func (nowhere) AddClass(*api.NodeClass)                                          {}
func (nowhere) AddNode(ctx context.Context, _ *api.Node) error                   { return ctx.Err() }
func (nowhere) Preparer() func(*engine.Draft, *api.Node)                         { return func(*engine.Draft, *api.Node) {} }
func (nowhere) AddDraft(ctx context.Context, _ *engine.Draft, _ *api.Node) error { return ctx.Err() }
func (nowhere) AddNamespace(api.Namespace)                                       {}
func (nowhere) AddWorkloadSelector(api.WorkloadSelector)                         {}

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
	s.names[strings.Clone(name)] = struct{}{} // it may lie in what is read
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
