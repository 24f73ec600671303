package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Filter encodes the answer to a FilterRequest.
func Filter(f *verdict.Filter, names Names) *stowagev1.FilterResponse {
	return &stowagev1.FilterResponse{
		FeasibleNodes: names.list(f.Feasible),
		Rejections:    names.rejections(f.Rejections),
		Message:       f.Message,
		Explanation:   names.explanation(f.Explanation),
	}
}

func (n Names) rejections(in []verdict.Rejection) []*stowagev1.Rejection {
	var out []*stowagev1.Rejection
	for i := range in {
		r := &in[i]
		rejection := &stowagev1.Rejection{
			Plugin:        plugin(r.Plugin),
			Resolvability: resolvability(r.Unresolvable),
			Nodes:         n.list(r.Nodes),
		}
		for _, reason := range r.Reasons {
			rejection.Reasons = append(rejection.Reasons, &stowagev1.Reason{
				Type:     reasonType(reason.Type),
				Message:  reason.Message,
				Resource: reason.Resource,
			})
		}
		out = append(out, rejection)
	}
	return out
}
