package decode

import (
	"bytes"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// reader reads templates and nodes while others do so, too. Of nodes it takes what is sound and written in the usual way,
// straight from the wire; all else it leaves to the decoding of messages, which also says what is wrong. What it takes, it
// takes as that would.
type reader struct {
	// templates, onNodes and classes are those that nodes may refer to.
	templates []*api.PodTemplate
	onNodes   []footprint
	classes   []*api.NodeClass
	// keepForms says that forms are of use until the chunk is, and not only for their digests.
	keepForms bool
	prepare   func(*engine.Draft, *api.Node)

	// resourceNames and topologyKeys are those that the reader met.
	resourceNames, topologyKeys distinct
	usual                       usual
	// stated has the templates that pods state themselves, by their bytes.
	stated map[string]*statedTemplate

	labels, podLabels, templateLabels []rawLabel
	named                             []rawPod
	buffer                            []byte // of pods that are not in canonical form
	ordered                           []byte
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
	form   []byte // canonical, but only the name if nobody has a use for the rest
	digest content.Digest
}

type rawLabel struct {
	api.Label
	field []byte // with tag and length
}

type rawPod struct {
	api.Pod
	form []byte // canonical
}

type statedTemplate struct {
	template  *api.PodTemplate
	footprint footprint
	canonical []byte
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

// Field numbers of Pod.
const (
	podName = 1 + iota
	podTemplateIndex
	podTemplate
	podLabels
	podTerminating
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
}

// node reads a node and reports whether it could. What it reads lies in the chunk, strings in the wire's bytes.
func (r *reader) node(c *chunk, to *readNode) bool {
	r.labels, r.named, r.buffer = r.labels[:0], r.named[:0], r.buffer[:0]
	counts, images := len(c.counts), len(c.images)
	// A node in canonical form is its bytes; of any other the form is put together from these parts.
	canonical, countsInOrder := true, true
	var before, class []byte // class is a field
	afterFrom, afterTo := -1, -1

	raw, n := to.raw, &to.node
	var total footprint
	s := scan{data: raw}
	last := protowire.Number(0)
	for s.more() {
		if s.data[s.at] == nodePodCounts<<3|byte(protowire.BytesType) && last <= nodePodCounts {
			last = nodePodCounts
			var f footprint
			var ok bool
			if f, countsInOrder, ok = r.podCounts(c, &s, to); !ok {
				return false
			}
			total = total.plus(f)
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
			var f footprint
			f, ok = r.pod(c, to, s.bytes(), &canonical)
			total = total.plus(f)
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
	if n.Name == "" || len(n.Name) > MaxNameBytes || total > MaxFootprint || to.pods > MaxClusterPods ||
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
	byForm := func(a, b rawPod) int { return bytes.Compare(a.form, b.form) }
	if !slices.IsSortedFunc(r.named, byForm) {
		canonical = false
		slices.SortFunc(r.named, byForm)
	}
	pods := len(c.pods)
	for i := range r.named {
		c.pods = append(c.pods, r.named[i].Pod)
	}
	n.Pods = c.pods[pods:]
	if to.form = raw; !canonical || !labelsInOrder || !countsInOrder {
		var after []byte // the labels, up to the pods
		if afterFrom >= 0 {
			after = raw[afterFrom:afterTo]
		}
		to.form = r.form(c, n, before, after, class)
	}
	to.digest = content.DigestOf(to.form)
	if !r.keepForms {
		to.form = before
	}
	return true
}

// form puts the canonical form of a node together.
func (r *reader) form(c *chunk, n *api.Node, before, after, class []byte) []byte {
	if !r.keepForms {
		c.forms = c.forms[:0]
	}
	from := len(c.forms)
	b := append(c.forms, before...)
	for i := range r.labels {
		b = append(b, r.labels[i].field...)
	}
	b = append(b, after...)
	for _, count := range n.PodCounts {
		b = appendPodCount(b, count)
	}
	for i := range r.named {
		b = protowire.AppendTag(b, nodePods, protowire.BytesType)
		b = protowire.AppendBytes(b, r.named[i].form)
	}
	c.forms = append(b, class...)
	return c.forms[from:]
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

// sortLabels sorts labels by key and reports whether they were, and whether the keys are unique.
func sortLabels(labels []rawLabel) (inOrder, unique bool) {
	byKey := func(a, b rawLabel) int { return strings.Compare(a.Key, b.Key) }
	if inOrder = slices.IsSortedFunc(labels, byKey); !inOrder {
		slices.SortFunc(labels, byKey)
	}
	for i := 1; i < len(labels); i++ {
		if labels[i].Key == labels[i-1].Key {
			return false, false
		}
	}
	return inOrder, true
}

func (c *chunk) takeLabels(labels []rawLabel) api.Labels {
	if len(labels) == 0 {
		return nil
	}
	from := len(c.labels)
	for i := range labels {
		c.labels = append(c.labels, labels[i].Label)
	}
	return c.labels[from:]
}

func comparePodCounts(a, b api.PodCount) int {
	switch {
	case a.Template != b.Template:
		return a.Template - b.Template
	case a.Terminating == b.Terminating:
		return 0
	case b.Terminating:
		return -1
	}
	return 1
}

// merged sorts counts and adds up those of the same pods, which fit as a node's pods have been counted.
func merged(counts []api.PodCount) []api.PodCount {
	slices.SortFunc(counts, comparePodCounts)
	out := counts[:0]
	for _, c := range counts {
		if n := len(out); n > 0 && comparePodCounts(out[n-1], c) == 0 {
			out[n-1].Count += c.Count
		} else {
			out = append(out, c)
		}
	}
	return out
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
			t.Effect = stowagev1.TaintEffect(s.varint())
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
		if amount > MaxQuantity {
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

// podCounts reads all of a node's counted pods, of which there are very many, and tells whether they are in order, none
// twice.
func (r *reader) podCounts(c *chunk, s *scan, to *readNode) (total footprint, inOrder, ok bool) {
	inOrder = true
	last := uint64(0) // the place of the count before, from 1
	for {
		b := s.data[s.at:]
		if len(b) == 0 || b[0] != nodePodCounts<<3|byte(protowire.BytesType) {
			return total, inOrder, true
		}
		size := 0
		if len(b) > 1 {
			size = int(b[1])
		}
		// Most state an index of one or two bytes, after it a count of one, and nothing else.
		var template, count uint64
		terminating := false
		switch {
		case size == 4 && len(b) >= 6 && b[2] == 1<<3 && b[3]-1 < 0x7f && b[4] == 2<<3 && b[5] < 0x80:
			template, count = uint64(b[3]), uint64(b[5])
			s.at += 6
		case size == 5 && len(b) >= 7 && b[2] == 1<<3 && b[3] >= 0x80 && b[4]-1 < 0x7f && b[5] == 2<<3 && b[6] < 0x80:
			template, count = uint64(b[3]&0x7f)|uint64(b[4])<<7, uint64(b[6])
			s.at += 7
		default:
			s.at++
			if template, count, terminating, ok = podCount(s.bytes()); !ok {
				return 0, false, false
			}
		}
		if count == 0 || count > MaxClusterPods || template >= uint64(len(r.onNodes)) {
			return 0, false, false
		}
		place := 2*template + 1
		if terminating {
			place++
		}
		inOrder = inOrder && place > last
		last = place
		to.pods += count
		c.counts = append(c.counts, api.PodCount{Template: int(template), Count: int32(count), Terminating: terminating})
		f := r.onNodes[template]
		if count > 1 {
			f = f.times(count)
		}
		total = total.plus(f)
	}
}

func podCount(raw []byte) (template, count uint64, terminating, ok bool) {
	s := scan{data: raw}
	if s.skip(1 << 3) {
		if template = s.varint(); template == 0 {
			return 0, 0, false, false
		}
	}
	if s.skip(2 << 3) {
		count = s.varint()
	}
	if s.skip(3 << 3) {
		if terminating = s.skip(1); !terminating {
			s.fail()
		}
	}
	return template, count, terminating, !s.bad && !s.more()
}

func (r *reader) pod(c *chunk, to *readNode, raw []byte, nodeCanonical *bool) (footprint, bool) {
	out := api.Pod{TemplateIndex: -1}
	var name, source, terminating []byte // fields
	var stated *statedTemplate
	var f footprint
	canonical := true
	seen := 0
	r.podLabels = r.podLabels[:0]
	s := scan{data: raw}
	last := protowire.Number(0)
	for s.more() {
		from := s.at
		field, kind := s.tag()
		// Encoders put the source, which is one of two, where they like.
		if field < last {
			canonical = false
		} else {
			last = field
		}
		if field != podLabels && seen&(1<<field) != 0 {
			return 0, false
		}
		seen |= 1 << field
		switch {
		case field == podName && kind == protowire.BytesType:
			if out.Name = s.string(); out.Name == "" || len(out.Name) > MaxNameBytes {
				return 0, false
			}
			name = s.since(from)
		case field == podTemplateIndex && kind == protowire.VarintType:
			i := s.varint()
			if s.bad || i >= uint64(len(r.templates)) {
				return 0, false
			}
			out.TemplateIndex, out.Template, f = int(i), r.templates[i], r.onNodes[i]
			source = s.since(from)
		case field == podTemplate && kind == protowire.BytesType:
			if source != nil {
				return 0, false
			}
			own := s.bytes()
			if stated = r.statedTemplate(&to.met, own); stated == nil {
				return 0, false
			}
			out.Template, f = stated.template, stated.footprint
			source = s.since(from)
			canonical = canonical && bytes.Equal(own, stated.canonical)
		case field == podLabels && kind == protowire.BytesType:
			key, value, ok := s.label()
			if !ok {
				return 0, false
			}
			r.podLabels = append(r.podLabels, rawLabel{api.Label{Key: key, Value: value}, s.since(from)})
		case field == podTerminating && kind == protowire.VarintType:
			if s.varint() != 1 {
				return 0, false
			}
			out.Terminating = true
			terminating = s.since(from)
		default:
			return 0, false
		}
	}
	if s.bad || out.Template == nil || len(r.podLabels) > MaxLabels {
		return 0, false
	}
	inOrder, unique := sortLabels(r.podLabels)
	if !unique {
		return 0, false
	}
	out.Labels = c.takeLabels(r.podLabels)
	form := raw
	if !canonical || !inOrder {
		*nodeCanonical = false
		n := len(r.buffer)
		r.buffer = append(r.buffer, name...)
		if stated != nil {
			r.buffer = protowire.AppendTag(r.buffer, podTemplate, protowire.BytesType)
			r.buffer = protowire.AppendBytes(r.buffer, stated.canonical)
		} else {
			r.buffer = append(r.buffer, source...)
		}
		for i := range r.podLabels {
			r.buffer = append(r.buffer, r.podLabels[i].field...)
		}
		r.buffer = append(r.buffer, terminating...)
		form = r.buffer[n:]
	}
	r.named = append(r.named, rawPod{out, form})
	to.pods++
	return f, true
}

// statedTemplate returns the template that a pod on a node states itself, nil if it is not sound.
func (r *reader) statedTemplate(m *met, raw []byte) *statedTemplate {
	if t, ok := r.stated[string(raw)]; ok {
		return t
	}
	if r.stated == nil {
		r.stated = make(map[string]*statedTemplate)
	}
	// Many encoders write the labels in another order each time.
	ordered := r.orderLabels(raw)
	if t, ok := r.stated[string(ordered)]; ok && len(ordered) > 0 {
		r.stated[string(raw)] = t
		return t
	}
	t := new(statedTemplate)
	var ok bool
	if t.template, t.footprint, t.canonical, ok = r.template(m, raw); !ok || t.template.Spec.NodeName != "" {
		return nil
	}
	r.stated[string(raw)] = t
	if len(ordered) > 0 {
		r.stated[string(ordered)] = t
	}
	return t
}

// orderLabels returns the encoding of a template with its labels in order and behind all else, empty if it is unusual. It
// is there until the next one.
func (r *reader) orderLabels(raw []byte) []byte {
	r.templateLabels, r.ordered = r.templateLabels[:0], r.ordered[:0]
	for s := (scan{data: raw}); s.more(); {
		from := s.at
		field, kind := s.tag()
		if kind != protowire.BytesType {
			return nil
		}
		if field == templateLabels {
			key, value, ok := s.label()
			if !ok {
				return nil
			}
			r.templateLabels = append(r.templateLabels, rawLabel{api.Label{Key: key, Value: value}, s.since(from)})
			continue
		}
		s.bytes()
		if s.bad {
			return nil
		}
		r.ordered = append(r.ordered, s.since(from)...)
	}
	if _, unique := sortLabels(r.templateLabels); !unique {
		return nil
	}
	for i := range r.templateLabels {
		r.ordered = append(r.ordered, r.templateLabels[i].field...)
	}
	return r.ordered
}

// template reads a template, and reports whether it is sound.
func (r *reader) template(m *met, raw []byte) (_ *api.PodTemplate, _ footprint, form []byte, ok bool) {
	if t, form, ok := r.usual.template(raw); ok {
		return t, specFootprint(&t.Spec), form, r.meet(m, slices.Values(r.usual.scalars), slices.Values(r.usual.topologyKeys))
	}
	in := new(stowagev1.PodTemplate)
	if proto.Unmarshal(raw, in) != nil {
		return nil, 0, nil, false
	}
	var d decoder
	out := new(api.PodTemplate)
	var f footprint
	*out, f = d.template(&path{}, in)
	form, err := content.Append(make([]byte, 0, len(raw)), in)
	if err != nil || len(d.violations) > 0 || d.full {
		return nil, 0, nil, false
	}
	return out, f, form, r.meet(m, maps.Keys(d.resourceNames.names), maps.Keys(d.topologyKeys.names))
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

func appendPodCount(b []byte, c api.PodCount) []byte {
	var field [3 * (1 + binary.MaxVarintLen32)]byte
	f := field[:0]
	if c.Template != 0 {
		f = protowire.AppendVarint(append(f, 1<<3), uint64(c.Template))
	}
	f = protowire.AppendVarint(append(f, 2<<3), uint64(c.Count))
	if c.Terminating {
		f = append(f, 3<<3, 1)
	}
	b = protowire.AppendTag(b, nodePodCounts, protowire.BytesType)
	return protowire.AppendBytes(b, f)
}
