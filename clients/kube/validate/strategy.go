package validate

import (
	"cmp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
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

// number returns the number, or that of percent.
func number(of *intstr.IntOrString) int {
	if of.Type == intstr.Int {
		return int(of.IntVal)
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(of.StrVal, "%"))
	return n
}
