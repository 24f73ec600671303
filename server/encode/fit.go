package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Fit encodes the response to a FitRequest. address is the content address of the cluster.
func Fit(_ *stowagev1.FitRequest, f *verdict.Fit, names Names, address string) ([]byte, error) {
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+rejectionsBytes(f.Rejections))}
	out := &stowagev1.FitResponse{
		Units:           uint32(f.Units),
		Limited:         f.Limited,
		Message:         f.Message,
		InternalError:   f.Failed,
		SnapshotAddress: address,
		Doubts:          doubts(f.Doubts),
		Explanation:     names.explanation(f.Explanation),
	}
	if f.Binding >= 0 {
		out.BindingMixIndex = new(uint32(f.Binding))
	}
	for i := range f.Changes {
		c := &f.Changes[i]
		out.Changes = append(out.Changes, &stowagev1.FitChange{Change: names.change(&c.Change), Units: uint32(c.Units)})
	}
	e.message(out)
	for i := range f.Pods {
		pods := &f.Pods[i]
		e.lengthDelimited(3, func() {
			e.nodes(1, pods.Nodes)
			packed(&e, 2, pods.Counts)
		})
	}
	for i := range f.Domains { // one message after the other: they may have ten million numbers
		d := &f.Domains[i]
		e.lengthDelimited(4, func() {
			e.message(&stowagev1.FitDomain{Value: d.Value, UnitsAlone: uint32(d.Alone)})
			packed(&e, 2, d.Placed)
		})
	}
	e.rejections(6, f.Rejections)
	return e.b, e.err
}
