package decode

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Field numbers of Pod.
const (
	podName = 1 + iota
	podTemplateIndex
	podTemplate
	podLabels
	podTerminating
	podResourceStatus
	podUnread
	podNominatedNode
	podStartTime
	podPreempted
	podReadiness
)

type podKind uint8

const (
	onNode    podKind = iota
	nominated         // to a node
	pending
	// unplaced is a pending pod before the cluster is known: its template index is not resolved.
	unplaced
)

func (s podKind) ofNode() bool { return s <= nominated }

// rawPod is a pod and its encoded fields.
type rawPod struct {
	pod                api.Pod
	name, source, rest []byte
	inline             *inlineTemplate // in place of source
	template           []byte          // canonical, of a pod that is pending
	canonical          []byte          // the whole pod, if it is in canonical form
}

// podList is a list of pods of a node, and their canonical order.
type podList struct {
	raw   []rawPod
	order []podPlace
}

func (l *podList) reset() { l.raw, l.order = l.raw[:0], l.order[:0] }

// podPlace is the index of a pod of a node, and a prefix of its canonical form for comparison.
type podPlace struct {
	prefix uint64
	place  int32
}

// pod reads a pod. Encoders write the source, a oneof, in its canonical place or last.
func (r *reader) pod(at *path, in *scan, s podKind, p *rawPod) {
	*p = rawPod{pod: api.Pod{TemplateIndex: -1}}
	p.pod.Name = in.text(podName)
	if s == nominated && p.pod.Name == "" {
		r.refuse(at.field("name"), required, "is required in nominated_pods")
	}
	r.length(at.field("name"), p.pod.Name, MaxNameBytes)
	if in.at > 0 {
		p.name = in.since(0)
	}
	hasSource, canonical := r.source(at, in, s, p)
	from := in.at
	p.pod.Labels = r.labels(at, in, podLabels, "labels")
	p.pod.Terminating = in.bool(podTerminating)
	r.podResourceStatus(at, in, s, p)
	p.pod.Unread = list(r, at, in, podUnread, "unread", MaxUnread, (*reader).unreadField)
	r.nominatedNode(at, in, s, p)
	p.pod.StartTime = r.startTime(at, in, s)
	r.preempted(at, in, s, p)
	r.readiness(at, in, s, p)
	p.rest = in.since(from)
	if !hasSource {
		hasSource, _ = r.source(at, in, s, p)
		canonical = false
	}
	if !hasSource {
		r.refuse(at.field("source"), required, "one of template_index and template is required")
	}
	if canonical {
		p.canonical = in.data
	}
}

// source reads a pod's template or the index of one, and reports whether there is one and whether it is in canonical form.
func (r *reader) source(at *path, in *scan, s podKind, p *rawPod) (present, canonical bool) {
	from := in.at
	switch {
	case in.next(number(podTemplateIndex)):
		i := in.uint32Value()
		if p.pod.TemplateIndex = int(i); s != unplaced && r.templateIndex(at, i, s) {
			p.pod.Template = r.templates[i]
		}
		p.source = in.since(from)
	case s.ofNode() && r.exact == nil && in.next(sized(podTemplate)):
		p.inline, canonical = r.inlineTemplate(in.bytes())
		if p.inline == nil {
			r.refuse(*at, malformed, "is wrong") // the exact reader has the details
			return true, true
		}
		p.pod.Template = p.inline.template
		return true, canonical
	case in.nextIs(sized(podTemplate)):
		r.asStated = !s.ofNode() || r.exact != nil // encoded leaves out the defaults of nodes
		p.pod.Template = some(r, at, in, podTemplate, "template", (*reader).template)
		r.asStated = false
		p.source = in.since(from)
		inner := scan{data: p.source}
		inner.next(sized(podTemplate))
		p.template = inner.bytes()
		if s.ofNode() && p.pod.Template.Spec.NodeName != "" {
			at := at.field("template")
			spec := at.field("spec")
			r.refuse(spec.field("node_name"), notAllowed, "must be empty in pods of nodes")
		}
	default:
		return false, false
	}
	return true, true
}

