package content

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Difference returns a delta that makes c the other content. It returns nil where that would change more than most items, and where no
// delta does: if nodes change their order, or there are fewer templates or classes. The caller must apply the delta to be certain: one
// may be refused because it replaces a template of which nodes that are as before have pods.
func (c *Content) Difference(to *Content, most int) *stowagev1.ClusterDelta {
	d := &stowagev1.ClusterDelta{}
	left := &left{items: most}
	setTemplate := func(i int, raw []byte) bool {
		t := &stowagev1.IndexedPodTemplate{Index: uint32(i), Template: &stowagev1.PodTemplate{}}
		d.PodTemplates = append(d.PodTemplates, t)
		return left.takes(raw, t.Template)
	}
	setClass := func(i int, raw []byte) bool {
		n := &stowagev1.IndexedNodeClass{Index: uint32(i), NodeClass: &stowagev1.NodeClass{}}
		d.NodeClasses = append(d.NodeClasses, n)
		return left.takes(raw, n.NodeClass)
	}
	if !indexed(&c.templates, &to.templates, setTemplate) || !indexed(&c.classes, &to.classes, setClass) || !c.movedNodes(to, d, left) {
		return nil
	}
	if !merged(&c.namespaces, &to.namespaces, namedIdentity, left, &d.Namespaces, func(id identity) {
		d.RemovedNamespaces = append(d.RemovedNamespaces, id.name)
	}) || !merged(&c.selectors, &to.selectors, selectorIdentity, left, &d.WorkloadSelectors, func(id identity) {
		d.RemovedWorkloadSelectors = append(d.RemovedWorkloadSelectors,
			&stowagev1.WorkloadSelectorName{Kind: stowagev1.WorkloadKind(id.kind), Namespace: id.namespace, Name: id.name})
	}) || !merged(&c.budgets, &to.budgets, budgetIdentity, left, &d.PodDisruptionBudgets, func(id identity) {
		d.RemovedPodDisruptionBudgets = append(d.RemovedPodDisruptionBudgets,
			&stowagev1.NamespacedName{Namespace: id.namespace, Name: id.name})
	}) || !merged(&c.groups, &to.groups, namedIdentity, left, &d.PodGroups, func(id identity) {
		d.RemovedPodGroups = append(d.RemovedPodGroups, id.name)
	}) {
		return nil
	}
	return d
}

// left is how many items a difference may still have.
type left struct{ items int }

// takes decodes an item of the difference. It returns false if that is one too many.
func (l *left) takes(raw []byte, into proto.Message) bool {
	l.items--
	return l.items >= 0 && decode(raw, into) == nil
}

// digest returns the digest of the i-th item.
func (l *List) digest(i int) []byte {
	at := i % pageSize * len(Digest{})
	return l.pages[i/pageSize].digests[at : at+len(Digest{})]
}

// equal returns how many items are equal at two positions, as far as it can tell from their pages: a page of them, one, or none.
func equal(a *List, i int, b *List, j int) int {
	if i%pageSize == 0 && j%pageSize == 0 {
		if p, q := a.pages[i/pageSize], b.pages[j/pageSize]; p.digest == q.digest {
			return len(p.items)
		}
	}
	if bytes.Equal(a.digest(i), b.digest(j)) {
		return 1
	}
	return 0
}

// indexed calls set with the items of a list that are new or replaced, until it returns false. It returns false then, and if the list
// has become shorter.
func indexed(from, to *List, set func(i int, raw []byte) bool) bool {
	if to.Len() < from.Len() {
		return false
	}
	for i := 0; i < to.Len(); {
		if i < from.Len() {
			if n := equal(from, i, to, i); n > 0 {
				i += n
				continue
			}
		}
		if !set(i, to.At(i)) {
			return false
		}
		i++
	}
	return true
}

// movedNodes adds the nodes that are removed, changed and added. It returns false if there are too many, or if nodes are in another order.
func (c *Content) movedNodes(to *Content, d *stowagev1.ClusterDelta, left *left) bool {
	set := func(raw []byte) bool {
		n := &stowagev1.Node{}
		d.Nodes = append(d.Nodes, n)
		return left.takes(raw, n)
	}
	from, i, j := &c.nodes, 0, 0
	for i < from.Len() {
		if j < to.nodes.Len() {
			if n := equal(from, i, &to.nodes, j); n > 0 {
				i, j = i+n, j+n
				continue
			}
			if raw := to.nodes.At(j); bytes.Equal(nameOf(from.At(i)), nameOf(raw)) {
				if !set(raw) {
					return false
				}
				i, j = i+1, j+1
				continue
			}
		}
		name := string(nameOf(from.At(i)))
		if _, there := to.Lookup(name); there {
			return false
		}
		if left.items--; left.items < 0 {
			return false
		}
		d.RemovedNodes = append(d.RemovedNodes, name)
		i++
	}
	for ; j < to.nodes.Len(); j++ {
		if !set(to.nodes.At(j)) {
			return false
		}
	}
	return true
}

// merged adds the items of a list in the order of their identities that are new or changed, and calls remove with those that are gone.
// It returns false if there are too many.
func merged[M any, P interface {
	*M
	proto.Message
}](from, to *List, identify func([]byte) identity, left *left, set *[]P, remove func(identity)) bool {
	i, j := 0, 0
	for i < from.Len() || j < to.Len() {
		order := 1 // the item of to comes first
		switch {
		case j == to.Len():
			order = -1
		case i < from.Len():
			if n := equal(from, i, to, j); n > 0 {
				i, j = i+n, j+n
				continue
			}
			order = identify(from.At(i)).compare(identify(to.At(j)))
		}
		if order < 0 {
			if left.items--; left.items < 0 {
				return false
			}
			remove(identify(from.At(i)))
			i++
			continue
		}
		m := P(new(M))
		if *set = append(*set, m); !left.takes(to.At(j), m) {
			return false
		}
		if j++; order == 0 {
			i++
		}
	}
	return true
}
