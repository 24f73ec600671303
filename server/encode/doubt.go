package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// doubts returns the doubts of an answer, for all responses.
func doubts(in []verdict.Doubt) []*stowagev1.Doubt {
	var out []*stowagev1.Doubt
	for i := range in {
		d := &in[i]
		doubt := &stowagev1.Doubt{Kind: doubtKind(d.Kind), Pod: podReference(&d.Pod), Name: d.Name}
		if d.Kind == verdict.UnreadField {
			doubt.Unread = &stowagev1.UnreadField{Object: d.Unread.Object, Field: d.Unread.Field, Consequence: d.Unread.Consequence}
		}
		out = append(out, doubt)
	}
	return out
}
