package decode

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

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
	nodeNominatedPods
)

type readNode struct {
	raw   []byte
	sound bool // otherwise the rest is not set
	names newNames

	node            api.Node
	pods, nominated uint64 // pods counts the nominated ones too
	form            []byte
	digest          content.Digest
}

func (r *reader) readNodes(c *chunk) {
	if len(c.drafts) < c.fields {
		c.drafts = make([]engine.Draft, chunkNodes)
	}
	c.nodes = slices.Grow(c.nodes, c.fields)
	r.to = &c.lists // which go with the chunk
	defer func() { r.to = &r.kept }()
	c.each(isNode, func(in *wire.Reader, _ protowire.Number, n int) {
		c.nodes = append(c.nodes, readNode{raw: in.Copy(n, &c.text)})
		last := &c.nodes[len(c.nodes)-1]
		if !r.node(c, path{}, last.raw, last) {
			if again := usual(last.raw, new(stowagev1.Node)); again != nil {
				r.node(c, path{}, again, last)
			}
		}
		if last.sound {
			r.prepare(&c.drafts[len(c.nodes)-1], &last.node)
		}
	})
	c.reader, c.shared = r.number, append(c.shared[:0], r.inline.added...)
	r.inline.added = r.inline.added[:0]
}

// node reads a node and reports whether it is in the usual encoding. It changes raw. What it reads shares memory with raw and
// with the chunk.
func (r *reader) node(c *chunk, at path, raw []byte, to *readNode) (isUsual bool) {
	r.begin(&to.names)
	f := r.enter(at, raw)
	in, n := &f.in, &to.node
	*n, to.pods = api.Node{}, 0
	n.Name = in.text(nodeName)
	n.Labels = r.labels(&f.at, in, nodeLabels, "labels")
	n.Taints = listIn(r, &f.at, in, nodeTaints, "taints", MaxTaints, &r.to.taints, (*reader).taint)
	n.Unschedulable = in.bool(nodeUnschedulable)
	n.Allocatable = one(r, &f.at, in, nodeAllocatable, "allocatable", (*reader).nodeResources)
	n.Images = listIn(r, &f.at, in, nodeImages, "images", MaxImages, &r.to.images, (*reader).image)
	head := raw[:in.at]
	countsInOrder := r.podCounts(c, &f.at, in, to)
	r.podsOf(&f.at, in, nodePods, "pods", &r.pods, onNode)
	beforeClass := in.at
	if in.next(number(nodeClassIndex)) {
		r.classIndex(&f.at, in, n)
	}
	class := in.since(beforeClass)
	r.podsOf(&f.at, in, nodeNominatedPods, "nominated_pods", &r.nominated, nominated)
	if r.depth--; !in.usual() {
		to.sound = false
		return false
	}
	r.name(&f.at, "name", n.Name, MaxNameBytes)
	r.nominatedOnce(&f.at)
	to.nominated = uint64(len(r.nominated.raw))
	to.pods += uint64(len(r.pods.raw)) + to.nominated
	if !countsInOrder && to.pods <= MaxClusterPods {
		n.PodCounts = merged(n.PodCounts)
	}
	var podsInOrder, nominatedInOrder bool
	n.Pods, podsInOrder = r.takePods(c, &r.pods)
	n.Nominated, nominatedInOrder = r.takePods(c, &r.nominated)
	canonical := countsInOrder && podsInOrder && nominatedInOrder
	if to.sound = r.sound() && to.pods <= MaxClusterPods; to.sound || r.exact != nil {
		r.formOf(c, to, raw, head, class, canonical)
	}
	return true
}

// formOf sets a node's digest and form.
func (r *reader) formOf(c *chunk, to *readNode, raw, head, class []byte, canonical bool) {
	whole := raw
	if !canonical {
		r.whole = r.form(r.whole[:0], &to.node, head, class, false)
		whole = r.whole
	}
	to.digest = content.DigestOf(whole)
	switch {
	case r.forms == formName:
		name := scan{data: raw}
		name.next(sized(nodeName))
		name.bytes()
		to.form = name.since(0)
	case r.forms == formWhole || canonical && r.inline.shared == 0:
		to.form = whole
	default:
		from := len(c.forms)
		c.forms = r.form(content.AppendPacked(c.forms), &to.node, head, class, true)
		to.form = c.forms[from:]
	}
}

