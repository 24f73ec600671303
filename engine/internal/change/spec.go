package change

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// raiseMaxSkew looks for the least maxSkew of each of the pod's own hard constraints.
func (w *wish) raiseMaxSkew() error {
	if len(w.Pod.Spec().Spread) == 0 || w.butFor(podtopologyspread.Plugin).Empty() {
		return nil
	}
	for _, h := range w.rules.Spread {
		raised := func(to int32) func(*api.PodSpec) {
			return func(spec *api.PodSpec) {
				spec.Spread = slices.Clone(spec.Spread)
				spec.Spread[h.ID.Index].MaxSkew = to
			}
		}
		pod, template := *w.Pod.Pod, *w.Pod.Template
		raised(math.MaxInt32)(&template.Spec)
		pod.Template, pod.TemplateIndex = &template, -1
		outcome, err := decide.New(w.Framework, w.State, w.State.Compile(&pod)).Filter(w.ctx, w.candidates)
		if err != nil {
			return err
		}
		least, any := int64(0), false
		for n := range outcome.Feasible.All() {
			if skew := h.Skew(h.Column.Domain[n]); !any || skew < least {
				least, any = skew, true
			}
		}
		if !any {
			continue
		}
		to := int32(least) // at most the number of pods, that of the pod included
		taking, err := w.differently(raised(to))
		err = w.keep(verdict.Change{RaisedMaxSkew: &verdict.RaisedMaxSkew{
			Index: h.ID.Index, TopologyKey: h.ID.TopologyKey, From: int32(h.MaxSkew), To: to,
		}}, taking, err)
		if err != nil {
			return err
		}
	}
	return nil
}

// preferRules tries each of the pod's required rules as one that is only preferred.
func (w *wish) preferRules() error {
	tried := 0
	try := func(rule verdict.JointRule, change func(*api.PodSpec)) error {
		if tried++; tried > maxTriedRules {
			return nil
		}
		taking, err := w.differently(change)
		return w.keep(verdict.Change{PreferredRule: &rule}, taking, err)
	}
	spec := w.Pod.Spec()
	if (len(spec.NodeSelector) > 0 || spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil) &&
		!w.butFor(nodeaffinity.Plugin, podtopologyspread.Plugin).Empty() { // which counts the nodes that match
		err := try(verdict.JointRule{Plugin: verdict.NodeAffinity}, func(spec *api.PodSpec) {
			spec.NodeSelector, spec.NodeAffinity = nil, nil
		})
		if err != nil {
			return err
		}
	}
	if !w.butFor(podtopologyspread.Plugin).Empty() {
		for i := range spec.Spread {
			if spec.Spread[i].ScheduleAnyway {
				continue
			}
			err := try(verdict.JointRule{
				Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: i, TopologyKey: spec.Spread[i].TopologyKey,
			}, func(spec *api.PodSpec) {
				spec.Spread = slices.Clone(spec.Spread)
				spec.Spread[i].ScheduleAnyway = true
			})
			if err != nil {
				return err
			}
		}
	}
	if w.butFor(interpodaffinity.Plugin).Empty() {
		return nil
	}
	for _, terms := range []struct {
		rule verdict.TopologyRule
		of   func(*api.PodSpec) **api.PodAffinity
	}{
		{verdict.PodAffinity, func(s *api.PodSpec) **api.PodAffinity { return &s.PodAffinity }},
		{verdict.PodAntiAffinity, func(s *api.PodSpec) **api.PodAffinity { return &s.PodAntiAffinity }},
	} {
		stated := *terms.of(spec)
		if stated == nil {
			continue
		}
		for i := range stated.Required {
			err := try(verdict.JointRule{
				Plugin: verdict.InterPodAffinity, Rule: terms.rule, Index: i, TopologyKey: stated.Required[i].TopologyKey,
			}, func(spec *api.PodSpec) {
				without := *stated
				without.Required = slices.Delete(slices.Clone(stated.Required), i, i+1)
				*terms.of(spec) = &without
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerRequests looks for the most that the pod could ask for of each resource.
func (w *wish) lowerRequests() error {
	nodes := w.butFor(noderesources.Fit)
	if nodes.Empty() {
		return nil
	}
	needs := w.rules.Fit.Needs()
	room := make([]int64, len(needs)) // most on a node that lacks nothing else
	for i := range room {
		room[i] = -1
	}
	for n := range nodes.All() {
		short := -1
		for i := range needs {
			if needs[i].Amount <= needs[i].Room(n) {
				continue
			}
			if short >= 0 {
				short = len(needs)
				break
			}
			short = i
		}
		if short >= 0 && short < len(needs) {
			room[short] = max(room[short], needs[short].Room(n), 0) // nobody looks whether there is room for nothing
		}
	}
	for i := range needs {
		if room[i] < 0 || needs[i].Resource == api.ResourcePods {
			continue
		}
		taking, err := w.differently(func(spec *api.PodSpec) { request(spec, needs[i].Resource, room[i]) })
		err = w.keep(verdict.Change{LoweredRequest: &verdict.LoweredRequest{
			Resource: needs[i].Resource, From: needs[i].Amount, To: room[i],
		}}, taking, err)
		if err != nil {
			return err
		}
	}
	return nil
}

// request makes a pod ask for another amount of one resource, and for all others as before, in one container.
func request(spec *api.PodSpec, resource string, amount int64) {
	all := slices.Clone(requests.Pending(spec))
	for i := range all {
		if all[i].Resource == resource {
			all[i].Amount = amount
		}
	}
	one := api.Container{Requests: all}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.Sidecar {
			one.HostPorts = append(one.HostPorts, c.HostPorts...)
		}
	}
	for i := range spec.Containers {
		one.HostPorts = append(one.HostPorts, spec.Containers[i].HostPorts...)
	}
	spec.Containers, spec.InitContainers, spec.Requests, spec.Overhead = []api.Container{one}, nil, nil, nil
}
