package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/verbs"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// located translates the field paths of an error into paths in the files, and flags.
func (q *question) located(err error, snapshot *kube.Snapshot, request proto.Message) error {
	var out []error
	for _, v := range answer.Violations(err) {
		p := verbs.Problem{Field: v.Field, Detail: v.Description}
		if at, field, ok := snapshot.Locate(request, v.Field); ok {
			p.Object, p.Field = at, field
		} else if flag := flagOf(request, v.Field); flag != "" {
			p.Field = flag
		} else if field, ok := strings.CutPrefix(v.Field, "context.profile."); ok && q.Profile != "" {
			p.Object, p.Field = q.Profile, field
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return q.explained(err)
	}
	return errors.Join(out...)
}

// flagOf returns the flag that sets a field of a request; empty if no flag does.
func flagOf(request proto.Message, path string) string {
	switch r := request.(type) {
	case *stowagev1.PlaceRequest:
		return jointFlag(r, path)
	case *stowagev1.FitRequest:
		return map[string]string{"topology_key": "--by", "max_units": "--max-units", "mix": "--mix"}[path]
	case *stowagev1.DrainRequest:
		return map[string]string{"max_steps": "--max-steps", "target_nodes": "--target"}[path]
	case *stowagev1.ProvisionRequest:
		return map[string]string{"max_nodes": "--max-nodes", "max_steps": "--max-steps", "templates": "--template"}[path]
	case *stowagev1.ConsolidateRequest:
		return map[string]string{
			"max_actions": "--max-actions", "max_nodes_per_action": "--max-nodes-per-action", "max_steps": "--max-steps",
			"templates": "--template",
		}[path]
	case *stowagev1.WhatIfRequest:
		return map[string]string{"scenarios": "--each"}[path]
	}
	return ""
}

// jointFlag returns the flag that sets a field of the group that --joint makes.
func jointFlag(r *stowagev1.PlaceRequest, path string) string {
	i := slices.IndexFunc(r.GetPodGroups(), func(g *stowagev1.PodGroup) bool { return g.Name == kube.RestGroup })
	field, found := strings.CutPrefix(path, fmt.Sprintf("pod_groups[%d]", i))
	switch {
	case !found:
		return ""
	case field == ".min_count":
		return "--at-least"
	case field == ".max_steps":
		return "--max-steps"
	}
	return "--joint"
}
