package snapshot

import (
	"context"
	"slices"

	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// profileOf returns the profile with the filters of a framework. The library runs no PreEnqueue plugin and does not score. A framework
// does not report the arguments of its plugins: they have their defaults.
func profileOf(ctx context.Context, client *stowage.Client, f framework.Framework) (*stowagev1.Profile, error) {
	info, err := client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{})
	if err != nil {
		return nil, err
	}
	enabled := f.ListPlugins().Filter.Enabled
	out := &stowagev1.Profile{}
	for _, p := range info.Profiles[0].Plugins {
		name := object.Plugin(p.Plugin)
		if p.Filters && !slices.ContainsFunc(enabled, func(e schedulerapi.Plugin) bool { return e.Name == name }) {
			out.DisabledFilters = append(out.DisabledFilters, p.Plugin)
		}
	}
	return out, nil
}
