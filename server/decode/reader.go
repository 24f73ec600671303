package decode

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// reader reads templates and nodes while others do so, too. Of nodes it takes what is sound and written in the usual way,
// straight from the wire; all else it leaves to the decoding of messages, which also says what is wrong. What it takes, it
// takes as that would.
type reader struct {
	referred
	// keepForms says that forms are of use until the chunk is, and not only for their digests.
	keepForms bool
	prepare   func(*engine.Draft, *api.Node)

	// resourceNames and topologyKeys are those that the reader met.
	resourceNames, topologyKeys distinct
	usual                       usual
	stated                      statedTemplates
	number                      int // among those who read

	labels, podLabels []rawLabel
	named             []rawPod
	order             []podPlace // of named
	whole             []byte     // canonical form of a node
	compared          []byte
}

// referred is what nodes may refer to.
type referred struct {
	templates []*api.PodTemplate
	pinned    []bool
	classes   []*api.NodeClass
}

// met is names that a reader met for the first time. Of those who read, each tells its own first times.
type met struct{ resources, topologyKeys []string }

// readNode is a node that a reader was asked to read.
type readNode struct {
	raw   []byte
	sound bool // otherwise there is nothing else
	met   met

	node   api.Node
	pods   uint64
	form   []byte // to be kept; only the name if nobody has a use for the rest
	digest content.Digest
}

// Field numbers of Node.
const (
	nodeName = 1 + iota
	nodeLabels
	nodeTaints
	nodeUnschedulable
	nodeAllocatable
	nodeImages
	nodePodCounts
	nodePods
	nodeClassIndex
)

// readNodes reads the nodes of a chunk.
func (r *reader) readNodes(c *chunk) {
	if len(c.drafts) < c.fields {
		c.drafts = make([]engine.Draft, chunkNodes)
	}
	for in := c.from; len(c.nodes) < c.fields; {
		field, n, _ := in.Next()
		switch {
		case n < 0:
		case field == clusterNodes:
			c.nodes = append(c.nodes, readNode{raw: in.Take(n, &c.text)})
			last := &c.nodes[len(c.nodes)-1]
			if last.sound = r.node(c, last); last.sound {
				r.prepare(&c.drafts[len(c.nodes)-1], &last.node)
			}
		default:
			in.Skip(n)
		}
	}
	c.reader, c.shared = r.number, append(c.shared[:0], r.stated.fresh...)
	r.stated.fresh = r.stated.fresh[:0]
}

