package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// affinities is a pod's affinity, which the engine has in its spec.
type affinities struct {
	node      *api.NodeAffinity
	pod, anti *api.PodAffinity
}

func (r *reader) affinity(at *path, in *scan) (out affinities) {
	for in.more() {
		switch in.next() {
		case sized(1):
			out.node = some(r, at, in, "node_affinity", (*reader).nodeAffinity)
		case sized(2):
			out.pod = some(r, at, in, "pod_affinity", (*reader).podAffinity)
		case sized(3):
			out.anti = some(r, at, in, "pod_anti_affinity", (*reader).podAffinity)
		default:
			in.fail()
		}
	}
	return out
}

func (r *reader) nodeAffinity(at *path, in *scan) (out api.NodeAffinity) {
	for in.more() {
		switch in.next() {
		case sized(1):
			out.Required = some(r, at, in, "required", (*reader).nodeSelector)
		case sized(2):
			out.Preferred = list(r, at, in, "preferred", MaxTerms, (*reader).preferredNodeTerm)
		default:
			in.fail()
		}
	}
	return out
}

func (r *reader) preferredNodeTerm(at *path, in *scan) (out api.PreferredNodeTerm) {
	out.Weight, out.Preference = weighted(r, at, in, "preference", (*reader).nodeSelectorTerm)
	return out
}

// weighted reads a weight and a term, which must be there.
func weighted[T any](
	r *reader, at *path, in *scan, field string, message func(*reader, *path, *scan) T,
) (weight int32, term T) {
	present := false
	for in.more() {
		switch in.next() {
		case number(1):
			weight = in.nonzero()
		case sized(2):
			term, present = one(r, at, in, field, message), true
		default:
			in.fail()
		}
	}
	if weight < 1 || weight > 100 {
		r.refuse(at.field("weight"), "is %d, 1 to 100 are allowed", weight)
	}
	if !present {
		r.refuse(at.field(field), "is required")
	}
	return weight, term
}

func (r *reader) podAffinity(at *path, in *scan) (out api.PodAffinity) {
	for in.more() {
		switch in.next() {
		case sized(1):
			out.Required = list(r, at, in, "required", MaxTerms, (*reader).podAffinityTerm)
		case sized(2):
			out.Preferred = list(r, at, in, "preferred", MaxTerms, (*reader).weightedPodAffinityTerm)
		default:
			in.fail()
		}
	}
	return out
}

func (r *reader) weightedPodAffinityTerm(at *path, in *scan) (out api.WeightedPodAffinityTerm) {
	out.Weight, out.Term = weighted(r, at, in, "term", (*reader).podAffinityTerm)
	return out
}

func (r *reader) podAffinityTerm(at *path, in *scan) (out api.PodAffinityTerm) {
	for in.more() {
		switch in.next() {
		case sized(1):
			out.LabelSelector = some(r, at, in, "label_selector", (*reader).labelSelector)
		case sized(2):
			out.Namespaces = r.texts(at, in, "namespaces", MaxValues)
		case sized(3):
			out.NamespaceSelector = some(r, at, in, "namespace_selector", (*reader).labelSelector)
		case sized(4):
			out.TopologyKey = in.text()
		case sized(5):
			out.MatchLabelKeys = r.labelKeys(at, in, "match_label_keys")
		case sized(6):
			out.MismatchLabelKeys = r.labelKeys(at, in, "mismatch_label_keys")
		default:
			in.fail()
		}
	}
	r.topologyKey(at, out.TopologyKey)
	for i, n := range out.Namespaces {
		if n == "" {
			r.refuse(at.item("namespaces", i), "must not be empty")
		}
		r.length(at.item("namespaces", i), n, MaxNamespaceBytes)
	}
	return out
}

// labelKeys reads keys that a term or constraint takes from the pod's labels.
func (r *reader) labelKeys(at *path, in *scan, field string) []string {
	keys := r.texts(at, in, field, MaxValues)
	for i, k := range keys {
		if !isLabelKey(k) {
			r.refuse(at.item(field, i), labelKeySyntax)
		}
	}
	return keys
}

