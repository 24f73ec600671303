package decode

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Asked is the pod that a request asks about, with a template of its own, written in the usual way. Reading it straight
// from the wire costs a fifth of what a message and its canonical form cost.
type Asked struct {
	pod                   api.Pod
	scalars, topologyKeys []string
	encoded, template     []byte // of the pod and of its template; the template's is canonical
}

// askedField is the number of the field pod in requests that ask about one.
const askedField = 2

// ReadAsked reads the pod of a request, as that is encoded, if it is written in the usual way. In the rest an empty pod
// stands for it. Otherwise it returns nil and the request.
func ReadAsked(request []byte) (_ *Asked, rest []byte) {
	var pod []byte
	from, to := -1, 0
	for at := 0; at < len(request); {
		field, kind, n := protowire.ConsumeField(request[at:])
		if n < 0 {
			return nil, request
		}
		if field == askedField {
			if kind != protowire.BytesType || from >= 0 {
				return nil, request
			}
			from, to = at, at+n
			s := scan{data: request[at:to]}
			s.tag()
			if pod = s.bytes(); s.bad {
				return nil, request
			}
		}
		at += n
	}
	if from < 0 {
		return nil, request
	}
	a := readAsked(pod)
	if a == nil {
		return nil, request
	}
	return a, slices.Concat(request[:from], []byte{byte(sized(askedField)), 0}, request[to:])
}

// readAsked returns nil if a pod is unusual.
func readAsked(raw []byte) *Asked {
	var u usual
	form, s := u.begin(raw)
	a := &Asked{pod: api.Pod{TemplateIndex: -1}, encoded: form}
	for seen := uint(0); s.more(); {
		tag := s.varint()
		if field := tag >> 3; field > podTerminating || seen>>field&1 == 1 { // encoders put the template where they like
			return nil
		}
		seen |= 1 << (tag >> 3)
		switch tag {
		case sized(podName):
			a.pod.Name = s.text(MaxNameBytes)
		case sized(podTemplate):
			in := s.nested()
			a.template = in.data
			a.pod.Template = u.podTemplate(&in)
			s.done(&in)
		case sized(podLabels):
			a.pod.Labels = u.labels(&s, sized(podLabels))
		case number(podTerminating):
			a.pod.Terminating = s.varint() == 1
			if !a.pod.Terminating {
				s.fail()
			}
		default:
			s.fail()
		}
	}
	if !u.sound(&s) || a.pod.Template == nil {
		return nil
	}
	if slices.ContainsFunc(u.scalars, func(name string) bool { return len(name) > MaxLabelKeyBytes }) {
		return nil
	}
	a.scalars, a.topologyKeys = u.scalars, u.topologyKeys
	return a
}

// Ask says what pod the request asks about, in the place of the one in the message; nil changes nothing.
func (r *Request) Ask(a *Asked) { r.question = a }

// askedPod decodes the pod that the request asks about.
func (r *Request) askedPod(in *stowagev1.Pod) *api.Pod {
	a := r.question
	if a == nil {
		return r.onePod(in)
	}
	if !r.knowsAll(a) {
		return r.onePod(a.message())
	}
	return &a.pod
}

// knowsAll counts a pod's names if there is room for all of them, which it reports.
func (r *Request) knowsAll(a *Asked) bool {
	if !r.resourceNames.fit(a.scalars, r.most(MaxDistinctResources)) ||
		!r.topologyKeys.fit(a.topologyKeys, r.most(MaxDistinctTopologyKeys)) {
		return false
	}
	for _, name := range a.scalars {
		r.knows(theResourceNames, strings.Clone(name), MaxDistinctResources)
	}
	for _, key := range a.topologyKeys {
		r.knows(theTopologyKeys, strings.Clone(key), MaxDistinctTopologyKeys)
	}
	return true
}

// message is the pod as a message. What was read is well-formed.
func (a *Asked) message() *stowagev1.Pod {
	out := new(stowagev1.Pod)
	if err := proto.Unmarshal(a.encoded, out); err != nil {
		panic(err)
	}
	return out
}