// form appends a node's canonical form from its parts, or the packed form that the content keeps.
func (r *reader) form(b []byte, n *api.Node, head, class []byte, kept bool) []byte {
	b = append(b, head...)
	for _, count := range n.PodCounts {
		b = appendPodCount(b, count)
	}
	b = append(r.appendPods(b, nodePods, &r.pods, kept), class...)
	return r.appendPods(b, nodeNominatedPods, &r.nominated, kept)
}

func (r *reader) podsOf(at *path, in *scan, field byte, name string, to *podList, s podKind) {
	for in.next(sized(field)) {
		f := r.enter(at.item(name, len(to.raw)), in.bytes())
		to.raw = append(to.raw, rawPod{})
		r.pod(&f.at, &f.in, s, &to.raw[len(to.raw)-1])
		if r.depth--; !f.in.usual() {
			in.fail()
		}
	}
}

// nominatedOnce refuses pods that are nominated to the node more than once.
func (r *reader) nominatedOnce(at *path) {
	var names identities[[2]string]
	for i := range r.nominated.raw {
		pod := &r.nominated.raw[i].pod
		if pod.Template == nil || pod.Name == "" {
			continue
		}
		if first, again := names.add([2]string{pod.Template.Namespace, pod.Name}, i); again {
			at := at.item("nominated_pods", i)
			r.refuse(at.field("name"), duplicate, "is that of nominated_pods[%d], in the same namespace, too", first)
		}
	}
}

func (r *reader) classIndex(at *path, in *scan, n *api.Node) {
	if i := in.uint32Value(); uint64(i) < uint64(len(r.classes)) {
		n.Class = r.classes[i]
	} else {
		r.refuse(at.field("class_index"), notFound, "is %d, but there are %d node classes", i, len(r.classes))
	}
}

func (r *reader) image(at *path, in *scan) (out api.Image) {
	out.Names = r.texts(at, in, 1, "names", MaxImageNames)
	if in.next(number(2)) {
		size := in.varint()
		if size == 0 {
			in.fail()
		}
		if out.SizeBytes = int64(size); size > MaxImageBytes {
			r.refuse(at.field("size_bytes"), outOfRange, "is %d, 0 to %d are allowed", out.SizeBytes, int64(MaxImageBytes))
		}
	}
	return out
}

// podCounts reads a node's pod counts, which are numerous. It reports whether they are in canonical order without duplicates.
func (r *reader) podCounts(c *chunk, at *path, s *scan, to *readNode) (inOrder bool) {
	first := len(c.counts)
	inOrder = true
	last := -1 // position
	for i := 0; ; i++ {
		b := s.data[s.at:]
		if len(b) == 0 || b[0] != nodePodCounts<<3|byte(protowire.BytesType) {
			break
		}
		size := byte(0)
		if len(b) > 1 {
			size = b[1]
		}
		// Fast paths: an index of one or two bytes, a count of one byte, nothing else.
		var template, count uint64
		terminating, readiness := false, int32(0)
		switch {
		case size == 4 && len(b) >= 6 && b[2] == 1<<3 && b[3]-1 < 0x7f && b[4] == 2<<3 && b[5]-1 < 0x7f:
			template, count = uint64(b[3]), uint64(b[5])
			s.at += 6
		case size == 5 && len(b) >= 7 && b[2] == 1<<3 && b[3] >= 0x80 && b[4]-1 < 0x7f && b[5] == 2<<3 && b[6]-1 < 0x7f:
			template, count = uint64(b[3]&0x7f)|uint64(b[4])<<7, uint64(b[6])
			s.at += 7
		default:
			s.at++
			template, count, terminating, readiness = podCount(s)
		}
		if count == 0 || template >= uint64(len(r.pinned)) || r.pinned[template] {
			r.wrongCount(at.item("pod_counts", i), template, count)
			continue
		}
		to.pods += count
		// The total of the cluster refuses larger counts.
		counted := api.PodCount{Template: int(template), Count: int32(min(count, MaxClusterPods)), Terminating: terminating}
		if readiness != 0 {
			at := at.item("pod_counts", i)
			counted.Readiness = r.readinessOf(&at, readiness)
		}
		inOrder = inOrder && position(counted) > last
		last = position(counted)
		c.counts = append(c.counts, counted)
	}
	if len(c.counts) > first {
		to.node.PodCounts = c.counts[first:]
	}
	return inOrder
}

