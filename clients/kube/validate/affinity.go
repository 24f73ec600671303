package validate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

func affinity(a *corev1.Affinity, path *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	var out field.ErrorList
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

// nodeAffinity checks a node affinity (validateNodeAffinity). Preferred terms may have values that are no values of labels.
func nodeAffinity(a *corev1.NodeAffinity, path *field.Path) field.ErrorList {
	var out field.ErrorList
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		at := path.Child(required, "nodeSelectorTerms")
		if len(r.NodeSelectorTerms) == 0 {
			out = append(out, field.Required(at, "must have at least one node selector term"))
		}
		for i := range r.NodeSelectorTerms {
			out = append(out, nodeTerm(&r.NodeSelectorTerms[i], true, at.Index(i))...)
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p, at := &a.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(preferred).Index(i)
		out = append(append(out, weight(p.Weight, at)...), nodeTerm(&p.Preference, false, at.Child("preference"))...)
	}
	return out
}

// nodeTerm checks a term (ValidateNodeSelectorTerm).
func nodeTerm(t *corev1.NodeSelectorTerm, strict bool, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for i := range t.MatchExpressions {
		out = append(out, nodeLabel(&t.MatchExpressions[i], strict, path.Child("matchExpressions").Index(i))...)
	}
	for i := range t.MatchFields {
		out = append(out, nodeField(&t.MatchFields[i], path.Child("matchFields").Index(i))...)
	}
	return out
}

// nodeLabel checks an expression (ValidateNodeSelectorRequirement).
func nodeLabel(r *corev1.NodeSelectorRequirement, strict bool, at *field.Path) field.ErrorList {
	var out field.ErrorList
	switch values := at.Child("values"); r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			out = append(out, field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			out = append(out, field.Forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			out = append(out, field.Required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		out = append(out, field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	out = append(out, metavalidation.ValidateLabelName(r.Key, at.Child("key"))...)
	for i, value := range r.Values {
		if strict {
			out = append(out, invalid(at.Child("values").Index(i), value, validation.IsValidLabelValue(value))...)
		}
	}
	return out
}

// nodeField checks an expression (ValidateNodeFieldSelectorRequirement).
func nodeField(r *corev1.NodeSelectorRequirement, at *field.Path) field.ErrorList {
	var out field.ErrorList
	if r.Operator != corev1.NodeSelectorOpIn && r.Operator != corev1.NodeSelectorOpNotIn {
		out = append(out, field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
	} else if len(r.Values) != 1 {
		out = append(out, field.Required(at.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(out, field.Invalid(at.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, value := range r.Values {
		out = append(out, invalid(at.Child("values").Index(i), value, apivalidation.NameIsDNSSubdomain(value, false))...)
	}
	return out
}

// podTerms checks the terms of an affinity to pods (validatePodAffinityTerms, validateWeightedPodAffinityTerms).
func podTerms(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for i := range hard {
		out = append(out, podTerm(&hard[i], path.Child(required).Index(i))...)
	}
	for i := range soft {
		at := path.Child(preferred).Index(i)
		out = append(append(out, weight(soft[i].Weight, at)...), podTerm(&soft[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return out
}

func podTerm(t *corev1.PodAffinityTerm, at *field.Path) field.ErrorList {
	out := append(selector(t.LabelSelector, at.Child("labelSelector")), selector(t.NamespaceSelector, at.Child("namespaceSelector"))...)
	for _, name := range t.Namespaces {
		out = append(out, invalid(at.Child("namespace"), name, apivalidation.NameIsDNSLabel(name, false))...)
	}
	out = append(out, labelKeys(t.MatchLabelKeys, t.LabelSelector, at.Child("matchLabelKeys"))...)
	out = append(out, labelKeys(t.MismatchLabelKeys, t.LabelSelector, at.Child("mismatchLabelKeys"))...)
	for i, key := range t.MatchLabelKeys {
		if slices.Contains(t.MismatchLabelKeys, key) {
			out = append(out, field.Invalid(at.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
	if t.TopologyKey == "" {
		return append(out, field.Required(at.Child("topologyKey"), "can not be empty"))
	}
	return append(out, metavalidation.ValidateLabelName(t.TopologyKey, at.Child("topologyKey"))...)
}

// labelKeys checks keys that complete a selector (validateLabelKeys).
func labelKeys(keys []string, s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if len(keys) > 0 && s == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	var out field.ErrorList
	for i, key := range keys {
		out = append(out, metavalidation.ValidateLabelName(key, path.Index(i))...)
	}
	return out
}

func selector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return sorted(metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path))
}

func weight(of int32, at *field.Path) field.ErrorList {
	if of >= 1 && of <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("weight"), of, "must be in the range 1-100")}
}
