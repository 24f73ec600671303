package validate

import (
	"cmp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deploymentStrategy checks how a Deployment replaces its pods (ValidateDeploymentStrategy).
func deploymentStrategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	at := path.Child("rollingUpdate")
	switch {
	case s.Type == appsv1.RecreateDeploymentStrategyType && s.RollingUpdate != nil:
		return field.ErrorList{field.Forbidden(at, "may not be specified when strategy `type` is 'Recreate'")}
	case s.Type == appsv1.RecreateDeploymentStrategyType:
		return nil
	case s.Type != "" && s.Type != appsv1.RollingUpdateDeploymentStrategyType:
		return oneOf(path, s.Type, appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType)
	case s.RollingUpdate == nil:
		return nil
	}
	surge, unavailable := cmp.Or(s.RollingUpdate.MaxSurge, &quarter), cmp.Or(s.RollingUpdate.MaxUnavailable, &quarter)
	out := append(share(unavailable, true, at.Child("maxUnavailable")), share(surge, false, at.Child("maxSurge"))...)
	if number(surge) == 0 && number(unavailable) == 0 {
		out = append(out, field.Invalid(at.Child("maxUnavailable"), unavailable.String(), "may not be 0 when `maxSurge` is 0"))
	}
	return out
}

// quarter is the default of a Deployment.
var quarter = intstr.FromString("25%")

// daemonStrategy checks how a DaemonSet replaces its pods (ValidateDaemonSetUpdateStrategy).
func daemonStrategy(s *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	switch {
	case s.Type == appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case s.Type != "" && s.Type != appsv1.RollingUpdateDaemonSetStrategyType:
		return oneOf(path, s.Type, appsv1.OnDeleteDaemonSetStrategyType, appsv1.RollingUpdateDaemonSetStrategyType)
	case s.RollingUpdate == nil:
		return nil
	}
	at := path.Child("rollingUpdate")
	surge, unavailable := cmp.Or(s.RollingUpdate.MaxSurge, new(intstr.FromInt32(0))), cmp.Or(s.RollingUpdate.MaxUnavailable, new(intstr.FromInt32(1)))
	out := append(share(unavailable, true, at.Child("maxUnavailable")), share(surge, true, at.Child("maxSurge"))...)
	switch {
	case number(surge) != 0 && number(unavailable) != 0:
		out = append(out, field.Invalid(at.Child("maxSurge"), surge.String(), "may not be set when maxUnavailable is non-zero"))
	case number(surge) == 0 && number(unavailable) == 0:
		out = append(out, field.Required(at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
	}
	return out
}

// statefulSet checks the replicas of a StatefulSet and how it replaces them (ValidateStatefulSetSpec).
func statefulSet(s *appsv1.StatefulSetSpec, spec *field.Path) field.ErrorList {
	out := append(count(s.Replicas, spec.Child("replicas")), claimTemplates(s.VolumeClaimTemplates, spec.Child("volumeClaimTemplates"))...)
	if _, err := metav1.LabelSelectorAsSelector(s.Selector); err != nil { // the template is not checked otherwise
		out = append(out, restarts(s.Template.Spec.RestartPolicy, spec.Child("template", "spec", "restartPolicy"), corev1.RestartPolicyAlways)...)
	}
	if o := s.Ordinals; o != nil {
		out = append(out, count(&o.Start, spec.Child("ordinals.start"))...)
	}
	if policy := s.PodManagementPolicy; policy != "" {
		out = append(out, oneOf(spec.Child("podManagementPolicy"), policy, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)...)
	}
	at, u := spec.Child("updateStrategy"), &s.UpdateStrategy
	rolling := at.Child("rollingUpdate")
	switch {
	case u.Type == appsv1.OnDeleteStatefulSetStrategyType && u.RollingUpdate != nil:
		return append(out, field.Invalid(rolling, u.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'"))
	case u.Type == appsv1.OnDeleteStatefulSetStrategyType:
		return out
	case u.Type != "" && u.Type != appsv1.RollingUpdateStatefulSetStrategyType:
		return append(out, oneOf(at, u.Type, appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)...)
	case u.RollingUpdate == nil:
		return out
	}
	out = append(out, count(u.RollingUpdate.Partition, rolling.Child("partition"))...)
	if unavailable := u.RollingUpdate.MaxUnavailable; unavailable != nil {
		out = append(out, share(unavailable, true, rolling.Child("maxUnavailable"))...)
		if number(unavailable) == 0 {
			out = append(out, field.Invalid(rolling.Child("maxUnavailable"), unavailable.String(), "cannot be 0"))
		}
	}
	return out
}

// share checks a number of pods or a percentage, which may be bounded by 100 (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent).
func share(of *intstr.IntOrString, bounded bool, at *field.Path) field.ErrorList {
	if of.Type == intstr.Int {
		return count(&of.IntVal, at)
	}
	if wrong := validation.IsValidPercent(of.StrVal); len(wrong) > 0 {
		return invalid(at, of.StrVal, wrong)
	}
	if bounded && number(of) > 100 {
		return field.ErrorList{field.Invalid(at, of.StrVal, "must not be greater than 100%")}
	}
	return nil
}

// number returns the number, or the number of a percentage.
func number(of *intstr.IntOrString) int {
	if of.Type == intstr.Int {
		return int(of.IntVal)
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(of.StrVal, "%"))
	return n
}
