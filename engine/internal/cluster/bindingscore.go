package cluster

import (
	"math"
	"slices"
)

// use is what claims request of a class on a node, and what is there.
type use struct {
	class               string
	requested, capacity int64
}

// Score returns the score of a node: the mean over the classes of what their volumes or capacities on the node have unused, in percent.
// A node that has a volume for a claim counts volumes alone (volume_binding.go Score, v1.37).
func (b *Binding) Score(node uint32) int64 {
	var static, dynamic []use
	add := func(to []use, class string) ([]use, *use) {
		at := slices.IndexFunc(to, func(u use) bool { return u.class == class })
		if at < 0 {
			at, to = len(to), append(to, use{class: class})
		}
		return to, &to[at]
	}
	for i := range b.claims {
		c := &b.claims[i]
		var u *use
		if v := c.at(node); v != nil {
			static, u = add(static, c.Spec.StorageClassName)
			u.requested, u.capacity = u.requested+c.Spec.Bytes(), u.capacity+v.Capacity
		} else if c.capacities != nil && c.capacities[node] != nil {
			dynamic, u = add(dynamic, c.Spec.StorageClassName)
			u.requested, u.capacity = u.requested+c.Spec.Bytes(), 0
			if of := c.capacities[node].Capacity; of != nil {
				u.capacity = *of
			}
		}
	}
	uses := static
	if len(uses) == 0 {
		uses = dynamic
	}
	if len(uses) == 0 {
		return 0
	}
	sum := int64(0)
	for i := range uses {
		u := &uses[i]
		used := int64(fullUse)
		if u.capacity != 0 && u.requested <= u.capacity {
			used = u.requested * fullUse / u.capacity
		}
		sum += fullUse - used
	}
	return int64(math.Round(float64(sum) / float64(len(uses))))
}

// fullUse is a use in percent. With the default shape a node scores what is left.
const fullUse = 100
