package allocate

import (
	"encoding/binary"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// kindOf returns the kind of a local pool: pools of one kind have the same devices in the same order, but for names.
func (v *Inventory) kindOf(p *Pool) int {
	b := text(nil, p.Driver)
	b = append(b, flag(p.Incomplete), flag(p.Invalid), flag(p.binding))
	for _, c := range p.counters {
		b = binary.AppendVarint(b, c)
	}
	for _, d := range p.Devices {
		b = binary.AppendVarint(append(b, 'd'), int64(d.typ.index))
		b = append(b, flag(d.BindsToNode))
		for i := range d.Attributes {
			b = attribute(b, &d.Attributes[i])
		}
		b = append(b, 't')
		for _, t := range d.Taints {
			b = append(text(text(b, t.Key), t.Value), byte(t.Effect))
		}
		b = append(b, 'c')
		for _, u := range d.uses {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(u.counter)), u.amount)
		}
	}
	if kind, known := v.kinds[string(b)]; known {
		return kind
	}
	kind := len(v.kinds)
	v.kinds[string(b)] = kind
	return kind
}

func attribute(b []byte, a *api.DeviceAttribute) []byte {
	return text(text(append(b, byte(a.Kind)), a.Name), a.Value)
}

func text(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// Key returns what decides about an allocation on a node with these pools, but for names: equal keys have equal outcomes, except
// for errors. All pools must be of this node alone.
func (t *Taken) Key(b []byte, pools []*Pool) []byte {
	for _, p := range pools {
		b = binary.AppendUvarint(append(b, 'p'), uint64(p.kind))
		for _, d := range p.Devices {
			b = append(b, flag(t.Exclusive(d.ID)))
			if use := t.shared[d.ID]; use != nil {
				b = append(b, 2)
				for _, c := range use.consumed {
					b = binary.AppendVarint(text(b, c.Name), c.Value)
				}
				b = append(b, 3)
			}
		}
	}
	return b
}
