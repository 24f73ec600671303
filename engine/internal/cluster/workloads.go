package cluster

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// workloads holds the selectors for default spreading.
type workloads struct {
	services    map[intern.ID][]*selector.Selector // by namespace
	controllers map[controller]*selector.Selector
}

type controller struct {
	kind            api.WorkloadKind
	namespace, name intern.ID
}

func newWorkloads() workloads {
	return workloads{
		services:    make(map[intern.ID][]*selector.Selector),
		controllers: make(map[controller]*selector.Selector),
	}
}

func (w *workloads) add(t *intern.Table, s *api.WorkloadSelector) {
	compiled := selector.CompileSelector(t, s.Selector)
	namespace := t.Intern(s.Namespace)
	if s.Kind != api.Service {
		w.controllers[controller{s.Kind, namespace, t.Intern(s.Name)}] = compiled
	} else if compiled != nil { // a Service without a selector selects nothing
		w.services[namespace] = append(w.services[namespace], compiled)
	}
}

// DefaultSelector returns the selector of a pod's default spread constraints: the merged selectors of its controller and of the
// services that select it; empty without any. The labels of a ReplicationController override the labels of services. The
// requirements of a ReplicaSet or StatefulSet are added to the requirements of services
// (pkg/scheduler/framework/plugins/helper/spread.go DefaultSelector, v1.37).
func (s *State) DefaultSelector(p *Shape, c api.ControllerReference) *selector.Selector {
	merged := &selector.Selector{}
	for _, service := range s.workloads.services[p.Namespace] {
		if service.Matches(p.Labels) {
			merged = merged.And(service)
		}
	}
	if c.Kind == api.NoWorkload {
		return merged
	}
	own, ok := s.workloads.controllers[controller{c.Kind, p.Namespace, s.Symbols.Intern(c.Name)}]
	switch {
	case !ok || own == nil:
		return merged
	case c.Kind == api.ReplicationController:
		return merged.Overridden(own)
	}
	return merged.And(own)
}
