package kube

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Less returns a template of pods on nodes without the smallest part that holds a rejected field: a list of affinity terms,
// the pods' resources, or their labels. It is not ok if nothing can be left out. kube-scheduler enforces every term that it
// can parse, so a missing required anti-affinity term leaves it unclear where other pods may go; other terms only affect
// scores.
func Less(t *stowagev1.PodTemplate, field string) (out *stowagev1.PodTemplate, unclear, ok bool) {
	without := func(change func(*stowagev1.PodTemplate)) bool {
		out = proto.CloneOf(t)
		change(out)
		return !proto.Equal(out, t)
	}
	for list, empty := range termLists {
		if strings.HasPrefix(field, "spec.affinity."+list) && without(func(t *stowagev1.PodTemplate) {
			if a := t.GetSpec().GetAffinity(); a != nil {
				empty(a)
			}
		}) {
			return out, list == requiredAntiAffinity, true
		}
	}
	if slices.ContainsFunc([]func(*stowagev1.PodTemplate){
		func(t *stowagev1.PodTemplate) {
			if strings.HasPrefix(field, "labels") {
				t.Labels = nil
			}
		},
		func(t *stowagev1.PodTemplate) {
			if t.Spec != nil {
				t.Spec = &stowagev1.PodSpec{
					Affinity: t.Spec.Affinity, Priority: t.Spec.Priority, SchedulingGroup: t.Spec.SchedulingGroup,
				}
			}
		},
		func(t *stowagev1.PodTemplate) { t.Spec = nil },
		func(t *stowagev1.PodTemplate) { t.Labels = nil },
	}, without) {
		return out, true, true
	}
	return nil, false, false
}

const requiredAntiAffinity = "pod_anti_affinity.required"

// termLists clear the lists of terms, by path.
var termLists = map[string]func(*stowagev1.Affinity){
	"pod_affinity.required":       func(a *stowagev1.Affinity) { noTerms(a.PodAffinity, true) },
	"pod_affinity.preferred":      func(a *stowagev1.Affinity) { noTerms(a.PodAffinity, false) },
	requiredAntiAffinity:          func(a *stowagev1.Affinity) { noTerms(a.PodAntiAffinity, true) },
	"pod_anti_affinity.preferred": func(a *stowagev1.Affinity) { noTerms(a.PodAntiAffinity, false) },
}

func noTerms(a *stowagev1.PodAffinity, required bool) {
	switch {
	case a == nil:
	case required:
		a.Required = nil
	default:
		a.Preferred = nil
	}
}