func (r *reader) templateIndex(at *path, i uint32, s podKind) bool {
	if uint64(i) >= uint64(len(r.templates)) {
		r.refuse(at.field("template_index"), notFound, "is %d, but cluster.pod_templates has %d entries", i, len(r.templates))
		return false
	}
	if s.ofNode() && r.pinned[i] {
		r.refuse(at.field("template_index"), notAllowed, "refers to a template with a node_name, which pods of nodes must not have")
		return false
	}
	return true
}

// podResourceStatus reads the resources in a pod's status. It checks and keeps only those of pods on nodes.
func (r *reader) podResourceStatus(at *path, in *scan, s podKind, p *rawPod) {
	if s.ofNode() {
		p.pod.ResourceStatus = some(r, at, in, podResourceStatus, "resource_status", (*reader).resourceStatus)
		return
	}
	if !in.nextIs(sized(podResourceStatus)) {
		return
	}
	to, exact, added := r.problems, r.exact, r.added
	r.problems, r.exact, r.added = new(problems), nil, new(newNames)
	one(r, at, in, podResourceStatus, "resource_status", (*reader).resourceStatus)
	r.problems, r.exact, r.added = to, exact, added
}

func (r *reader) resourceStatus(at *path, in *scan) (out api.PodResourceStatus) {
	out.ResizeInfeasible = in.bool(1)
	out.Containers = list(r, at, in, 2, "containers", 2*MaxContainers, (*reader).containerStatus)
	out.Allocated = one(r, at, in, 3, "allocated", (*reader).resources)
	hasActuated := in.nextIs(sized(4))
	out.Actuated = one(r, at, in, 4, "actuated", (*reader).resources)
	out.ResourcesPresent = in.bool(5) || hasActuated
	return out
}

func (r *reader) containerStatus(at *path, in *scan) (out api.ContainerResourceStatus) {
	out.Name = in.text(1)
	out.Allocated = one(r, at, in, 2, "allocated", (*reader).resources)
	out.Actuated = one(r, at, in, 3, "actuated", (*reader).resources)
	r.name(at, "name", out.Name, MaxNameBytes)
	return out
}

func (r *reader) unreadField(at *path, in *scan) (out api.UnreadField) {
	out.Object, out.Field, out.Consequence = in.text(1), in.text(2), in.text(3)
	r.name(at, "object", out.Object, MaxUnreadBytes)
	r.name(at, "field", out.Field, MaxUnreadBytes)
	r.length(at.field("consequence"), out.Consequence, MaxConsequenceBytes)
	return out
}

// nominatedNode reads the node that a pod to be placed is nominated to. A pod of a node must not name one.
func (r *reader) nominatedNode(at *path, in *scan, s podKind, p *rawPod) {
	name := in.text(podNominatedNode)
	if s.ofNode() && name != "" {
		r.refuse(at.field("nominated_node_name"), notAllowed, "must be empty in pods of nodes")
	}
	r.length(at.field("nominated_node_name"), name, MaxNameBytes)
	p.pod.NominatedNode = name
}

// startTime reads when a pod of a node started, in nanoseconds. Nearly every pod has the field.
func (r *reader) startTime(at *path, in *scan, s podKind) int64 {
	if !in.next(sized(podStartTime)) {
		return 0
	}
	stated := scan{data: in.bytes()}
	seconds, nanos := stated.int64(1), stated.int32(2)
	if !stated.usual() {
		in.fail()
		return 0
	}
	if s != onNode || uint64(seconds) >= StartSecondsBelow || uint32(nanos) > 999_999_999 || seconds == 0 && nanos == 0 {
		r.wrongStart(at.field("start_time"), s, seconds, nanos)
		return 0
	}
	return seconds*1_000_000_000 + int64(nanos)
}

func (r *reader) wrongStart(at path, s podKind, seconds int64, nanos int32) {
	switch {
	case s != onNode:
		r.refuse(at, notAllowed, "must be absent, as only pods that run on nodes have started")
	case uint32(nanos) > 999_999_999:
		r.refuse(at, outOfRange, "must have nanos of 0 to 999999999")
	default:
		r.refuse(at, outOfRange, "is %d s and %d ns after 1970, times after it and before 2262 are allowed", seconds, nanos)
	}
}

