package decode

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RequestPods is the pod of a request, the pods of its queue or its scenarios, before the cluster is known.
type RequestPods struct {
	queue [][]byte // encoded pods

	scenarios [][]byte // encoded
	deltas    bool     // a scenario has one

	raw []byte // in the usual encoding
	rawPod
	sound bool // otherwise onePod reads it again
	names newNames
	named bool // decisions may depend on the pod's name
}

// ReadRequestPods reads the pod of an encoded request; the result is nil if it has none. The rest is decoded into the message, with an
// empty pod.
func ReadRequestPods(request []byte, into proto.Message) (*RequestPods, error) {
	field := into.ProtoReflect().Descriptor().Fields().ByName("pod").Number()
	var pod joined
	rest, err := splitField(request, field, pod.add)
	if err != nil {
		return nil, err
	}
	var a *RequestPods
	if pod.present {
		if a, err = readRequestPod(pod.bytes); err != nil {
			return nil, err
		}
		rest = protowire.AppendTag(rest, field, protowire.BytesType)
		rest = protowire.AppendBytes(rest, nil)
	}
	return a, Unmarshal(rest, into)
}

// readRequestPod reads a pod in any encoding.
func readRequestPod(pod []byte) (*RequestPods, error) {
	a, isUsual := newRequestPods(pod)
	if isUsual {
		return a, nil
	}
	m := new(stowagev1.Pod)
	if err := unmarshal(&path{name: "pod"}, pod, m); err != nil {
		return nil, err
	}
	a, _ = newRequestPods(encoded(m))
	return a, nil
}

// newRequestPods reads a pod, keeps its bytes, and reports whether it is in the usual encoding.
func newRequestPods(raw []byte) (_ *RequestPods, isUsual bool) {
	r := newReader(referred{})
	a := &RequestPods{raw: raw}
	r.begin(&a.names)
	a.rawPod, isUsual = read(r, path{}, raw, podAs(unplaced))
	a.sound = isUsual && r.sound()
	return a, isUsual
}

func podAs(s podKind) func(*reader, *path, *scan) rawPod {
	return func(r *reader, at *path, in *scan) (p rawPod) {
		r.pod(at, in, s, &p)
		return p
	}
}

// Ask replaces the pods of the message; nil keeps them. From then on, keys of the pod depend on the request's cluster.
func (r *Request) Ask(a *RequestPods) {
	if r.question = a; a != nil {
		a.named = r.nominated > 0 || r.namedByClaims(&a.pod)
	}
}

// namedByClaims reports whether what is decided about a pod may depend on its name, as claims of volumes or devices have the name.
func (r *Request) namedByClaims(pod *api.Pod) bool {
	template := pod.Template
	if index := pod.TemplateIndex; index >= 0 && index < len(r.templates) {
		template = r.templates[index]
	}
	if template == nil {
		return false
	}
	spec := &template.Spec
	if len(spec.Volumes)+len(spec.ResourceClaims) > 0 {
		return true
	}
	extended := func(c api.Container) bool { // a class may serve the resource
		return slices.ContainsFunc(c.Requests, func(q api.Quantity) bool { return strings.Contains(q.Resource, "/") })
	}
	return slices.ContainsFunc(spec.Containers, extended) || slices.ContainsFunc(spec.InitContainers, extended)
}

func (r *Request) onePod(in *stowagev1.Pod) *api.Pod {
	at := path{name: "pod"}
	if r.question == nil {
		if !r.require(in != nil, at) {
			return nil
		}
		r.exact(&at, in, func(_ *reader, raw []byte) bool {
			a, isUsual := newRequestPods(raw)
			r.Ask(a)
			return isUsual
		})
		if r.question == nil {
			return nil
		}
	}
	a := r.question
	pod := a.pod
	if index := pod.TemplateIndex; a.sound && index < len(r.templates) && r.addNames(&a.names) {
		if index >= 0 {
			pod.Template = r.templates[index]
		}
		return &pod
	}
	p, _ := read(r.reporter(), at, bytes.Clone(a.raw), podAs(pending))
	return &p.pod
}

