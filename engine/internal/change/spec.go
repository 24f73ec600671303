package change

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// raiseMaxSkew looks for the lowest sufficient maxSkew of each hard spread constraint.
func (s *search) raiseMaxSkew() error {
	if len(s.Pod.Spec().Spread) == 0 || s.passingBut(podtopologyspread.Plugin).Empty() {
		return nil
	}
	for _, h := range s.rules.Spread {
		raised := func(to int32) func(*api.PodSpec) {
			return func(spec *api.PodSpec) {
				ownSpread(spec, h.ID.Index).MaxSkew = to
			}
		}
		feasible, err := s.with(raised(math.MaxInt32))
		if err != nil {
			return err
		}
		least, found := int64(0), false
		for n := range feasible.All() {
			if skew := h.SkewWith(n, h.Added(s.nominated[n])); !found || skew < least {
				least, found = skew, true
			}
		}
		if !found {
			continue
		}
		to := int32(least) // at most the number of pods, including the pod
		err = s.addSpec(verdict.Change{RaisedMaxSkew: &verdict.RaisedMaxSkew{
			Index: h.ID.Index, TopologyKey: h.ID.TopologyKey, From: int32(h.MaxSkew), To: to,
		}}, raised(to))
		if err != nil {
			return err
		}
	}
	return nil
}

// preferRules tries each required rule of the pod as a preferred one.
func (s *search) preferRules() error {
	tried := 0
	try := func(rule verdict.PodRule, change func(*api.PodSpec)) error {
		if tried++; tried > maxTriedRules {
			return nil
		}
		return s.addSpec(verdict.Change{PreferredRule: &rule}, change)
	}
	spec := s.Pod.Spec()
	if (len(spec.NodeSelector) > 0 || spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil) && !pinned(s.Pod.Template) &&
		!s.passingBut(nodeaffinity.Plugin, podtopologyspread.Plugin).Empty() { // it counts the matching nodes
		err := try(verdict.PodRule{Plugin: verdict.NodeAffinity}, preferNodes)
		if err != nil {
			return err
		}
	}
	if !s.passingBut(podtopologyspread.Plugin).Empty() {
		for i := range spec.Spread {
			if spec.Spread[i].ScheduleAnyway {
				continue
			}
			err := try(spreadRule(i, &spec.Spread[i]), func(spec *api.PodSpec) { ownSpread(spec, i).ScheduleAnyway = true })
			if err != nil {
				return err
			}
		}
	}
	if s.passingBut(interpodaffinity.Plugin).Empty() {
		return nil
	}
	for _, terms := range []struct {
		rule verdict.TopologyRule
		of   func(*api.PodSpec) **api.PodAffinity
	}{
		{verdict.PodAffinity, func(s *api.PodSpec) **api.PodAffinity { return &s.PodAffinity }},
		{verdict.PodAntiAffinity, func(s *api.PodSpec) **api.PodAffinity { return &s.PodAntiAffinity }},
	} {
		affinity := *terms.of(spec)
		if affinity == nil {
			continue
		}
		for i := range affinity.Required {
			err := try(termRule(terms.rule, i, &affinity.Required[i]), func(spec *api.PodSpec) {
				without := *affinity
				without.Required = slices.Delete(slices.Clone(affinity.Required), i, i+1)
				*terms.of(spec) = &without
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// preferNodes makes the node selector and the required node affinity preferences. A term that kube-scheduler cannot parse matches no
// node as a requirement, and fails the pod's scoring as a preference.
func preferNodes(spec *api.PodSpec) {
	var own api.NodeAffinity
	if spec.NodeAffinity != nil {
		own = *spec.NodeAffinity
	}
	terms := []api.NodeSelectorTerm{{}}
	if own.Required != nil {
		terms = own.Required.Terms
	}
	var labels []api.Requirement
	for _, l := range spec.NodeSelector {
		labels = append(labels, api.Requirement{Key: l.Key, Operator: api.In, Values: []string{l.Value}})
	}
	own.Preferred, own.Required = slices.Clip(own.Preferred), nil
	for _, t := range terms {
		t.MatchExpressions = slices.Concat(labels, t.MatchExpressions)
		own.Preferred = append(own.Preferred, api.PreferredNodeTerm{Weight: 100, Preference: t})
	}
	spec.NodeSelector, spec.NodeAffinity = nil, &own
}

// lowerRequests looks for the highest sufficient request of each resource. Requests of 0 are not offered, because a pod that needs
// none of a resource does not request it.
func (s *search) lowerRequests() error {
	nodes := s.passingBut(noderesources.Fit)
	if nodes.Empty() {
		return nil
	}
	needs := s.rules.Fit.Needs()
	room := make([]int64, len(needs)) // maximum over the nodes that lack nothing else
	for n := range nodes.All() {
		short := -1
		needs := s.on(n, needs)
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
			room[short] = max(room[short], needs[short].Room(n))
		}
	}
	for i := range needs {
		if room[i] == 0 || needs[i].Resource == api.ResourcePods {
			continue
		}
		err := s.addSpec(verdict.Change{LoweredRequest: &verdict.LoweredRequest{
			Resource: needs[i].Resource, From: needs[i].Amount, To: room[i],
		}}, func(spec *api.PodSpec) { request(spec, needs[i].Resource, room[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// request changes the request for one resource and moves all requests to one container.
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
