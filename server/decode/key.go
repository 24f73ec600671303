package decode

import (
	"encoding/binary"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// key returns bytes that two questions about one cluster have in common only if they have the same answer: what a
// decision reads of the pod, which is a's or in, and the profile. It is empty for what no decision is to be remembered of.
func key(a *Asked, in *stowagev1.Pod, profile *stowagev1.Profile) string {
	var b []byte
	if a != nil {
		b = a.key()
	} else if b = podKey(in); b == nil {
		return ""
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

// podKey is nil if there is none.
func podKey(pod *stowagev1.Pod) []byte {
	if len(pod.GetName()) > MaxNameBytes || len(pod.GetUnread()) > 0 { // which the answer repeats
		return nil
	}
	var b []byte
	switch source := pod.GetSource().(type) {
	case *stowagev1.Pod_TemplateIndex:
		b = binary.AppendUvarint(append(b, 't'), uint64(source.TemplateIndex))
	case *stowagev1.Pod_Template:
		template, err := content.Append(make([]byte, 0, 1024), source.Template)
		if err != nil { // a string that is not UTF-8, of a request that did not come over the wire
			return nil
		}
		b = templateKey(template)
	default:
		return nil
	}
	if pod.GetTerminating() {
		b = append(b, 'x')
	}
	labels := pod.GetLabels()
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b = text(text(append(b, 'l'), k), labels[k])
	}
	return b
}

func (a *Asked) key() []byte {
	b := templateKey(a.template)
	if a.pod.Terminating {
		b = append(b, 'x')
	}
	for _, l := range a.pod.Labels {
		b = text(text(append(b, 'l'), l.Key), l.Value)
	}
	return b
}

func templateKey(canonical []byte) []byte {
	b := binary.AppendUvarint(append(make([]byte, 0, len(canonical)+binary.MaxVarintLen64+1), 'T'), uint64(len(canonical)))
	return append(b, canonical...)
}

func text(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

// FilterKey returns bytes that two requests about one cluster have in common only if they get the same answer, whatever
// of a pod is wrong included; the pod is a's, if that is not nil. It is empty if the answer is not to be remembered.
func FilterKey(in *stowagev1.FilterRequest, a *Asked) string {
	if in.GetCandidateNodes() != nil || in.GetExplain() {
		return ""
	}
	on := in.GetContext()
	return answerKey('F', key(a, in.GetPod(), on.GetProfile()), on.GetIncludeNodeNames(), in.GetIncludeChanges())
}

// ScoreKey is FilterKey for a ScoreRequest.
func ScoreKey(in *stowagev1.ScoreRequest, a *Asked) string {
	if in.GetCandidateNodes() != nil {
		return ""
	}
	on := in.GetContext()
	return answerKey('S', key(a, in.GetPod(), on.GetProfile()),
		on.GetIncludeNodeNames(), in.GetIncludePluginScores(), in.GetIncludeRejections())
}

func answerKey(method byte, key string, included ...bool) string {
	if key == "" {
		return ""
	}
	form := byte('0')
	for i, is := range included {
		if is {
			form += 1 << i
		}
	}
	return string([]byte{method, form}) + key
}
