package decode

import (
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
	nodeName          = 1
	nodePodCounts     = 7
	nodePods          = 8
	nodeClassIndex    = 9
	nodeNominatedPods = 10
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
	n := &to.node
	*n, to.pods = api.Node{}, 0
	r.nodeFields(&f.at, &f.in, c, to)
	if r.depth--; !f.in.usual() {
		to.sound = false
		return false
	}
	r.nominatedOnce(&f.at)
	to.nominated = uint64(len(r.nominated.raw))
	to.pods += uint64(len(r.pods.raw)) + to.nominated
	canonical := r.counts.inOrder
	if !canonical && to.pods <= MaxClusterPods && len(r.violations) == 0 {
		r.orderCounts(c, n)
	}
	var podsInOrder, nominatedInOrder bool
	n.Pods, podsInOrder = r.takePods(c, &r.pods)
	n.Nominated, nominatedInOrder = r.takePods(c, &r.nominated)
	canonical = canonical && podsInOrder && nominatedInOrder
	if to.sound = r.sound() && to.pods <= MaxClusterPods; to.sound || r.exact != nil {
		r.formOf(c, to, raw, canonical)
	}
	return true
}

// formOf sets a node's digest and form.
func (r *reader) formOf(c *chunk, to *readNode, raw []byte, canonical bool) {
	whole := raw
	if !canonical {
		r.whole = r.form(r.whole[:0], raw, false)
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
		c.forms = r.form(content.AppendPacked(c.forms), raw, true)
		to.form = c.forms[from:]
	}
}

// form appends a node's canonical form, or the packed form that the content keeps: raw with its lists of pods in canonical order.
// It copies everything else, whatever the fields.
func (r *reader) form(b, raw []byte, kept bool) []byte {
	b = append(b, raw[:r.counts.from]...)
	b = append(b, r.counts.encoded...)
	b = append(b, raw[r.counts.end:r.pods.from]...)
	b = r.appendPods(b, nodePods, &r.pods, kept)
	b = append(b, raw[r.pods.end:r.nominated.from]...)
	b = r.appendPods(b, nodeNominatedPods, &r.nominated, kept)
	return append(b, raw[r.nominated.end:]...)
}

func (r *reader) podsOnNode(at *path, in *scan, _ *chunk, _ *readNode) {
	r.podsOf(at, in, nodePods, "pods", &r.pods, onNode)
}

func (r *reader) podsNominated(at *path, in *scan, _ *chunk, _ *readNode) {
	r.podsOf(at, in, nodeNominatedPods, "nominated_pods", &r.nominated, nominated)
}

func (r *reader) podsOf(at *path, in *scan, field byte, name string, to *podList, s podKind) {
	to.from = in.at
	for in.next(sized(field)) {
		f := r.enter(at.item(name, len(to.raw)), in.bytes())
		to.raw = append(to.raw, rawPod{})
		r.pod(&f.at, &f.in, s, &to.raw[len(to.raw)-1])
		r.leave(f, in)
	}
	to.end = in.at
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
			r.refuse(at.field("name"), duplicate, "duplicates nominated_pods[%d]", first)
		}
	}
}

func (r *reader) classIndex(at *path, in *scan, _ *chunk, to *readNode) {
	in.next(number(nodeClassIndex))
	if i := in.uint32Value(); uint64(i) < uint64(len(r.classes)) {
		to.node.Class = r.classes[i]
	} else {
		r.refuse(at.field("class_index"), notFound, "is %d, but there are %d node classes", i, len(r.classes))
	}
}

func (d *decoder) commitNodes(parent *path, c *chunk) {
	for _, template := range c.shared {
		d.content.Share(c.reader, template)
	}
	for i := range c.nodes {
		if d.over() || !d.room(parent, content.Nodes) {
			return
		}
		n := &c.nodes[i]
		if n.sound && d.addNames(&n.names) && d.content.AddNode(n.form, n.digest) {
			d.countNode(n)
			d.ended = d.to.AddDraft(d.ctx, &c.drafts[i], &n.node)
		} else {
			at := parent.item("nodes", d.counts[content.Nodes])
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
		d.refuse(at.field("name"), duplicate, "duplicates %s.nodes[%d], names must be unique", at.parent.String(), first)
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
	d.counts[content.Nodes]++
	d.pods += n.pods
	d.nominated += n.nominated
	d.inherited += inherited(n.node.Class)
}

// inherited is the number of taints, image names, labels and declared features that a node inherits from its class, which may be nil.
func inherited(c *api.NodeClass) uint64 {
	if c == nil {
		return 0
	}
	n := len(c.Taints) + len(c.NameLabelKeys) + len(c.DeclaredFeatures)
	for i := range c.Images {
		n += len(c.Images[i].Names)
	}
	return uint64(n)
}

// bounds checks the limits on sums over all nodes.
func (d *decoder) bounds(at *path) {
	if d.inherited > MaxInherited {
		d.refuse(at.field("nodes"), wrongCount, "take over %d taints, image names, labels and declared features from their classes in all, at most %d are allowed",
			d.inherited, MaxInherited)
	}
	if d.pods > MaxClusterPods {
		d.refuse(at.field("nodes"), wrongCount, "have %d pods in all, at most %d are allowed", d.pods, MaxClusterPods)
	}
}