// node reads a node and reports whether it could. What it reads lies in the chunk, strings in the wire's bytes.
func (r *reader) node(c *chunk, to *readNode) bool {
	r.labels, r.podLabels, r.named, r.order = r.labels[:0], r.podLabels[:0], r.named[:0], r.order[:0]
	counts, images := len(c.counts), len(c.images)
	// A node in canonical form is its bytes; of any other the form is put together from these parts.
	countsInOrder := true
	var before, class []byte // class is a field
	afterFrom, afterTo := -1, -1

	raw, n := to.raw, &to.node
	s := scan{data: raw}
	last := protowire.Number(0)
	for s.more() {
		if s.data[s.at] == nodePodCounts<<3|byte(protowire.BytesType) && last <= nodePodCounts {
			last = nodePodCounts
			var ok bool
			if countsInOrder, ok = r.podCounts(c, &s, to); !ok {
				return false
			}
			continue
		}
		from := s.at
		field, kind := s.tag()
		switch {
		case field < last, field == last && !repeated(field):
			return false
		case kind != kindOf(field):
			return false
		}
		last = field
		ok := true
		switch field {
		case nodeName:
			n.Name = s.string()
			before = s.since(from)
		case nodeLabels:
			var l rawLabel
			l.Key, l.Value, ok = s.label()
			l.field = s.since(from)
			r.labels = append(r.labels, l)
		case nodeTaints:
			ok = c.taint(n, s.bytes())
		case nodeUnschedulable:
			n.Unschedulable = true
			ok = s.varint() == 1
		case nodeAllocatable:
			ok = r.resources(c, to, s.bytes())
		case nodeImages:
			ok = c.image(s.bytes())
		case nodePods:
			ok = r.pod(c, to, s.bytes())
		case nodeClassIndex:
			i := s.varint()
			if ok = i < uint64(len(r.classes)); ok {
				n.Class = r.classes[i]
			}
			class = s.since(from)
		default:
			ok = false
		}
		if !ok || s.bad {
			return false
		}
		if field >= nodeTaints && field <= nodeImages {
			if afterFrom < 0 {
				afterFrom = from
			}
			afterTo = s.at
		}
	}
	n.Images = c.images[images:]
	if n.Name == "" || len(n.Name) > MaxNameBytes || to.pods > MaxClusterPods ||
		len(r.labels) > MaxLabels || len(n.Taints) > MaxTaints || len(n.Images) > MaxImages {
		return false
	}
	labelsInOrder, ok := sortLabels(r.labels)
	if !ok {
		return false
	}
	n.Labels = c.takeLabels(r.labels)
	if n.PodCounts = c.counts[counts:]; !countsInOrder {
		n.PodCounts = merged(n.PodCounts)
	}
	canonical := r.takePods(c, n) && labelsInOrder && countsInOrder
	var after []byte // the labels, up to the pods
	if afterFrom >= 0 {
		after = raw[afterFrom:afterTo]
	}
	whole := raw
	if !canonical {
		r.whole = r.form(r.whole[:0], n, before, after, class, false)
		whole = r.whole
	}
	to.digest = content.DigestOf(whole)
	switch {
	case !r.keepForms:
		to.form = before
	case canonical && r.stated.count == 0:
		to.form = raw
	default:
		from := len(c.forms)
		c.forms = r.form(content.AppendPacked(c.forms), n, before, after, class, true)
		to.form = c.forms[from:]
	}
	return true
}

// form appends the canonical form of a node, or the one that is kept, put together from its parts.
func (r *reader) form(b []byte, n *api.Node, before, after, class []byte, kept bool) []byte {
	b = append(b, before...)
	for i := range r.labels {
		b = append(b, r.labels[i].field...)
	}
	b = append(b, after...)
	for _, count := range n.PodCounts {
		b = appendPodCount(b, count)
	}
	b = r.appendPods(b, kept)
	return append(b, class...)
}

// templateLabels is the field number of PodTemplate.labels.
const templateLabels = 2

func repeated(field protowire.Number) bool {
	switch field {
	case nodeLabels, nodeTaints, nodeImages, nodePodCounts, nodePods:
		return true
	}
	return false
}

// kindOf returns a field's wire type, and one that is none for fields that nodes do not have.
func kindOf(field protowire.Number) protowire.Type {
	switch {
	case field == nodeUnschedulable, field == nodeClassIndex:
		return protowire.VarintType
	case field >= nodeName && field <= nodePods:
		return protowire.BytesType
	}
	return -1
}

func (c *chunk) taint(n *api.Node, raw []byte) bool {
	var t stowagev1.Taint
	s := scan{data: raw}
	last := protowire.Number(0)
	for s.more() {
		field, kind := s.tag()
		if field <= last {
			return false
		}
		last = field
		switch {
		case field == 1 && kind == protowire.BytesType:
			t.Key = s.string()
		case field == 2 && kind == protowire.BytesType:
			if t.Value = s.string(); t.Value == "" {
				return false
			}
		case field == 3 && kind == protowire.VarintType:
			t.Effect = stowagev1.TaintEffect(s.int32())
		default:
			return false
		}
	}
	effect, ok := taintEffect(t.Effect)
	if s.bad || !ok || effect == api.EveryEffect || t.Key == "" || len(t.Key) > MaxLabelKeyBytes || len(t.Value) > MaxLabelValueBytes {
		return false
	}
	c.taints = append(c.taints, api.Taint{Key: t.Key, Value: t.Value, Effect: effect})
	n.Taints = c.taints[len(c.taints)-len(n.Taints)-1:]
	return true
}

