package decode

import (
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// key returns bytes that two questions about one cluster have in common only if they have the same answer: what a
// decision reads of the pod, and the profile.
func key(pod *stowagev1.Pod, profile *stowagev1.Profile) string {
	in := &stowagev1.PendingPods{Pod: &stowagev1.Pod{
		Source:      pod.GetSource(),
		Labels:      pod.GetLabels(),
		Terminating: pod.GetTerminating(),
	}}
	options := proto.MarshalOptions{Deterministic: true}
	b, err := options.MarshalAppend(nil, in)
	if err == nil && profile != nil {
		b, err = options.MarshalAppend(b, &stowagev1.FilterRequest{Profile: profile})
	}
	if err != nil { // a string that is not UTF-8, of a request that did not come over the wire
		return ""
	}
	return string(b)
}