// key returns a cache key of the pod and the profile: decisions about one cluster with equal keys are equal. It is empty if the
// pod is invalid or if the response repeats its unread fields.
func (a *RequestPods) key(profile *stowagev1.Profile) string {
	if a == nil || !a.sound || len(a.pod.Unread) > 0 {
		return ""
	}
	b := make([]byte, 0, len(a.template)+binary.MaxVarintLen64+1)
	if a.template == nil {
		b = binary.AppendUvarint(append(b, 't'), uint64(a.pod.TemplateIndex))
	} else {
		b = appendBytes(append(b, 'T'), a.template)
	}
	if a.named {
		b = appendBytes(append(b, 'n'), a.pod.Name)
	}
	if a.pod.NominatedNode != "" {
		b = appendBytes(append(b, 'N'), a.pod.NominatedNode)
	}
	if a.pod.Terminating {
		b = append(b, 'x')
	}
	for _, c := range a.pod.ResourceClaimStatuses {
		b = appendBytes(appendBytes(append(b, 'c'), c.Name), c.ResourceClaimName)
	}
	for _, l := range a.pod.Labels {
		b = appendBytes(appendBytes(append(b, 'l'), l.Key), l.Value)
	}
	if profile == nil {
		return string(b)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(append(b, 'p'), profile)
	if err != nil {
		return ""
	}
	return string(b)
}

func appendBytes[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// FilterKey returns a cache key: requests with one cluster and equal keys have equal responses. It is empty if the response must
// not be cached.
func FilterKey(in *stowagev1.FilterRequest, a *RequestPods) string {
	cached := in.GetCandidateNodes() == nil && !in.GetExplain()
	return responseKey('F', cached, a, in.GetContext(), in.GetIncludeChanges(), in.GetIncludePreemption())
}

// PreemptKey is FilterKey for a PreemptRequest.
func PreemptKey(in *stowagev1.PreemptRequest, a *RequestPods) string {
	cached := in.GetCandidateNodes() == nil && !in.GetIncludeCandidates() && in.GetSafe() == nil && in.GetAcrossNodes() == nil
	return responseKey('P', cached, a, in.GetContext(), in.GetRecountTopologySpread())
}

// ScoreKey is FilterKey for a ScoreRequest.
func ScoreKey(in *stowagev1.ScoreRequest, a *RequestPods) string {
	cached := in.GetCandidateNodes() == nil
	return responseKey('S', cached, a, in.GetContext(), in.GetIncludePluginScores(), in.GetIncludeRejections())
}

func responseKey(method byte, cached bool, a *RequestPods, on *stowagev1.DecisionContext, included ...bool) string {
	if !cached {
		return ""
	}
	key := a.key(on.GetProfile())
	if key == "" {
		return ""
	}
	form := byte('0')
	for i, is := range append(included, on.GetIncludeNodeNames()) {
		if is {
			form += 1 << i
		}
	}
	return string([]byte{method, form}) + key
}

// queue decodes the pods to place from their encodings, or from the messages if raw is nil.
func (d *decoder) queue(in []*stowagev1.PendingPods, raw [][]byte) []engine.Pending {
	var root *path
	if !d.within(root, "queue", len(in), MaxQueuePods) {
		return nil
	}
	out := make([]engine.Pending, 0, len(in))
	quick := newReader(d.referred) // its problems are not reported
	var pods uint64
	for i, p := range in {
		if i%512 == 0 && d.ended == nil {
			d.ended = d.ctx.Err()
		}
		if d.over() {
			break
		}
		at := root.item("queue", i)
		if !d.require(p.GetPod() != nil, at.field("pod")) {
			continue
		}
		count := p.PodCount()
		pods += uint64(count)
		var pod api.Pod
		if raw == nil {
			pod = submessage(d, at.field("pod"), p.GetPod(), podAs(pending)).pod
		} else {
			pod = d.pendingPod(quick, at.field("pod"), raw[i])
		}
		out = append(out, engine.Pending{Pod: pod, Count: int(count)})
	}
	if pods > MaxQueuePods {
		d.refuse(root.field("queue"), wrongCount, "has %d pods in all, at most %d are allowed", pods, MaxQueuePods)
	}
	return out
}

func (d *decoder) pendingPod(quick *reader, at path, raw []byte) api.Pod {
	quick.unused = newNames{}
	quick.begin(&quick.unused)
	p, isUsual := read(quick, path{}, raw, podAs(pending))
	if !isUsual || !quick.sound() || !d.addNames(&quick.unused) {
		d.again(&at, raw, new(stowagev1.Pod), func(r *reader, raw []byte) (isUsual bool) {
			p, isUsual = read(r, at, raw, podAs(pending))
			return isUsual
		})
	}
	return p.pod
}
