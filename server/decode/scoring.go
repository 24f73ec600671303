package decode

import (
	"cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// scoringStrategy decodes the scoring strategy of NodeResourcesFit over the default.
func (d *decoder) scoringStrategy(parent *path, in *stowagev1.ScoringStrategy, out *api.ScoringStrategy) {
	if in == nil {
		return
	}
	at := parent.field("scoring_strategy")
	if resources := d.resourceWeights(&at, "resources", in.GetResources()); len(resources) > 0 {
		out.Resources = resources
	}
	shape := d.shape(&at, in.GetShape())
	strategy, known := enum(&d.problems, &at, "type",
		cmp.Or(in.GetType(), stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_LEAST_ALLOCATED),
		api.LeastAllocated, api.MostAllocated, api.RequestedToCapacityRatio)
	if !known {
		return
	}
	out.Type = strategy
	switch isRatio, hasShape := strategy == api.RequestedToCapacityRatio, len(in.GetShape()) > 0; {
	case isRatio && hasShape:
		out.Shape = shape
	case isRatio:
		d.refuse(at.field("shape"), required, "is required with SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO")
	case hasShape:
		d.refuse(at.field("shape"), notAllowed, "must be empty without SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO")
	}
}

// shape decodes the function of REQUESTED_TO_CAPACITY_RATIO.
func (d *decoder) shape(at *path, in []*stowagev1.UtilizationShapePoint) []api.ShapePoint {
	if !d.within(at, "shape", len(in), MaxShapePoints) {
		return nil
	}
	out := make([]api.ShapePoint, len(in))
	for i, p := range in {
		at := at.item("shape", i)
		out[i] = api.ShapePoint{Utilization: int64(p.GetUtilization()), Score: int64(p.GetScore())}
		d.between(at.field("utilization"), out[i].Utilization, 0, 100)
		if i > 0 && out[i].Utilization <= out[i-1].Utilization {
			d.refuse(at.field("utilization"), outOfRange, "is %d, it must be greater than the previous point's", p.GetUtilization())
		}
		d.between(at.field("score"), out[i].Score, 0, 10)
	}
	return out
}

func (d *decoder) resourceName(at path, name string) {
	if !d.require(name != "", at) {
		return
	}
	d.length(at, name, MaxLabelKeyBytes)
	if !hasField(name) {
		d.countName(at, resourceName, name)
	}
}

// resourceWeights decodes weights of resources. As in kube-scheduler, weights of the same resource add up.
func (d *decoder) resourceWeights(at *path, field string, in []*stowagev1.ResourceWeight) []api.ResourceWeight {
	if !d.within(at, field, len(in), MaxWeights) {
		return nil
	}
	out := make([]api.ResourceWeight, len(in))
	for i, r := range in {
		at := at.item(field, i)
		out[i] = api.ResourceWeight{Resource: r.GetName(), Weight: r.GetWeight()}
		d.resourceName(at.field("name"), r.GetName())
		d.between(at.field("weight"), r.GetWeight(), 1, 100)
	}
	return out
}
