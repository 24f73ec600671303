package decode

import "github.com/stowage-scheduler/stowage/engine/api"

func (r *reader) termKey(at *path, in *scan, out *api.PodAffinityTerm) {
	out.TopologyKey = in.text(4)
	if r.topologyKey(at, out.TopologyKey); out.TopologyKey != "" {
		r.labelKey(at.field("topology_key"), out.TopologyKey)
	}
}

func (r *reader) topologyKey(at *path, key string) {
	r.require(key != "", at.field("topology_key"))
	r.countName(at.field("topology_key"), topologyKey, key)
}

func (r *reader) spreadConstraints(at *path, in *scan, out *api.PodSpec) {
	const name = "topology_spread_constraints"
	out.Spread = list(r, at, in, 4, name, MaxSpreadConstraints, (*reader).topologySpreadConstraint)
	for i := range out.Spread {
		if c := &out.Spread[i]; len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
			at := at.item(name, i)
			r.refuse(at.field("match_label_keys"), notAllowed, "must be empty without label_selector")
		}
	}
	r.uniqueSpread(at, name, out.Spread)
}

// uniqueSpread refuses constraints that agree in topology key and action, as the API server does.
func (p *problems) uniqueSpread(at *path, field string, all []api.TopologySpreadConstraint) {
	for i := range all {
		for j := range i {
			if all[j].TopologyKey == all[i].TopologyKey && all[j].ScheduleAnyway == all[i].ScheduleAnyway {
				at := at.item(field, i)
				p.refuse(at.field("topology_key"), duplicate, "another constraint has the same topology_key and when_unsatisfiable")
				break
			}
		}
	}
}

// spreadKey reads a topology key of any syntax, as pkg/apis/core/validation ValidateTopologyKey, v1.37, lets it through.
func (r *reader) spreadKey(at *path, in *scan, out *api.TopologySpreadConstraint) {
	out.TopologyKey = in.text(2)
	r.topologyKey(at, out.TopologyKey)
}

func (r *reader) spreadSelector(at *path, in *scan, out *api.TopologySpreadConstraint) {
	before := r.selectors
	r.selectors = lenient
	out.LabelSelector = some(r, at, in, 4, "label_selector", (*reader).labelSelector)
	r.selectors = before
}

func (r *reader) minDomains(at *path, in *scan, out *api.TopologySpreadConstraint) {
	out.MinDomains = 1
	if !in.next(number(5)) {
		return
	}
	out.MinDomains = in.int32Value()
	r.atLeast(at.field("min_domains"), int64(out.MinDomains), 1)
	if out.ScheduleAnyway {
		r.refuse(at.field("min_domains"), notAllowed, "is only allowed with UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE")
	}
}
