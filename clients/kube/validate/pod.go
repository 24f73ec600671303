package validate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

// podSpec checks the placement rules of pods.
func podSpec(s *corev1.PodSpec, path *field.Path) field.ErrorList {
	out := spread(s.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))
	a := s.Affinity
	if a == nil {
		return out
	}
	path = path.Child("affinity")
	if n := a.NodeAffinity; n != nil {
		out = append(out, nodeAffinity(n, path.Child("nodeAffinity"))...)
	}
	if p := a.PodAffinity; p != nil {
		out = append(out, podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		out = append(out, podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return out
}

// spread checks constraints (validateTopologySpreadConstraints).
func spread(cs []corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	var out field.ErrorList
	seen := map[string]bool{}
	for i := range cs {
		c, at := &cs[i], path.Index(i)
		if c.MaxSkew <= 0 {
			out = append(out, field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be greater than 0"))
		}
		out = append(out, topologyKey(c.TopologyKey, at)...)
		pair := fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)
		if seen[pair] {
			out = append(out, field.Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"), pair))
		}
		seen[pair] = true
		if c.MinDomains == nil {
			continue
		}
		if *c.MinDomains <= 0 {
			out = append(out, field.Invalid(at.Child("minDomains"), *c.MinDomains, "must be greater than 0"))
		}
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			out = append(out, field.Invalid(at.Child("minDomains"), *c.MinDomains,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
		}
	}
	return out
}

// nodeAffinity checks a node affinity (validateNodeAffinity).
func nodeAffinity(a *corev1.NodeAffinity, path *field.Path) field.ErrorList {
	var out field.ErrorList
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil && len(r.NodeSelectorTerms) == 0 {
		out = append(out, field.Required(path.Child(required, "nodeSelectorTerms"), "must have at least one node selector term"))
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		out = append(out, weight(a.PreferredDuringSchedulingIgnoredDuringExecution[i].Weight, path.Child(preferred).Index(i))...)
	}
	return out
}

// podTerms checks the terms of an affinity to pods (validatePodAffinityTerms, validateWeightedPodAffinityTerms).
func podTerms(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for i := range hard {
		out = append(out, topologyKey(hard[i].TopologyKey, path.Child(required).Index(i))...)
	}
	for i := range soft {
		at := path.Child(preferred).Index(i)
		out = append(out, weight(soft[i].Weight, at)...)
		out = append(out, topologyKey(soft[i].PodAffinityTerm.TopologyKey, at.Child("podAffinityTerm"))...)
	}
	return out
}

func topologyKey(key string, at *field.Path) field.ErrorList {
	if key != "" {
		return nil
	}
	return field.ErrorList{field.Required(at.Child("topologyKey"), "can not be empty")}
}

func weight(of int32, at *field.Path) field.ErrorList {
	if of >= 1 && of <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("weight"), of, "must be in the range 1-100")}
}