// preempted reads whether kube-scheduler preempted a pod of a node.
func (r *reader) preempted(at *path, in *scan, s podKind, p *rawPod) {
	if p.pod.Preempted = in.bool(podPreempted); !p.pod.Preempted {
		return
	}
	if s != onNode {
		r.refuse(at.field("preempted"), notAllowed, "must be false, as only pods that run on nodes are preempted")
	} else if !p.pod.Terminating {
		r.refuse(at.field("preempted"), notAllowed, "must be false if terminating is")
	}
}

// readiness reads the readiness of a pod of a node. It is checked, but not kept, of a terminating pod, which is evicted anyhow.
func (r *reader) readiness(at *path, in *scan, s podKind, p *rawPod) {
	number := in.int32(podReadiness)
	if number == 0 {
		return
	}
	if s != onNode {
		r.refuse(at.field("readiness"), notAllowed, "must be absent, as only pods that run on nodes are ready")
	} else if read := r.readinessOf(at, number); !p.pod.Terminating {
		p.pod.Readiness = read
	}
}

func (r *reader) readinessOf(at *path, number int32) api.Readiness {
	out, _ := enum(r.problems, at, "readiness", stowagev1.PodReadiness(number), api.Ready, api.NotReady, api.PhasePending)
	return out
}

// takePods returns pods of a node in canonical order, and whether the node's encoding has them in canonical form.
func (r *reader) takePods(c *chunk, l *podList) (pods []api.Pod, canonical bool) {
	if len(l.raw) == 0 {
		return nil, true
	}
	canonical = true
	l.order = l.order[:0]
	for i := range l.raw {
		p := &l.raw[i]
		l.order = append(l.order, podPlace{p.prefix(), int32(i)})
		canonical = canonical && p.canonical != nil
	}
	compare := func(a, b podPlace) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return r.comparePods(&l.raw[a.place], &l.raw[b.place])
	}
	if !slices.IsSortedFunc(l.order, compare) {
		canonical = false
		slices.SortFunc(l.order, compare)
	}
	from := len(c.pods)
	for _, o := range l.order {
		c.pods = append(c.pods, l.raw[o.place].pod)
	}
	return c.pods[from:], canonical
}

// prefix is the bytes of the canonical form after the name's tag. Pods without a name come last, as other tags are greater.
func (p *rawPod) prefix() uint64 {
	if p.name == nil {
		return ^uint64(0)
	}
	var b [8]byte
	copy(b[:], p.name[1:])
	return binary.BigEndian.Uint64(b[:])
}

// comparePods compares canonical forms with equal prefixes.
func (r *reader) comparePods(a, b *rawPod) int {
	if c := bytes.Compare(a.name, b.name); c != 0 {
		return c
	}
	r.compared = a.append(r.compared[:0], false)
	n := len(r.compared)
	r.compared = b.append(r.compared, false)
	return bytes.Compare(r.compared[:n], r.compared[n:])
}

// append appends the canonical form, or the packed form that the content keeps.
func (p *rawPod) append(b []byte, kept bool) []byte {
	if p.canonical != nil && (!kept || p.inline == nil) {
		return append(b, p.canonical...)
	}
	b = append(b, p.name...)
	switch {
	case p.inline == nil:
		b = append(b, p.source...)
	case kept:
		b = content.AppendShared(b, p.inline.shared)
	default:
		b = protowire.AppendTag(b, podTemplate, protowire.BytesType)
		b = protowire.AppendBytes(b, p.inline.canonical)
	}
	return append(b, p.rest...)
}

func (r *reader) appendPods(b []byte, field protowire.Number, l *podList, kept bool) []byte {
	for _, o := range l.order {
		r.compared = l.raw[o.place].append(r.compared[:0], kept)
		b = protowire.AppendTag(b, field, protowire.BytesType)
		b = protowire.AppendBytes(b, r.compared)
	}
	return b
}
