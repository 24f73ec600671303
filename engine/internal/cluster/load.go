package cluster

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// load is the usage, priority and traits of one pod.
type load struct {
	*Usage
	priority int32
	traits   Traits
	never    bool // NeverPreempts of a pod in a pod group
}

// Traits are what a drain reads of a pod besides its status.
type Traits struct {
	Controller api.WorkloadKind
	// Mirror and Gone are the fields of api.ControllerReference.
	Mirror, Gone bool
	// EmptyDir reports whether the pod has an emptyDir volume.
	EmptyDir bool
}

func traitsOf(t *api.PodTemplate) Traits {
	return Traits{t.Controller.Kind, t.Controller.Mirror, t.Controller.Gone, t.Spec.EmptyDir}
}

// byte returns a byte that has the traits.
func (t Traits) byte() byte {
	out := byte(t.Controller)
	for i, set := range [...]bool{t.Mirror, t.Gone, t.EmptyDir} {
		if set {
			out |= 0x80 >> i
		}
	}
	return out
}

// asTemplate is the load of pods that share the usage, priority and traits of their template in the cluster.
const asTemplate = -1

func (l load) clone() load {
	usage := *l.Usage
	usage.Scalars = slices.Clone(usage.Scalars)
	for i := range usage.Scalars {
		usage.Scalars[i].Resource = strings.Clone(usage.Scalars[i].Resource)
	}
	return load{&usage, l.priority, l.traits, l.never}
}

func loadKey(key []byte, l load) []byte {
	traits := l.traits.byte()
	if l.never {
		traits |= 0x10
	}
	key = binary.AppendVarint(append(key, traits), int64(l.priority))
	for _, amount := range l.Amounts {
		key = binary.AppendVarint(key, amount)
	}
	for _, amount := range l.Defaulted {
		key = binary.AppendVarint(key, amount)
	}
	for _, q := range l.Scalars {
		key = binary.AppendUvarint(key, uint64(len(q.Resource)))
		key = binary.AppendVarint(append(key, q.Resource...), q.Amount)
	}
	return key
}

// loadOf returns the load of a named pod, of a template of its own or nil.
func (g *grouping) loadOf(p *api.Pod, own *ownTemplate, usage *Usage) int32 {
	switch {
	case p.ResourceStatus != nil:
	case own == nil:
		return asTemplate
	case own.load > 0:
		return own.load - 1
	}
	spec := &p.Template.Spec
	never := spec.NeverPreempts && spec.SchedulingGroup != ""
	i := g.loads.find(load{usage, spec.Priority, traitsOf(p.Template), never}, load.clone)
	if p.ResourceStatus == nil {
		own.load = i + 1
	}
	return i
}

// loadAt returns the usage and priority of each pod of a group with a load.
func (c *Cluster) loadAt(index, group int32) (*Usage, int32) {
	if index != asTemplate {
		return c.loads[index].Usage, c.loads[index].priority
	}
	t := c.templates.get(c.groups.get(int(group)).Template)
	return &t.usage, t.source.Spec.Priority
}

// neverAt reports whether each pod of a group with a load, which is in a pod group, preempts no others.
func (c *Cluster) neverAt(index, group int32) bool {
	if index != asTemplate {
		return c.loads[index].never
	}
	return c.templates.get(c.groups.get(int(group)).Template).source.Spec.NeverPreempts
}

// controllerAt returns the kind of the controller of each pod of a group with a load.
func (c *Cluster) controllerAt(index, group int32) api.WorkloadKind {
	return c.traitsAt(index, group).Controller
}

// traitsAt returns the traits of each pod of a group with a load.
func (c *Cluster) traitsAt(index, group int32) Traits {
	if index != asTemplate {
		return c.loads[index].traits
	}
	return traitsOf(c.templates.get(c.groups.get(int(group)).Template).source)
}
