package encode

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Filter encodes the response to a FilterRequest. address is the content address of the cluster.
func Filter(_ *stowagev1.FilterRequest, f *verdict.Filter, names Names, address string) ([]byte, error) {
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+listBytes(f.Feasible)+rejectionsBytes(f.Rejections))}
	e.nodes(1, f.Feasible)
	e.rejections(2, f.Rejections)
	e.message(&stowagev1.FilterResponse{
		Message:         f.Message,
		InternalError:   f.Failed,
		Explanation:     names.explanation(f.Explanation),
		SnapshotAddress: address,
		Changes:         names.changes(f.Changes),
		Doubts:          doubts(f.Doubts),
		Preemption:      names.preemption(f.Preemption),
	})
	return e.b, e.err
}

func rejectionsBytes(rejections []verdict.Rejection) int {
	n := 0
	for i := range rejections {
		n += fixedBytes + listBytes(rejections[i].Nodes)
	}
	return n
}

// rejections appends a repeated Rejection.
func (e *encoder) rejections(field protowire.Number, rejections []verdict.Rejection) {
	for i := range rejections {
		e.lengthDelimited(field, func() {
			e.message(rejection(&rejections[i]))
			e.nodes(4, rejections[i].Nodes)
		})
	}
}

// rejection returns a Rejection without its nodes.
func rejection(r *verdict.Rejection) *stowagev1.Rejection {
	out := &stowagev1.Rejection{Plugin: Plugin(r.Plugin), Code: code(r.Code)}
	for _, reason := range r.Reasons {
		out.Reasons = append(out.Reasons, &stowagev1.Reason{
			Type:     reasonType(reason.Type),
			Message:  reason.Message,
			Resource: reason.Resource,
		})
	}
	return out
}

func (n Names) rejections(in []verdict.Rejection) []*stowagev1.Rejection {
	var out []*stowagev1.Rejection
	for i := range in {
		r := rejection(&in[i])
		r.Nodes = n.list(in[i].Nodes)
		out = append(out, r)
	}
	return out
}
