package decode

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ScaleDownCall is a ScaleDownRequest in the engine's values.
type ScaleDownCall struct {
	Pod     *api.Pod
	Options engine.ScaleDownOptions
}

// ScaleDown decodes what a ScaleDownRequest asks about the cluster.
func (r *Request) ScaleDown(in *stowagev1.ScaleDownRequest) ScaleDownCall {
	call := ScaleDownCall{
		Pod: r.onePod(in.GetPod()),
		Options: engine.ScaleDownOptions{
			Profile:  r.profile(in.GetContext().GetProfile()),
			Selector: r.strictSelector(in.GetSelector()),
			Replicas: int(min(in.GetReplicas(), math.MaxInt32)),
		},
	}
	r.replicas(in)
	if p := call.Pod; in.GetSelector() == nil && p != nil && p.Template != nil && len(p.Template.Labels)+len(p.Labels) == 0 {
		r.refuse(path{name: "selector"}, "is required, as the pod has no labels")
	}
	return call
}

// strictSelector decodes a selector that a caller wrote for this request.
func (r *Request) strictSelector(in *stowagev1.LabelSelector) *api.LabelSelector {
	e := r.exactly()
	e.selectors = strict
	defer func() { e.selectors = lenientValues }()
	return submessage(&r.decoder, path{name: "selector"}, in, (*reader).labelSelector)
}

func (d *decoder) replicas(in *stowagev1.ScaleDownRequest) {
	if in.Replicas == nil {
		d.refuse(path{name: "replicas"}, "is required")
	}
}
