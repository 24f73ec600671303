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

// Scores sets the scores of nodes, which are 0: the mean over the classes of what their volumes or capacities on the node have unused, in
// percent. A node that has a volume for a claim counts volumes alone (volume_binding.go Score, v1.37).
func (b *Binding) Scores(nodes []uint32, scores []int64) {
	if !slices.ContainsFunc(b.claims, func(c boundTo) bool { return c.found != nil || c.capacities != nil }) {
		return
	}
	var static, dynamic []use
	for i, node := range nodes {
		static, dynamic = b.usesOn(node, static[:0], dynamic[:0])
		uses := static
		if len(uses) == 0 {
			uses = dynamic
		}
		if len(uses) == 0 {
			continue
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
		scores[i] = int64(math.Round(float64(sum) / float64(len(uses))))
	}
}

// usesOn appends what the claims use of volumes on a node, and of capacities.
func (b *Binding) usesOn(node uint32, static, dynamic []use) (ofVolumes, ofCapacities []use) {
	for i := range b.claims {
		c := &b.claims[i]
		if v := c.at(node); v != nil {
			u := useOf(&static, c.Spec.StorageClassName)
			u.requested, u.capacity = u.requested+c.Spec.Bytes(), u.capacity+v.Capacity
		} else if c.capacities != nil && c.capacities[node] != nil {
			u := useOf(&dynamic, c.Spec.StorageClassName)
			u.requested, u.capacity = u.requested+c.Spec.Bytes(), 0
			if of := c.capacities[node].Capacity; of != nil {
				u.capacity = *of
			}
		}
	}
	return static, dynamic
}

// useOf returns the use of a class in a list. It adds a missing one.
func useOf(list *[]use, class string) *use {
	at := slices.IndexFunc(*list, func(u use) bool { return u.class == class })
	if at < 0 {
		at, *list = len(*list), append(*list, use{class: class})
	}
	return &(*list)[at]
}

// fullUse is a use in percent. With the default shape a node scores what is left.
const fullUse = 100
