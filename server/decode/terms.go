package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type affinities struct {
	node      *api.NodeAffinity
	pod, anti *api.PodAffinity
}

func (r *reader) affinity(at *path, in *scan) (out affinities) {
	out.node = some(r, at, in, 1, "node_affinity", (*reader).nodeAffinity)
	out.pod = some(r, at, in, 2, "pod_affinity", (*reader).podAffinity)
	out.anti = some(r, at, in, 3, "pod_anti_affinity", (*reader).podAffinity)
	return out
}

func (r *reader) nodeAffinity(at *path, in *scan) (out api.NodeAffinity) {
	out.Required = some(r, at, in, 1, "required", (*reader).nodeSelector)
	out.Preferred = list(r, at, in, 2, "preferred", MaxTerms, (*reader).preferredNodeTerm)
	return out
}

func (r *reader) preferredNodeTerm(at *path, in *scan) (out api.PreferredNodeTerm) {
	out.Weight, out.Preference = weighted(r, at, in, "preference", (*reader).nodeSelectorTerm)
	return out
}

// weighted reads a weight and a required term.
func weighted[T any](
	r *reader, at *path, in *scan, field string, message func(*reader, *path, *scan) T,
) (weight int32, term T) {
	weight = in.int32(1)
	present := in.nextIs(sized(2))
	term = one(r, at, in, 2, field, message)
	r.between(at.field("weight"), int64(weight), 1, 100)
	r.require(present, at.field(field))
	return weight, term
}

func (r *reader) podAffinity(at *path, in *scan) (out api.PodAffinity) {
	out.Required = list(r, at, in, 1, "required", MaxTerms, (*reader).podAffinityTerm)
	out.Preferred = list(r, at, in, 2, "preferred", MaxTerms, (*reader).weightedPodAffinityTerm)
	return out
}

func (r *reader) weightedPodAffinityTerm(at *path, in *scan) (out api.WeightedPodAffinityTerm) {
	out.Weight, out.Term = weighted(r, at, in, "term", (*reader).podAffinityTerm)
	return out
}

func (r *reader) podAffinityTerm(at *path, in *scan) (out api.PodAffinityTerm) {
	out.LabelSelector = some(r, at, in, 1, "label_selector", (*reader).labelSelector)
	out.Namespaces = r.texts(at, in, 2, "namespaces", MaxValues)
	out.NamespaceSelector = some(r, at, in, 3, "namespace_selector", (*reader).labelSelector)
	out.TopologyKey = in.text(4)
	out.MatchLabelKeys = r.labelKeys(at, in, 5, "match_label_keys")
	out.MismatchLabelKeys = r.labelKeys(at, in, 6, "mismatch_label_keys")
	if r.topologyKey(at, out.TopologyKey); out.TopologyKey != "" {
		r.labelKey(at.field("topology_key"), out.TopologyKey)
	}
	for i, n := range out.Namespaces {
		if n == "" {
			r.refuse(at.item("namespaces", i), required, "must not be empty")
		}
		r.length(at.item("namespaces", i), n, MaxNamespaceBytes)
	}
	return out
}

// labelKeys reads keys that a term or constraint takes from the pod's labels.
func (r *reader) labelKeys(at *path, in *scan, field byte, name string) []string {
	keys := r.texts(at, in, field, name, MaxValues)
	for i, k := range keys {
		r.labelKey(at.item(name, i), k)
	}
	return keys
}

func (r *reader) topologyKey(at *path, key string) {
	r.require(key != "", at.field("topology_key"))
	r.countName(at.field("topology_key"), topologyKey, key)
}

func (r *reader) spreadConstraints(at *path, in *scan, field byte, name string) []api.TopologySpreadConstraint {
	out := list(r, at, in, field, name, MaxSpreadConstraints, (*reader).spreadConstraint)
	for i := range out {
		if c := &out[i]; len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
			at := at.item(name, i)
			r.refuse(at.field("match_label_keys"), notAllowed, "must be empty without label_selector")
		}
	}
	r.uniqueSpread(at, name, out)
	return out
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

func (r *reader) spreadConstraint(at *path, in *scan) (out api.TopologySpreadConstraint) {
	before := r.selectors
	r.selectors = lenient
	out.MaxSkew = in.int32(1)
	out.TopologyKey = in.text(2)
	action := stowagev1.UnsatisfiableAction(in.int32(3))
	out.LabelSelector = some(r, at, in, 4, "label_selector", (*reader).labelSelector)
	out.MinDomains = 1
	hasMinDomains := in.next(number(5))
	if hasMinDomains {
		out.MinDomains = in.int32Value()
	}
	if policy := stowagev1.NodeInclusionPolicy(in.int32(6)); policy != 0 {
		out.IgnoreNodeAffinity, _ = enum(r.problems, at, "node_affinity_policy", policy, false, true)
	}
	if policy := stowagev1.NodeInclusionPolicy(in.int32(7)); policy != 0 {
		out.HonorNodeTaints, _ = enum(r.problems, at, "node_taints_policy", policy, true, false)
	}
	out.MatchLabelKeys = r.labelKeys(at, in, 8, "match_label_keys")
	r.selectors = before
	if out.MaxSkew < 1 {
		r.refuse(at.field("max_skew"), outOfRange, "is %d, at least 1 is required", out.MaxSkew)
	}
	r.topologyKey(at, out.TopologyKey) // of any syntax, as in pkg/apis/core/validation ValidateTopologyKey, v1.37
	out.ScheduleAnyway, _ = enum(r.problems, at, "when_unsatisfiable", action, false, true)
	if out.MinDomains < 1 {
		r.refuse(at.field("min_domains"), outOfRange, "is %d, at least 1 is required", out.MinDomains)
	}
	if hasMinDomains && out.ScheduleAnyway {
		r.refuse(at.field("min_domains"), notAllowed, "is only allowed with UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE")
	}
	return out
}