// resources reads a node's resources. Scalars are left to the decoding of messages unless they are in order.
func (r *reader) resources(c *chunk, to *readNode, raw []byte) bool {
	resources := len(c.allocatable)
	names := [...]string{1: api.ResourceCPU, 2: api.ResourceMemory, 3: api.ResourceEphemeralStorage, 4: api.ResourcePods}
	s := scan{data: raw}
	last := protowire.Number(0)
	lastScalar := ""
	for s.more() {
		field, kind := s.tag()
		var name string
		var amount uint64
		switch {
		case field > last && int(field) < len(names) && kind == protowire.VarintType:
			name, amount = names[field], s.varint()
		case field >= last && field == 5 && kind == protowire.BytesType:
			entry := scan{data: s.bytes()}
			name = entry.mapKey()
			entry.valueTag(protowire.VarintType)
			amount = entry.varint()
			if s.bad || entry.bad || entry.more() || name <= lastScalar || !r.scalar(&to.met, name) {
				return false
			}
			lastScalar = name
		default:
			return false
		}
		last = field
		if amount > math.MaxInt64 {
			return false
		}
		c.allocatable = append(c.allocatable, api.Quantity{Resource: name, Amount: int64(amount)})
	}
	to.node.Allocatable = c.allocatable[resources:]
	slices.SortFunc(to.node.Allocatable, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return !s.bad
}

// scalar reports whether a resource may be among scalars.
func (r *reader) scalar(m *met, name string) bool {
	if r.resourceNames.has(name) {
		return true
	}
	if hasField(name) || len(name) > MaxLabelKeyBytes {
		return false
	}
	name = strings.Clone(name)
	if !r.resourceNames.add(name, MaxDistinctResources) {
		return false
	}
	m.resources = append(m.resources, name)
	return true
}

func (c *chunk) image(raw []byte) bool {
	from := len(c.imageNames)
	var size uint64
	s := scan{data: raw}
	last := protowire.Number(0)
	for s.more() {
		field, kind := s.tag()
		switch {
		case field == 1 && last <= 1 && kind == protowire.BytesType:
			c.imageNames = append(c.imageNames, s.string())
		case field == 2 && last < 2 && kind == protowire.VarintType:
			if size = s.varint(); size == 0 {
				return false
			}
		default:
			return false
		}
		last = field
	}
	names := c.imageNames[from:]
	if s.bad || size > MaxImageBytes || len(names) > MaxImageNames {
		return false
	}
	c.images = append(c.images, api.Image{Names: names, SizeBytes: int64(size)})
	return true
}

// template reads a template, and reports whether it is sound.
func (r *reader) template(m *met, raw []byte) (_ *api.PodTemplate, form []byte, ok bool) {
	if t, form, ok := r.usual.template(raw); ok {
		return t, form, r.meet(m, slices.Values(r.usual.scalars), slices.Values(r.usual.topologyKeys))
	}
	in := new(stowagev1.PodTemplate)
	if Unmarshal(raw, in) != nil {
		return nil, nil, false
	}
	var d decoder
	out := new(api.PodTemplate)
	*out = d.template(&path{}, in)
	form, err := content.Append(make([]byte, 0, len(raw)), in)
	if err != nil || len(d.violations) > 0 || d.full {
		return nil, nil, false
	}
	return out, form, r.meet(m, maps.Keys(d.resourceNames.names), maps.Keys(d.topologyKeys.names))
}

// meet notes names, and reports whether there is room for them.
func (r *reader) meet(m *met, scalars, topologyKeys iter.Seq[string]) bool {
	for name := range scalars {
		if !r.scalar(m, name) {
			return false
		}
	}
	for key := range topologyKeys {
		if r.topologyKeys.has(key) {
			continue
		}
		if !r.topologyKeys.add(key, MaxDistinctTopologyKeys) {
			return false
		}
		m.topologyKeys = append(m.topologyKeys, key)
	}
	return true
}
