package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// affinity decodes a pod's affinity into its spec.
func (d *decoder) affinity(parent *path, in *stowagev1.Affinity, out *api.PodSpec) {
	if in == nil {
		return
	}
	at := parent.field("affinity")
	out.NodeAffinity = d.nodeAffinity(&at, "node_affinity", in.GetNodeAffinity(), lenientValues)
	out.PodAffinity = d.podAffinity(&at, "pod_affinity", in.GetPodAffinity())
	out.PodAntiAffinity = d.podAffinity(&at, "pod_anti_affinity", in.GetPodAntiAffinity())
}

func (d *decoder) nodeAffinity(parent *path, field string, in *stowagev1.NodeAffinity, l leniency) *api.NodeAffinity {
	if in == nil {
		return nil
	}
	at := parent.field(field)
	out := &api.NodeAffinity{Required: d.nodeSelector(&at, "required", in.GetRequired(), l)}
	if !d.within(&at, "preferred", len(in.GetPreferred()), MaxTerms) {
		return out
	}
	for i, t := range in.GetPreferred() {
		at := at.item("preferred", i)
		d.weight(&at, t.GetWeight())
		if t.GetPreference() == nil {
			d.refuse(at.field("preference"), "is required")
		}
		preference := at.field("preference")
		out.Preferred = append(out.Preferred, api.PreferredNodeTerm{
			Weight:     t.GetWeight(),
			Preference: d.nodeSelectorTerm(&preference, t.GetPreference(), l),
		})
	}
	return out
}

func (d *decoder) podAffinity(parent *path, field string, in *stowagev1.PodAffinity) *api.PodAffinity {
	if in == nil {
		return nil
	}
	at := parent.field(field)
	out := &api.PodAffinity{}
	if d.within(&at, "required", len(in.GetRequired()), MaxTerms) {
		for i, t := range in.GetRequired() {
			at := at.item("required", i)
			out.Required = append(out.Required, d.podAffinityTerm(&at, t))
		}
	}
	if d.within(&at, "preferred", len(in.GetPreferred()), MaxTerms) {
		for i, t := range in.GetPreferred() {
			at := at.item("preferred", i)
			d.weight(&at, t.GetWeight())
			if t.GetTerm() == nil {
				d.refuse(at.field("term"), "is required")
				continue
			}
			term := at.field("term")
			out.Preferred = append(out.Preferred, api.WeightedPodAffinityTerm{
				Weight: t.GetWeight(),
				Term:   d.podAffinityTerm(&term, t.GetTerm()),
			})
		}
	}
	return out
}

func (d *decoder) podAffinityTerm(at *path, in *stowagev1.PodAffinityTerm) api.PodAffinityTerm {
	out := api.PodAffinityTerm{
		LabelSelector:     d.labelSelector(at, "label_selector", in.GetLabelSelector(), lenientValues),
		Namespaces:        in.GetNamespaces(),
		NamespaceSelector: d.labelSelector(at, "namespace_selector", in.GetNamespaceSelector(), lenientValues),
		TopologyKey:       in.GetTopologyKey(),
		MatchLabelKeys:    d.labelKeys(at, "match_label_keys", in.GetMatchLabelKeys()),
		MismatchLabelKeys: d.labelKeys(at, "mismatch_label_keys", in.GetMismatchLabelKeys()),
	}
	d.topologyKey(at, out.TopologyKey)
	d.termNamespaces(at, out.Namespaces)
	return out
}

func (d *decoder) termNamespaces(at *path, names []string) {
	if !d.within(at, "namespaces", len(names), MaxValues) {
		return
	}
	for i, n := range names {
		if n == "" {
			d.refuse(at.item("namespaces", i), "must not be empty")
		}
		d.length(at.item("namespaces", i), n, MaxNamespaceBytes)
	}
}

// labelKeys checks keys that a term or constraint takes from the pod's labels.
func (d *decoder) labelKeys(at *path, field string, keys []string) []string {
	if !d.within(at, field, len(keys), MaxValues) {
		return nil
	}
	for i, k := range keys {
		if !isLabelKey(k) {
			d.refuse(at.item(field, i), labelKeySyntax)
		}
	}
	return keys
}

// weight checks the weight of a preferred term.
func (d *decoder) weight(at *path, weight int32) {
	if weight < 1 || weight > 100 {
		d.refuse(at.field("weight"), "is %d, 1 to 100 are allowed", weight)
	}
}