func podCount(s *scan) (template, count uint64, terminating bool, readiness int32) {
	in := scan{data: s.bytes()}
	template, count, terminating, readiness = uint64(in.uint32(1)), uint64(in.uint32(2)), in.bool(3), in.int32(4)
	if !in.usual() {
		s.fail()
	}
	return template, count, terminating, readiness
}

func (r *reader) wrongCount(at path, template, count uint64) {
	if count == 0 {
		r.refuse(at.field("count"), outOfRange, "is 0, at least 1 is required")
	}
	r.templateIndex(&at, uint32(template), onNode)
}

// position is the place of a pod count in canonical order.
func position(c api.PodCount) int {
	const states = 2 * (int(api.PhasePending) + 1)
	state := int(c.Readiness)
	if c.Terminating {
		state += states / 2
	}
	return states*c.Template + state
}

// merged sorts counts and adds up those of the same pods. The sums fit, as a node's pods have been counted.
func merged(counts []api.PodCount) []api.PodCount {
	slices.SortFunc(counts, func(a, b api.PodCount) int { return position(a) - position(b) })
	out := counts[:0]
	for _, c := range counts {
		if n := len(out); n > 0 && position(out[n-1]) == position(c) {
			out[n-1].Count += c.Count
		} else {
			out = append(out, c)
		}
	}
	return out
}

func appendPodCount(b []byte, c api.PodCount) []byte {
	var field [4 * (1 + binary.MaxVarintLen32)]byte
	f := field[:0]
	if c.Template != 0 {
		f = protowire.AppendVarint(append(f, 1<<3), uint64(c.Template))
	}
	f = protowire.AppendVarint(append(f, 2<<3), uint64(c.Count))
	if c.Terminating {
		f = append(f, 3<<3, 1)
	}
	if c.Readiness != 0 {
		f = append(f, 4<<3, byte(c.Readiness))
	}
	b = protowire.AppendTag(b, nodePodCounts, protowire.BytesType)
	return protowire.AppendBytes(b, f)
}

func (d *decoder) commitNodes(parent *path, c *chunk) {
	for _, template := range c.shared {
		d.content.Share(c.reader, template)
	}
	for i := range c.nodes {
		if d.over() || !d.room(parent, clusterNodes) {
			return
		}
		n := &c.nodes[i]
		if n.sound && d.addNames(&n.names) && d.content.AddNode(n.form, n.digest) {
			d.countNode(n)
			d.ended = d.to.AddDraft(d.ctx, &c.drafts[i], &n.node)
		} else {
			at := parent.item("nodes", d.counts[clusterNodes])
			d.addNode(&at, n.raw)
		}
	}
}

// addNode reads a node again and reports its problems.
func (d *decoder) addNode(at *path, raw []byte) {
	var n readNode
	exactly := func(r *reader, raw []byte) bool { return r.node(new(chunk), *at, raw, &n) }
	if !d.again(at, raw, new(stowagev1.Node), exactly) {
		return
	}
	if first, again := d.content.Lookup(n.node.Name); again && n.node.Name != "" {
		d.refuse(at.field("name"), duplicate, "is that of %s.nodes[%d] too, names must be unique", at.parent.String(), first)
	}
	d.content.AddNode(n.form, n.digest)
	d.countNode(&n)
	if len(d.violations) > 0 || n.pods > MaxClusterPods {
		d.ended = d.ctx.Err()
		return // the engine must not get an invalid node
	}
	d.ended = d.to.AddNode(d.ctx, &n.node)
}

func (d *decoder) countNode(n *readNode) {
	d.counts[clusterNodes]++
	d.pods += n.pods
	d.nominated += n.nominated
	d.inherited += inherited(n.node.Class)
}

// inherited is the number of taints, image names and labels that a node inherits from its class, which may be nil.
func inherited(c *api.NodeClass) uint64 {
	if c == nil {
		return 0
	}
	n := len(c.Taints) + len(c.NameLabelKeys)
	for i := range c.Images {
		n += len(c.Images[i].Names)
	}
	return uint64(n)
}

// bounds checks the limits on sums over all nodes.
func (d *decoder) bounds(at *path) {
	if d.inherited > MaxInherited {
		d.refuse(at.field("nodes"), wrongCount, "take over %d taints, image names and labels from their classes in all, at most %d are allowed",
			d.inherited, MaxInherited)
	}
	if d.pods > MaxClusterPods {
		d.refuse(at.field("nodes"), wrongCount, "have %d pods in all, at most %d are allowed", d.pods, MaxClusterPods)
	}
}
