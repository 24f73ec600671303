package selector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// The errors of kube-scheduler for selectors that it cannot parse. The API server lets pods keep values that are not valid
// label values (pkg/apis/core/validation/validation.go, v1.37), so that such selectors reach kube-scheduler.

// LabelSelectorError returns the text of the error with which a label selector fails to parse, empty if it parses
// (k8s.io/apimachinery/pkg/apis/meta/v1 LabelSelectorAsSelector, v0.37). If several labels fail, kube-scheduler reports any
// of them, and LabelSelectorError the first by key.
func LabelSelectorError(s *api.LabelSelector) string {
	if s == nil {
		return ""
	}
	for _, l := range s.MatchLabels {
		if validLabelValue(l.Value) && labelKeyErrors(l.Key) == nil {
			continue
		}
		if err := requirementErrors(api.Requirement{Key: l.Key, Operator: api.In, Values: []string{l.Value}}); err != nil {
			return Aggregate(err...)
		}
	}
	for _, r := range s.MatchExpressions {
		if err := requirementErrors(r); err != nil {
			return Aggregate(err...)
		}
	}
	return ""
}

// TermError returns the text of the error with which a pod affinity term fails to parse, empty if it parses
// (k8s.io/kube-scheduler/framework/types.go newAffinityTerm, v0.37).
func TermError(t *api.PodAffinityTerm) string {
	if err := LabelSelectorError(t.LabelSelector); err != "" {
		return err
	}
	return LabelSelectorError(t.NamespaceSelector)
}

// PreferredNodeTermsError returns the text of the error with which preferred node affinity terms fail to parse, empty if
// they parse (k8s.io/component-helpers/scheduling/corev1/nodeaffinity NewPreferredSchedulingTerms, v0.37).
func PreferredNodeTermsError(terms []api.PreferredNodeTerm) string {
	var errs []string
	for i, t := range terms {
		for j, r := range t.Preference.MatchExpressions {
			for _, err := range requirementErrors(r) {
				errs = append(errs, fmt.Sprintf("[%d].matchExpressions[%d].%s", i, j, err))
			}
		}
	}
	return Aggregate(errs...)
}

// requirementErrors returns why a requirement fails to parse (k8s.io/apimachinery/pkg/labels NewRequirement, v0.37).
func requirementErrors(r api.Requirement) []string {
	var errs []string
	invalid := func(field, value string, detail string) {
		errs = append(errs, field+": Invalid value: "+value+": "+detail)
	}
	if details := labelKeyErrors(r.Key); details != nil {
		invalid("key", strconv.Quote(r.Key), strings.Join(details, "; "))
	}
	switch r.Operator {
	case api.In, api.NotIn:
		if len(r.Values) == 0 {
			invalid("values", "null", "for 'in', 'notin' operators, values set can't be empty")
		}
	case api.Exists, api.DoesNotExist:
		if len(r.Values) > 0 {
			list, _ := json.Marshal(r.Values) // of strings, which cannot fail
			invalid("values", string(list), "values set must be empty for exists and does not exist")
		}
	case api.GreaterThan, api.LessThan:
		for i, v := range r.Values {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				invalid(fmt.Sprintf("values[%d]", i), strconv.Quote(v), "for 'Gt', 'Lt' operators, the value must be an integer")
			}
		}
	}
	for i, v := range r.Values {
		if details := labelValueErrors(v); details != nil {
			invalid(fmt.Sprintf("values[%d][%s]", i, r.Key), strconv.Quote(v), strings.Join(details, "; "))
		}
	}
	return errs
}

// Aggregate joins the texts of errors that are not empty, each once (k8s.io/apimachinery/pkg/util/errors Aggregate, v0.37).
func Aggregate(errs ...string) string {
	var different []string
	for _, e := range errs {
		if e != "" && !slices.Contains(different, e) {
			different = append(different, e)
		}
	}
	if len(different) > 1 {
		return "[" + strings.Join(different, ", ") + "]"
	}
	return strings.Join(different, "")
}
