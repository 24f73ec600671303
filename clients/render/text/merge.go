package text

import (
	"cmp"
	"fmt"
	"slices"
)

// merged makes fewer boxes of more nodes than a column takes: one for nodes that have equal pods and are as full. If these are still
// more, nodes that are about as full are one box, in quarters of what they have.
func merged(boxes []box) []box {
	if len(boxes) <= maximumNodes {
		return boxes
	}
	out := grouped(boxes, false, func(b *box) string {
		return fmt.Sprint(b.shares.text(), b.added.alike(), b.there.alike(), b.gone.alike())
	})
	if len(out) <= maximumNodes {
		return out
	}
	out = grouped(boxes, true, func(b *box) string { return fmt.Sprint(b.quarter()) })
	slices.SortStableFunc(out, func(a, b box) int { return cmp.Compare(a.quarter(), b.quarter()) })
	return out
}

// grouped merges the boxes with one key, in the order of their first ones. about is whether they differ in their pods.
func grouped(boxes []box, about bool, key func(*box) string) []box {
	var order []string
	members := map[string][]box{}
	for i := range boxes {
		k := key(&boxes[i])
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], boxes[i])
	}
	var out []box
	for _, k := range order {
		out = append(out, joined(members[k], about))
	}
	return out
}

// joined makes one box. Boxes that are alike keep the pods of each node.
func joined(boxes []box, about bool) box {
	if len(boxes) == 1 {
		return boxes[0]
	}
	out := box{about: about, shares: boxes[0].shares}
	if !about {
		out.added, out.there, out.gone = boxes[0].added, boxes[0].there, boxes[0].gone
	}
	for i := range boxes {
		b := &boxes[i]
		out.nodes = append(out.nodes, b.nodes...)
		if !about {
			continue
		}
		out.added.merge(&b.added)
		out.there.merge(&b.there)
		out.gone.merge(&b.gone)
		out.shares = out.shares.with(b.shares)
	}
	return out
}

// quarter is the quarter of its scarcer resource up to which a node is full, -1 if that is not known.
func (b *box) quarter() int {
	most := b.shares.most()
	if most < 0 {
		return -1
	}
	return min(most, 99) / 25
}
