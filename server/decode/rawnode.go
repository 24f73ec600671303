package decode

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// rawNodes reads nodes straight from the wire. It takes what is sound and written in the usual way; all else it leaves
// to the decoding of messages, which also says what is wrong. What it takes, it takes as that would.
//
// The node that it reads into is used again for the next one, and its strings lie in the wire's bytes.
type rawNodes struct {
	d    *decoder
	node api.Node
	pods uint64

	labels      []rawLabel
	nodeLabels  api.Labels
	taints      []api.Taint
	allocatable api.Resources
	images      []api.Image
	imageNames  []string
	counts      []api.PodCount
	named       []rawPod
	nodePods    []api.Pod
	podLabels   []rawLabel
	allLabels   []api.Label // of the pods

	// stated has the templates that pods state themselves, by their bytes.
	stated map[string]*statedTemplate

	// A node in canonical form is its bytes; of any other the form is put together from these parts.
	canonical     bool
	countsInOrder bool
	before, after []byte // the labels, up to the pods
	class         []byte
	form          []byte
	buffer        []byte // of pods that are not in canonical form
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

func newRawNodes(d *decoder) *rawNodes {
	return &rawNodes{d: d, stated: make(map[string]*statedTemplate)}
}

// read reads a node and reports whether it could.
func (r *rawNodes) read(raw []byte) bool {
	r.node, r.pods, r.canonical, r.countsInOrder = api.Node{}, 0, true, true
	r.labels, r.taints, r.allocatable, r.images = r.labels[:0], r.taints[:0], r.allocatable[:0], r.images[:0]
	r.counts, r.named, r.nodePods, r.allLabels = r.counts[:0], r.named[:0], r.nodePods[:0], r.allLabels[:0]
	r.imageNames, r.buffer = r.imageNames[:0], r.buffer[:0]
	r.before, r.after, r.class = nil, nil, nil

	var total footprint
	s := scan{rest: raw}
	last := protowire.Number(0)
	afterFrom, afterTo := -1, -1
	for len(s.rest) > 0 {
		from := s.rest
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
			r.node.Name = s.string()
			r.before = s.since(from)
		case nodeLabels:
			var l rawLabel
			l.Key, l.Value, ok = s.label()
			l.field = s.since(from)
			r.labels = append(r.labels, l)
		case nodeTaints:
			ok = r.taint(s.bytes())
		case nodeUnschedulable:
			r.node.Unschedulable = true
			ok = s.varint() == 1
		case nodeAllocatable:
			ok = r.resources(s.bytes())
			r.node.Allocatable = r.allocatable
		case nodeImages:
			ok = r.image(s.bytes())
		case nodePodCounts:
			var f footprint
			f, ok = r.podCount(s.bytes())
			total = total.plus(f)
		case nodePods:
			var f footprint
			f, ok = r.pod(s.bytes())
			total = total.plus(f)
		case nodeClassIndex:
			class := s.varint()
			if ok = class < uint64(len(r.d.classes)); ok {
				r.node.Class = r.d.classes[class]
			}
			r.class = s.since(from)
		}
		if !ok || s.bad {
			return false
		}
		if field >= nodeTaints && field <= nodeImages {
			if afterFrom < 0 {
				afterFrom = len(raw) - len(from)
			}
			afterTo = len(raw) - len(s.rest)
		}
	}
	if afterFrom >= 0 {
		r.after = raw[afterFrom:afterTo]
	}
	if r.node.Name == "" || len(r.node.Name) > MaxNameBytes || total > MaxFootprint || r.pods > MaxClusterPods ||
		len(r.labels) > MaxLabels || len(r.taints) > MaxTaints || len(r.images) > MaxImages {
		return false
	}
	inOrder, ok := sortLabels(r.labels)
	if !ok {
		return false
	}
	r.nodeLabels = appendLabels(r.nodeLabels[:0], r.labels)
	r.node.Labels, r.node.Taints, r.node.Images = r.nodeLabels, r.taints, r.images
	r.canonical = r.canonical && inOrder && r.countsInOrder
	if !r.countsInOrder {
		r.counts = merged(r.counts)
	}
	byForm := func(a, b rawPod) int { return bytes.Compare(a.form, b.form) }
	if !slices.IsSortedFunc(r.named, byForm) {
		r.canonical = false
		slices.SortFunc(r.named, byForm)
	}
	for i := range r.named {
		r.nodePods = append(r.nodePods, r.named[i].Pod)
	}
	r.node.PodCounts, r.node.Pods = r.counts, r.nodePods
	return true
}

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

func appendLabels(to []api.Label, labels []rawLabel) []api.Label {
	for i := range labels {
		to = append(to, labels[i].Label)
	}
	return to
}

func comparePodCounts(a, b *api.PodCount) int {
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
	slices.SortFunc(counts, func(a, b api.PodCount) int { return comparePodCounts(&a, &b) })
	out := counts[:0]
	for _, c := range counts {
		if n := len(out); n > 0 && comparePodCounts(&out[n-1], &c) == 0 {
			out[n-1].Count += c.Count
		} else {
			out = append(out, c)
		}
	}
	return out
}

