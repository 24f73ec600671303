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
		d.refuse(at.field("shape"), "is required with SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO")
	case hasShape:
		d.refuse(at.field("shape"), "must be empty without SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO")
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
		if p.GetUtilization() < 0 || p.GetUtilization() > 100 {
			d.refuse(at.field("utilization"), "is %d, 0 to 100 are allowed", p.GetUtilization())
		}
		if i > 0 && out[i].Utilization <= out[i-1].Utilization {
			d.refuse(at.field("utilization"), "is %d, it must be greater than that of the point before", p.GetUtilization())
		}
		if p.GetScore() < 0 || p.GetScore() > 10 {
			d.refuse(at.field("score"), "is %d, 0 to 10 are allowed", p.GetScore())
		}
	}
	return out
}

func (d *decoder) resourceName(at path, name string) {
	if name == "" {
		d.refuse(at, "is required")
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
		if r.GetWeight() < 1 || r.GetWeight() > 100 {
			d.refuse(at.field("weight"), "is %d, 1 to 100 are allowed", r.GetWeight())
		}
	}
	return out
}
