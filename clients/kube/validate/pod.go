package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// podSpec checks the fields of a pod that decisions read (ValidatePodSpec).
func podSpec(s *corev1.PodSpec, path *field.Path) field.ErrorList {
	return slices.Concat(
		containers(s.Containers, path.Child("containers")),
		initContainers(s.InitContainers, s.Containers, path.Child("initContainers")),
		labels(s.NodeSelector, path.Child("nodeSelector")),
		affinity(s.Affinity, path.Child("affinity")),
		gates(s.SchedulingGates, path.Child("schedulingGates")),
		spread(s.TopologySpreadConstraints, path.Child("topologySpreadConstraints")),
		tolerations(s.Tolerations, path.Child("tolerations")),
		requirements(&corev1.ResourceRequirements{Limits: s.Overhead}, path.Child("overhead")),
	)
}

func labels(of map[string]string, path *field.Path) field.ErrorList {
	return sorted(metavalidation.ValidateLabels(of, path))
}

// sorted sorts errors that were found in the order of a map.
func sorted(errs field.ErrorList) field.ErrorList {
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// gates checks scheduling gates (validateSchedulingGates).
func gates(all []corev1.PodSchedulingGate, path *field.Path) field.ErrorList {
	var out field.ErrorList
	seen := map[string]bool{}
	for i, g := range all {
		out = append(out, invalid(path.Index(i), g.Name, validation.IsQualifiedName(g.Name))...)
		if seen[g.Name] {
			out = append(out, field.Duplicate(path.Index(i), g.Name))
		}
		seen[g.Name] = true
	}
	return out
}

// spread checks constraints (validateTopologySpreadConstraints).
func spread(cs []corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for i := range cs {
		c, at := &cs[i], path.Index(i)
		if c.MaxSkew <= 0 {
			out = append(out, field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be greater than 0"))
		}
		if c.TopologyKey == "" {
			out = append(out, field.Required(at.Child("topologyKey"), "can not be empty"))
		}
		out = append(out, oneOf(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
		if slices.ContainsFunc(cs[i+1:], func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			out = append(out, field.Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"),
				fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
		}
		out = append(out, minDomains(c, at.Child("minDomains"))...)
		out = append(out, inclusion(c.NodeAffinityPolicy, at.Child("nodeAffinityPolicy"))...)
		out = append(out, inclusion(c.NodeTaintsPolicy, at.Child("nodeTaintsPolicy"))...)
		out = append(out, labelKeys(c.MatchLabelKeys, c.LabelSelector, at.Child("matchLabelKeys"))...)
		out = append(out, selector(c.LabelSelector, at.Child("labelSelector"))...)
	}
	return out
}

func inclusion(p *corev1.NodeInclusionPolicy, at *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return oneOf(at, *p, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
}

func minDomains(c *corev1.TopologySpreadConstraint, at *field.Path) field.ErrorList {
	var out field.ErrorList
	if c.MinDomains == nil {
		return nil
	}
	if *c.MinDomains <= 0 {
		out = append(out, field.Invalid(at, *c.MinDomains, "must be greater than 0"))
	}
	if c.WhenUnsatisfiable != corev1.DoNotSchedule {
		out = append(out, field.Invalid(at, *c.MinDomains,
			fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
	}
	return out
}

// tolerations checks tolerations (ValidateTolerations).
func tolerations(all []corev1.Toleration, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for i := range all {
		t, at := &all[i], path.Index(i)
		if t.Key != "" {
			out = append(out, metavalidation.ValidateLabelName(t.Key, at.Child("key"))...)
		} else if t.Operator != corev1.TolerationOpExists {
			out = append(out, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			out = append(out, field.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		out = append(out, tolerated(t, at)...)
		if t.Effect != "" {
			out = append(out, oneOf(at.Child("effect"), t.Effect,
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		}
	}
	return out
}

// tolerated checks the operator of a toleration and its value.
func tolerated(t *corev1.Toleration, at *field.Path) field.ErrorList {
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if wrong := validation.IsValidLabelValue(t.Value); len(wrong) > 0 {
			return field.ErrorList{field.Invalid(at.Child("operator"), t.Value, strings.Join(wrong, ";"))}
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			return field.ErrorList{field.Invalid(at.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'")}
		}
	case skew.TolerationOpLt, skew.TolerationOpGt: // of the feature gate TaintTolerationComparisonOperators
		if n, err := strconv.ParseInt(t.Value, 10, 64); err != nil || strconv.FormatInt(n, 10) != t.Value {
			return field.ErrorList{field.Invalid(at.Child("value"), t.Value, "must be a decimal integer of 64 bits")}
		}
	default:
		return oneOf(at.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
	return nil
}
