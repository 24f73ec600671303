package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// spread decodes a pod's spread constraints.
func (d *decoder) spread(at *path, in []*stowagev1.TopologySpreadConstraint) []api.TopologySpreadConstraint {
	const field = "topology_spread_constraints"
	if !d.within(at, field, len(in), MaxSpreadConstraints) {
		return nil
	}
	var out []api.TopologySpreadConstraint
	for i, c := range in {
		at := at.item(field, i)
		if len(c.GetMatchLabelKeys()) > 0 && c.GetLabelSelector() == nil {
			d.refuse(at.field("match_label_keys"), "must be empty without label_selector")
		}
		out = append(out, d.spreadConstraint(&at, c, out))
	}
	return out
}

// spreadConstraint decodes a constraint that follows others. As at the API server, no two may agree in topology key
// and action.
func (d *decoder) spreadConstraint(at *path, in *stowagev1.TopologySpreadConstraint, before []api.TopologySpreadConstraint) api.TopologySpreadConstraint {
	out := api.TopologySpreadConstraint{
		MaxSkew:            in.GetMaxSkew(),
		TopologyKey:        in.GetTopologyKey(),
		LabelSelector:      d.labelSelector(at, "label_selector", in.GetLabelSelector(), lenient),
		MinDomains:         1,
		IgnoreNodeAffinity: d.policy(at, "node_affinity_policy", in.GetNodeAffinityPolicy()) == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE,
		HonorNodeTaints:    d.policy(at, "node_taints_policy", in.GetNodeTaintsPolicy()) == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR,
		MatchLabelKeys:     d.labelKeys(at, "match_label_keys", in.GetMatchLabelKeys()),
	}
	if out.MaxSkew < 1 {
		d.refuse(at.field("max_skew"), "is %d, at least 1 is required", out.MaxSkew)
	}
	d.topologyKey(at, out.TopologyKey)
	var minDomains *int32
	if in != nil {
		minDomains = in.MinDomains
	}
	d.spreadRules(at, &out, in.GetWhenUnsatisfiable(), minDomains, before)
	return out
}

// spreadRules decodes what a constraint does where it is not met.
func (d *decoder) spreadRules(at *path, out *api.TopologySpreadConstraint, action stowagev1.UnsatisfiableAction, minDomains *int32, before []api.TopologySpreadConstraint) {
	switch action {
	case stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE:
	case stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY:
		out.ScheduleAnyway = true
	default:
		d.refuse(at.field("when_unsatisfiable"), "must be UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE or UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY")
	}
	if minDomains != nil {
		out.MinDomains = *minDomains
		if out.MinDomains < 1 {
			d.refuse(at.field("min_domains"), "is %d, at least 1 is required", out.MinDomains)
		}
		if out.ScheduleAnyway {
			d.refuse(at.field("min_domains"), "is only allowed with UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE")
		}
	}
	for _, b := range before {
		if b.TopologyKey == out.TopologyKey && b.ScheduleAnyway == out.ScheduleAnyway {
			d.refuse(at.field("topology_key"), "another constraint has the same topology_key and when_unsatisfiable")
			break
		}
	}
}

func (d *decoder) policy(at *path, field string, p stowagev1.NodeInclusionPolicy) stowagev1.NodeInclusionPolicy {
	if _, ok := stowagev1.NodeInclusionPolicy_name[int32(p)]; !ok {
		d.refuse(at.field(field), "must be NODE_INCLUSION_POLICY_HONOR or NODE_INCLUSION_POLICY_IGNORE")
	}
	return p
}
