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
// decision reads of the pod, and the profile. It is empty for what no decision is to be remembered of.
func key(pod *stowagev1.Pod, profile *stowagev1.Profile) string {
	if len(pod.GetName()) > MaxNameBytes {
		return ""
	}
	var b []byte
	switch source := pod.GetSource().(type) {
	case *stowagev1.Pod_TemplateIndex:
		b = binary.AppendUvarint(append(b, 't'), uint64(source.TemplateIndex))
	case *stowagev1.Pod_Template:
		template, err := content.Append(make([]byte, 0, 1024), source.Template)
		if err != nil { // a string that is not UTF-8, of a request that did not come over the wire
			return ""
		}
		b = append(binary.AppendUvarint(append(b, 'T'), uint64(len(template))), template...)
	default:
		return ""
	}
	if pod.GetTerminating() {
		b = append(b, 'x')
	}
	labels := pod.GetLabels()
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b = text(text(append(b, 'l'), k), labels[k])
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

func text(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

// FilterKey returns bytes that two requests about one cluster have in common only if they get the same answer, whatever
// of a pod is wrong included. It is empty if the answer is not to be remembered.
func FilterKey(in *stowagev1.FilterRequest) string {
	if in.GetCandidateNodes() != nil || in.GetExplain() {
		return ""
	}
	return answerKey('F', key(in.GetPod(), in.GetProfile()), in.GetIncludeNodeNames(), in.GetIncludeChanges())
}

// ScoreKey is FilterKey for a ScoreRequest.
func ScoreKey(in *stowagev1.ScoreRequest) string {
	if in.GetCandidateNodes() != nil {
		return ""
	}
	return answerKey('S', key(in.GetPod(), in.GetProfile()),
		in.GetIncludeNodeNames(), in.GetIncludePluginScores(), in.GetIncludeRejections())
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