func (r *rawNodes) taint(raw []byte) bool {
	var t stowagev1.Taint
	s := scan{rest: raw}
	last := protowire.Number(0)
	for len(s.rest) > 0 {
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
	r.taints = append(r.taints, api.Taint{Key: t.Key, Value: t.Value, Effect: effect})
	return true
}

// resources reads a node's resources. Scalars are left to the decoding of messages unless they are in order and known.
func (r *rawNodes) resources(raw []byte) bool {
	names := [...]string{1: api.ResourceCPU, 2: api.ResourceMemory, 3: api.ResourceEphemeralStorage, 4: api.ResourcePods}
	s := scan{rest: raw}
	last := protowire.Number(0)
	lastScalar := ""
	for len(s.rest) > 0 {
		field, kind := s.tag()
		var name string
		var amount uint64
		switch {
		case field > last && int(field) < len(names) && kind == protowire.VarintType:
			name, amount = names[field], s.varint()
		case field >= last && field == 5 && kind == protowire.BytesType:
			entry := scan{rest: s.bytes()}
			name = entry.mapKey()
			entry.valueTag(protowire.VarintType)
			amount = entry.varint()
			if entry.bad || len(entry.rest) > 0 || !r.d.resourceNames.has(name) || name <= lastScalar {
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
		r.allocatable = append(r.allocatable, api.Quantity{Resource: name, Amount: int64(amount)})
	}
	slices.SortFunc(r.allocatable, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return !s.bad
}

func (r *rawNodes) image(raw []byte) bool {
	from := len(r.imageNames)
	var size uint64
	s := scan{rest: raw}
	last := protowire.Number(0)
	for len(s.rest) > 0 {
		field, kind := s.tag()
		switch {
		case field == 1 && last <= 1 && kind == protowire.BytesType:
			r.imageNames = append(r.imageNames, s.string())
		case field == 2 && last < 2 && kind == protowire.VarintType:
			if size = s.varint(); size == 0 {
				return false
			}
		default:
			return false
		}
		last = field
	}
	names := r.imageNames[from:]
	if s.bad || size > MaxImageBytes || len(names) > MaxImageNames {
		return false
	}
	r.images = append(r.images, api.Image{Names: names, SizeBytes: int64(size)})
	return true
}

// podCount reads counted pods: there are so many of them that this is done by hand.
func (r *rawNodes) podCount(raw []byte) (footprint, bool) {
	s := scan{rest: raw}
	var template, count uint64
	if len(s.rest) > 0 && s.rest[0] == 1<<3 {
		s.rest = s.rest[1:]
		if template = s.varint(); template == 0 {
			return 0, false
		}
	}
	if len(s.rest) > 0 && s.rest[0] == 2<<3 {
		s.rest = s.rest[1:]
		count = s.varint()
	}
	terminating := len(s.rest) == 2 && s.rest[0] == 3<<3 && s.rest[1] == 1
	if s.bad || !terminating && len(s.rest) > 0 || count == 0 || count > MaxClusterPods || template >= uint64(len(r.d.onNodes)) {
		return 0, false
	}
	r.pods += count
	c := api.PodCount{Template: int(template), Count: int32(count), Terminating: terminating}
	if n := len(r.counts); n > 0 && comparePodCounts(&r.counts[n-1], &c) >= 0 {
		r.countsInOrder = false
	}
	r.counts = append(r.counts, c)
	f := r.d.onNodes[template]
	if count == 1 {
		return f, true
	}
	return f.times(count), true
}

func (r *rawNodes) pod(raw []byte) (footprint, bool) {
	out := api.Pod{TemplateIndex: -1}
	var name, source, terminating []byte // fields
	var stated *statedTemplate
	var f footprint
	canonical := true
	seen := 0
	r.podLabels = r.podLabels[:0]
	s := scan{rest: raw}
	last := protowire.Number(0)
	for len(s.rest) > 0 {
		from := s.rest
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
			if s.bad || i >= uint64(len(r.d.templates)) {
				return 0, false
			}
			out.TemplateIndex, out.Template, f = int(i), r.d.templates[i], r.d.onNodes[i]
			source = s.since(from)
		case field == podTemplate && kind == protowire.BytesType:
			if source != nil {
				return 0, false
			}
			own := s.bytes()
			if stated = r.statedTemplate(own); stated == nil {
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
	if n := len(r.allLabels); len(r.podLabels) > 0 {
		r.allLabels = appendLabels(r.allLabels, r.podLabels)
		out.Labels = r.allLabels[n:]
	}
	form := raw
	if !canonical || !inOrder {
		r.canonical = false
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
	r.pods++
	return f, true
}

// statedTemplate returns the template that a pod on a node states itself, nil if it is not sound.
func (r *rawNodes) statedTemplate(raw []byte) *statedTemplate {
	if t, ok := r.stated[string(raw)]; ok {
		return t
	}
	var m stowagev1.PodTemplate
	if proto.Unmarshal(raw, &m) != nil {
		return nil
	}
	sound := r.d.problems
	at := path{name: "template"}
	t := &statedTemplate{template: new(api.PodTemplate)}
	*t.template, t.footprint = r.d.template(&at, &m)
	if len(r.d.violations) > len(sound.violations) || r.d.full || t.template.Spec.NodeName != "" {
		r.d.problems = sound
		return nil
	}
	form, err := content.Append(nil, &m)
	if err != nil {
		return nil
	}
	t.canonical = form
	r.stated[string(raw)] = t
	return t
}

// canonicalForm returns the canonical form of the node that was read from raw.
func (r *rawNodes) canonicalForm(raw []byte) []byte {
	if r.canonical {
		return raw
	}
	b := append(r.form[:0], r.before...)
	for i := range r.labels {
		b = append(b, r.labels[i].field...)
	}
	b = append(b, r.after...)
	for _, c := range r.counts {
		b = appendPodCount(b, c)
	}
	for i := range r.named {
		b = protowire.AppendTag(b, nodePods, protowire.BytesType)
		b = protowire.AppendBytes(b, r.named[i].form)
	}
	r.form = append(b, r.class...)
	return r.form
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