// topologyKey checks a required topology key.
func (r *reader) topologyKey(at *path, key string) {
	if key == "" {
		r.refuse(at.field("topology_key"), "is required")
	} else if !isLabelKey(key) {
		r.refuse(at.field("topology_key"), labelKeySyntax)
	}
	switch {
	case r.exact != nil:
		r.exact.distinctTopologyKey(at.field("topology_key"), key)
	case !r.topologyKeys.has(key):
		r.keys = append(r.keys, key)
	}
}

// distinctTopologyKey counts a topology key.
func (d *decoder) distinctTopologyKey(at path, key string) {
	if !d.knows(theTopologyKeys, key, MaxDistinctTopologyKeys) && !d.full {
		d.refuse(at, "is one more distinct topology key than the %d that a request may have", MaxDistinctTopologyKeys)
	}
}

// spreadConstraints reads the spread constraints of a pod, the tag of the first of which has been read.
func (r *reader) spreadConstraints(at *path, in *scan) []api.TopologySpreadConstraint {
	const field = "topology_spread_constraints"
	out := list(r, at, in, field, MaxSpreadConstraints, (*reader).spreadConstraint)
	for i := range out {
		if c := &out[i]; len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
			at := at.item(field, i)
			r.refuse(at.field("match_label_keys"), "must be empty without label_selector")
		}
	}
	r.uniqueSpread(at, field, out)
	return out
}

// uniqueSpread refuses constraints that agree in topology key and action, as the API server does.
func (p *problems) uniqueSpread(at *path, field string, all []api.TopologySpreadConstraint) {
	for i := range all {
		for j := range i {
			if all[j].TopologyKey == all[i].TopologyKey && all[j].ScheduleAnyway == all[i].ScheduleAnyway {
				at := at.item(field, i)
				p.refuse(at.field("topology_key"), "another constraint has the same topology_key and when_unsatisfiable")
				break
			}
		}
	}
}

func (r *reader) spreadConstraint(at *path, in *scan) api.TopologySpreadConstraint {
	out := api.TopologySpreadConstraint{MinDomains: 1}
	var action stowagev1.UnsatisfiableAction
	var minDomains *int32
	before := r.selectors
	r.selectors = lenient
	for in.more() {
		switch in.next() {
		case number(1):
			out.MaxSkew = in.nonzero()
		case sized(2):
			out.TopologyKey = in.text()
		case number(3):
			action = stowagev1.UnsatisfiableAction(in.nonzero())
		case sized(4):
			out.LabelSelector = some(r, at, in, "label_selector", (*reader).labelSelector)
		case number(5):
			domains := in.int32()
			minDomains = &domains
		case number(6):
			out.IgnoreNodeAffinity = r.policy(at, in, "node_affinity_policy") == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
		case number(7):
			out.HonorNodeTaints = r.policy(at, in, "node_taints_policy") == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
		case sized(8):
			out.MatchLabelKeys = r.labelKeys(at, in, "match_label_keys")
		default:
			in.fail()
		}
	}
	r.selectors = before
	if out.MaxSkew < 1 {
		r.refuse(at.field("max_skew"), "is %d, at least 1 is required", out.MaxSkew)
	}
	r.topologyKey(at, out.TopologyKey)
	r.action(at, &out, action, minDomains)
	return out
}

// action decodes what a constraint does where it is not met.
func (r *reader) action(at *path, out *api.TopologySpreadConstraint, action stowagev1.UnsatisfiableAction, minDomains *int32) {
	switch action {
	case stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE:
	case stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY:
		out.ScheduleAnyway = true
	default:
		r.refuse(at.field("when_unsatisfiable"), "must be UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE or UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY")
	}
	if minDomains == nil {
		return
	}
	out.MinDomains = *minDomains
	if out.MinDomains < 1 {
		r.refuse(at.field("min_domains"), "is %d, at least 1 is required", out.MinDomains)
	}
	if out.ScheduleAnyway {
		r.refuse(at.field("min_domains"), "is only allowed with UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE")
	}
}

func (r *reader) policy(at *path, in *scan, field string) stowagev1.NodeInclusionPolicy {
	p := stowagev1.NodeInclusionPolicy(in.nonzero())
	if _, ok := stowagev1.NodeInclusionPolicy_name[int32(p)]; !ok {
		r.refuse(at.field(field), "must be NODE_INCLUSION_POLICY_HONOR or NODE_INCLUSION_POLICY_IGNORE")
	}
	return p
}
