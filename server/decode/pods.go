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
	podTemplateIndex  = 2
	podTemplate       = 3
	podResourceStatus = 6
	podStartTime      = 9
	podReadiness      = 11
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
	inline             *inlineTemplate // instead of source
	template           []byte          // canonical, of a pod that is pending
	canonical          []byte          // the whole pod, if it is in canonical form

	hasSource, canonicalSource bool // in its canonical place
	sourceEnd                  int
}

// podList is a list of pods of a node, and their canonical order.
type podList struct {
	raw       []rawPod
	order     []podPlace
	from, end int // in the node
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
	r.podFields(at, in, s, p)
	p.rest = in.since(p.sourceEnd)
	hasSource, canonical := p.hasSource, p.canonicalSource
	if !hasSource {
		hasSource, _ = r.source(at, in, s, p)
	}
	if !hasSource {
		r.refuse(at.field("source"), required, "one of template_index and template is required")
	}
	if canonical {
		p.canonical = in.data
	}
}

// podSource reads the source in its canonical place, after the name.
func (r *reader) podSource(at *path, in *scan, s podKind, p *rawPod) {
	if s == nominated && p.pod.Name == "" {
		r.refuse(at.field("name"), required, "is required in nominated_pods")
	}
	if in.at > 0 {
		p.name = in.since(0)
	}
	p.hasSource, p.canonicalSource = r.source(at, in, s, p)
	p.sourceEnd = in.at
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
		p.pod.Template = some(r, at, in, podTemplate, "template", (*reader).podTemplate)
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

// resourceStatus reads the resources in a pod's status. It checks and keeps them only for pods on nodes.
func (r *reader) resourceStatus(at *path, in *scan, s podKind, p *rawPod) {
	if s.ofNode() {
		p.pod.ResourceStatus = some(r, at, in, podResourceStatus, "resource_status", (*reader).podResourceStatus)
		return
	}
	to, exact, added := r.problems, r.exact, r.added
	r.problems, r.exact, r.added = new(problems), nil, new(newNames)
	one(r, at, in, podResourceStatus, "resource_status", (*reader).podResourceStatus)
	r.problems, r.exact, r.added = to, exact, added
}

// actuated reads resources that imply resources_present.
func (r *reader) actuated(at *path, in *scan, out *api.PodResourceStatus) {
	out.ResourcesPresent = true
	out.Actuated = one(r, at, in, 4, "actuated", (*reader).resources)
}

func (r *reader) resourcesPresent(_ *path, in *scan, out *api.PodResourceStatus) {
	out.ResourcesPresent = in.bool(5) || out.ResourcesPresent
}

// startTime reads when a pod of a node started, in nanoseconds. Nearly every pod has the field.
func (r *reader) startTime(at *path, in *scan, s podKind, p *rawPod) {
	in.next(sized(podStartTime))
	time := scan{data: in.bytes()}
	seconds, nanos := time.int64(1), time.int32(2)
	if !time.usual() {
		in.fail()
		return
	}
	if s != onNode || uint64(seconds) >= StartSecondsBelow || uint32(nanos) > 999_999_999 || seconds == 0 && nanos == 0 {
		r.wrongStart(at.field("start_time"), s, seconds, nanos)
		return
	}
	p.pod.StartTime = seconds*1_000_000_000 + int64(nanos)
}

func (r *reader) wrongStart(at path, s podKind, seconds int64, nanos int32) {
	switch {
	case s != onNode:
		r.refuse(at, notAllowed, "must be absent: only pods that run on nodes have a start time")
	case uint32(nanos) > 999_999_999:
		r.refuse(at, outOfRange, "must have nanos of 0 to 999999999")
	default:
		r.refuse(at, outOfRange, "is %d s and %d ns after 1970, times after it and before 2262 are allowed", seconds, nanos)
	}
}

// checkPod refuses fields that the kind of pod does not have.
func (r *reader) checkPod(at *path, s podKind, p *rawPod) {
	if s.ofNode() && p.pod.NominatedNode != "" {
		r.refuse(at.field("nominated_node_name"), notAllowed, "must be empty in pods of nodes")
	}
	if p.pod.Preempted && s != onNode {
		r.refuse(at.field("preempted"), notAllowed, "must be false: only pods that run on nodes can be preempted")
	} else if p.pod.Preempted && !p.pod.Terminating {
		r.refuse(at.field("preempted"), notAllowed, "must be false if terminating is")
	}
}

// readiness reads the readiness of a pod of a node. For a terminating pod it is checked, but not kept: the pod is evicted anyway.
func (r *reader) readiness(at *path, in *scan, s podKind, p *rawPod) {
	number := in.int32(podReadiness)
	if s != onNode {
		r.refuse(at.field("readiness"), notAllowed, "must be absent: only pods that run on nodes can be ready")
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
