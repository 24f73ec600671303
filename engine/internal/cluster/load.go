package cluster

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// load is what one pod takes of its node, and its priority.
type load struct {
	Usage
	priority int32
}

// asTemplate is the load of pods that take what their template says.
const asTemplate = -1

// loads finds equal loads of pods that take something else than a template of the cluster says.
type loads struct {
	list  []load
	place map[string]int32 // nil until a load is looked for
}

// find returns the place of a load, a new one if it is new.
func (l *loads) find(u *Usage, priority int32) int32 {
	if l.place == nil {
		l.place = make(map[string]int32, len(l.list))
		for i := range l.list {
			l.place[string(loadKey(nil, &l.list[i].Usage, l.list[i].priority))] = int32(i)
		}
	}
	key := loadKey(make([]byte, 0, 64), u, priority)
	place, ok := l.place[string(key)]
	if !ok {
		place = int32(len(l.list))
		kept := load{*u, priority}
		kept.Scalars = slices.Clone(u.Scalars)
		for i := range kept.Scalars {
			kept.Scalars[i].Resource = strings.Clone(kept.Scalars[i].Resource)
		}
		l.place[string(key)] = place
		l.list = append(l.list, kept)
	}
	return place
}

func loadKey(key []byte, u *Usage, priority int32) []byte {
	key = binary.AppendVarint(key, int64(priority))
	for _, amount := range u.Amounts {
		key = binary.AppendVarint(key, amount)
	}
	for _, amount := range u.Defaulted {
		key = binary.AppendVarint(key, amount)
	}
	for _, q := range u.Scalars {
		key = binary.AppendUvarint(key, uint64(len(q.Resource)))
		key = binary.AppendVarint(append(key, q.Resource...), q.Amount)
	}
	return key
}

// loadOf returns where the load of a pod stands that was stated one by one, and of which the usage is known.
func (g *grouping) loadOf(p *api.Pod, usage *Usage) int32 {
	if p.ResourceStatus == nil && p.TemplateIndex >= 0 && g.c.stated[p.TemplateIndex] == p.Template {
		return asTemplate
	}
	return g.loads.find(usage, p.Template.Spec.Priority)
}

// loadAt returns what each pod of a group takes, and its priority.
func (c *Cluster) loadAt(place, group int32) (*Usage, int32) {
	if place != asTemplate {
		return &c.loads[place].Usage, c.loads[place].priority
	}
	t := &c.templates[c.groups[group].Template]
	return &t.usage, t.stated.Spec.Priority
}
