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
			Selector: strictly(&r.decoder, path{name: "selector"}, in.GetSelector(), (*reader).labelSelector),
			Replicas: int(min(in.GetReplicas(), math.MaxInt32)),
		},
	}
	r.replicas(in)
	if p := call.Pod; in.GetSelector() == nil && p != nil && p.Template != nil && len(p.Template.Labels)+len(p.Labels) == 0 {
		r.refuse(path{name: "selector"}, "is required, as the pod has no labels")
	}
	return call
}

func (d *decoder) replicas(in *stowagev1.ScaleDownRequest) {
	if in.Replicas == nil {
		d.refuse(path{name: "replicas"}, "is required")
	}
}
