package cluster

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Shape is the part of a pod that the rules of other pods read, except its resources, and its pod group. Pods of one shape are
// interchangeable to every rule.
type Shape struct {
	Namespace   intern.ID
	Labels      selector.Labels
	Terminating bool
	// PodGroup is the pod's group, noPodGroup for none. Only preemption reads it.
	PodGroup intern.ID
	// Readiness is the readiness of a pod of the cluster that is not terminating. Rules do not read it; evictions do.
	Readiness api.Readiness
	*Rules
}

// podStates is the number of states by which pods of one template are distinguished: their readiness, and terminating.
const podStates = int(api.PhasePending) + 2

// podState returns the number of a state.
func podState(terminating bool, readiness api.Readiness) int {
	if terminating {
		return podStates - 1
	}
	return int(readiness)
}

// in returns a copy of a shape in another state.
func (s *Shape) in(state int) *Shape {
	out := *s
	if out.Terminating = state == podStates-1; out.Terminating {
		out.Readiness = 0
	} else {
		out.Readiness = api.Readiness(state)
	}
	return &out
}

// Rules is the affinity terms, host ports and volumes of a shape. Pods of one template share it, unless their terms depend on labels
// of their own, or their claims on their names.
type Rules struct {
	Affinity              []Term
	AntiAffinity          []Term
	PreferredAffinity     []WeightedTerm
	PreferredAntiAffinity []WeightedTerm
	// Unparsable reports that AntiAffinity is empty because kube-scheduler cannot parse a term of it.
	Unparsable bool

	HostPorts []api.HostPort
	// Volumes are the claims and disks of the pod, in its order.
	Volumes []Volume

	// id is equal for equal rules compiled with one table.
	id intern.ID
}

// compileShape compiles the shape of a pod with a name, which may be empty. shared is the rules of the template's pods without labels
// and names of their own, nil if unknown.
func compileShape(
	t *intern.Table, template *api.PodTemplate, name string, own api.Labels, terminating bool, shared *Rules,
) *Shape {
	s := &Shape{
		Namespace:   t.Intern(template.Namespace),
		Labels:      selector.CompileLabels(t, template.Labels.With(own)),
		Terminating: terminating,
		PodGroup:    podGroupOf(t, template),
		Rules:       shared,
	}
	if shared != nil && (len(own) == 0 || !refersToOwnLabels(&template.Spec)) && (name == "" || !ClaimsOfPods(&template.Spec)) {
		return s
	}
	s.Rules = &Rules{HostPorts: hostPorts(&template.Spec), Volumes: volumesOf(template, name)}
	s.Affinity, s.PreferredAffinity = s.compileTerms(t, template.Spec.PodAffinity)
	s.AntiAffinity, s.PreferredAntiAffinity = s.compileTerms(t, template.Spec.PodAntiAffinity)
	s.Unparsable = template.Spec.PodAntiAffinity != nil && len(template.Spec.PodAntiAffinity.Required) > len(s.AntiAffinity)
	s.Rules.id = t.InternBytes(s.Rules.key())
	return s
}

// refersToOwnLabels reports whether a term takes values from the labels of its pod.
func refersToOwnLabels(spec *api.PodSpec) bool {
	for t := range termsOf(spec) {
		if len(t.MatchLabelKeys)+len(t.MismatchLabelKeys) > 0 {
			return true
		}
	}
	return false
}

// termsOf iterates over the affinity and anti-affinity terms of a pod.
func termsOf(spec *api.PodSpec) iter.Seq[*api.PodAffinityTerm] {
	return func(yield func(*api.PodAffinityTerm) bool) {
		for _, a := range []*api.PodAffinity{spec.PodAffinity, spec.PodAntiAffinity} {
			if a == nil {
				continue
			}
			for i := range a.Required {
				if !yield(&a.Required[i]) {
					return
				}
			}
			for i := range a.Preferred {
				if !yield(&a.Preferred[i].Term) {
					return
				}
			}
		}
	}
}

// compileTerms compiles two lists of terms. A list with a term that kube-scheduler cannot parse is empty
// (pkg/scheduler/framework/types.go NewPodInfo, v1.37).
func (s *Shape) compileTerms(t *intern.Table, a *api.PodAffinity) (required []Term, preferred []WeightedTerm) {
	if a == nil {
		return nil, nil
	}
	for i := range a.Required {
		if selector.TermError(&a.Required[i]) != "" {
			required = nil
			break
		}
		required = append(required, compileTerm(t, &a.Required[i], s.Namespace, s.Labels))
	}
	for i := range a.Preferred {
		if selector.TermError(&a.Preferred[i].Term) != "" {
			return required, nil
		}
		term := compileTerm(t, &a.Preferred[i].Term, s.Namespace, s.Labels)
		preferred = append(preferred, WeightedTerm{Term: term, Weight: int64(a.Preferred[i].Weight)})
	}
	return required, preferred
}

// hostPorts returns the ports that a pod occupies while it runs: the ports of containers and sidecars (pkg/scheduler/util
// GetHostPorts, v1.37).
func hostPorts(spec *api.PodSpec) []api.HostPort {
	var ports []api.HostPort
	for i := range spec.InitContainers {
		if spec.InitContainers[i].Sidecar {
			ports = append(ports, spec.InitContainers[i].HostPorts...)
		}
	}
	for i := range spec.Containers {
		ports = append(ports, spec.Containers[i].HostPorts...)
	}
	return ports
}

// identity returns an id of a shape and a template. Equal ids of one table imply equal shapes and templates.
func (s *Shape) identity(t *intern.Table, template int) intern.ID {
	b := make([]byte, 0, 64)
	b = binary.AppendVarint(b, int64(template))
	b = binary.AppendUvarint(b, uint64(s.Rules.id))
	b = binary.AppendUvarint(b, uint64(s.Namespace))
	flags := byte(podState(s.Terminating, s.Readiness))
	if s.PodGroup != noPodGroup {
		flags |= 0x80
	}
	if b = append(b, flags); s.PodGroup != noPodGroup {
		b = binary.AppendUvarint(b, uint64(s.PodGroup))
	}
	for _, l := range s.Labels {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(l.Key)), uint64(l.Value))
	}
	return t.InternBytes(b)
}

// key returns a key of the rules. Equal keys of one table imply equal rules.
func (s *Rules) key() []byte {
	b := make([]byte, 0, 128)
	for _, terms := range [][]Term{s.Affinity, s.AntiAffinity} {
		b = binary.AppendUvarint(b, uint64(len(terms)))
		for i := range terms {
			b = terms[i].appendKey(b)
		}
	}
	for _, terms := range [][]WeightedTerm{s.PreferredAffinity, s.PreferredAntiAffinity} {
		b = binary.AppendUvarint(b, uint64(len(terms)))
		for i := range terms {
			b = terms[i].appendKey(binary.AppendVarint(b, terms[i].Weight))
		}
	}
	if s.Unparsable {
		b = append(b, math.MaxUint8) // no protocol
	}
	for _, p := range s.HostPorts {
		b = binary.AppendUvarint(append(b, byte(p.Protocol)), uint64(p.Port))
		b = appendText(b, p.HostIP)
	}
	return appendVolumes(b, s.Volumes)
}
