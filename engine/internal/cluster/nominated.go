package cluster

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// nominees are the pods nominated to a node, in the order of the input. Groups do not count nominated pods.
type nominees struct{ pods []NamedPod }

// nomineesColumn is the name of the only sparse column of nominees.
const nomineesColumn = ""

// nominees returns the value of the column of nominees, none without nominated pods.
func (n *Draft) nominees() []named[*nominees] {
	if len(n.nominated) == 0 {
		return nil
	}
	return []named[*nominees]{{nomineesColumn, &nominees{n.nominated}}}
}

// nominatedTo returns the pods that are nominated to a node of the base.
func (b *Builder) nominatedTo(node uint32) []NamedPod {
	column := b.base.nominated[nomineesColumn]
	if at, found := column.Find(node); found {
		return column.Values[at].pods
	}
	return nil
}

// addNominated finds the groups and loads of nominated pods.
func (g *grouping) addNominated(ctx context.Context, n *Draft, pods []api.Pod) error {
	for i := range pods {
		if i%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		n.nominated[i].Group, _, n.nominated[i].load = g.pod(&pods[i])
	}
	return nil
}

// nominating is which pods are nominated by the request, and which pods of the cluster no longer.
type nominating struct {
	nominations []nominations // by node
	// placed counts the assumed pods by namespace and name, if the cluster has nominated pods.
	placed map[podName]int
	// cleared are the nominated pods of the cluster that are nominated no longer, by index in nominees.pods.
	cleared map[namedPod]bool
	// listed is the node of each nominated pod of the cluster, by name; nil until needed.
	listed map[podName]uint32
}

// podName identifies a pod.
type podName struct {
	namespace intern.ID
	name      string
}

// Nominated is a pending pod that is nominated to a node.
type Nominated struct {
	// Group is the pod's group, which does not count it.
	*Group
	Name     string
	Usage    *Usage
	Priority int32

	own   *Nomination // nil for a nominated pod of the cluster
	place int32       // of one of the cluster: index in nominees.pods
}

// Is reports whether the nominated pod is a pending pod. Pods without a name are no nominated pods of the cluster.
func (n *Nominated) Is(p *Pending) bool {
	if n.own != nil {
		return n.own == p.Nomination
	}
	return n.Name != "" && n.Name == p.Name && n.Namespace == p.Namespace
}

// Own returns the nomination of a pod that the request nominated, nil for a nominated pod of the cluster.
func (n *Nominated) Own() *Nomination { return n.own }

// Nomination is a pending pod that the request nominated to a node.
type Nomination struct {
	pod     *Pending
	node    uint32
	assumed int // how often the pod is assumed: it counts as nominated while it is not
	as      *Pending
}

// Node returns the node that the pod is nominated to.
func (n *Nomination) Node() uint32 { return n.node }

// Nominate nominates a pending pod to a node.
func (s *State) Nominate(p *Pending, node uint32) *Nomination {
	s.Expect(p)
	n := &Nomination{pod: p, node: node}
	at, found := s.nominationsTo(node)
	if !found {
		s.nominations = slices.Insert(s.nominations, at, nominations{node: node})
	}
	s.nominations[at].pods = append(s.nominations[at].pods, n)
	s.note(func() { s.withdraw(n) })
	return n
}

// CountAs makes a nominated pod count as another one, nil for itself.
func (s *State) CountAs(n *Nomination, p *Pending) {
	before := n.as
	if n.as = p; p != nil {
		s.Expect(p)
	}
	s.note(func() { n.as = before })
}

// Withdraw ends a nomination of the request.
func (s *State) Withdraw(n *Nomination) {
	i := s.withdraw(n)
	s.note(func() {
		at, found := s.nominationsTo(n.node)
		if !found {
			s.nominations = slices.Insert(s.nominations, at, nominations{node: n.node})
		}
		s.nominations[at].pods = slices.Insert(s.nominations[at].pods, i, n)
	})
}

// withdraw removes a nomination from the nominations of its node, and returns its previous position.
func (s *State) withdraw(n *Nomination) (i int) {
	at, _ := s.nominationsTo(n.node)
	of := &s.nominations[at]
	i = slices.Index(of.pods, n)
	if of.pods = slices.Delete(of.pods, i, i+1); len(of.pods) == 0 {
		s.nominations = slices.Delete(s.nominations, at, at+1)
	}
	return i
}

// WithdrawBelow ends the nominations of the request to a node of pods with a priority below a given one.
func (s *State) WithdrawBelow(node uint32, below int32) {
	at, found := s.nominationsTo(node)
	if !found {
		return
	}
	for _, n := range slices.Clone(s.nominations[at].pods) {
		if n.pod.Spec().Priority < below {
			s.Withdraw(n)
		}
	}
}

// nominations are the pods that the request nominated to a node, at least one.
type nominations struct {
	node uint32
	pods []*Nomination
}

// nominationsTo returns the index of the nominations to a node, and whether there are any.
func (s *State) nominationsTo(node uint32) (int, bool) {
	return slices.BinarySearchFunc(s.nominations, node, func(n nominations, node uint32) int { return cmp.Compare(n.node, node) })
}

// AnyNominations reports whether a pod is nominated by the request.
func (s *State) AnyNominations() bool { return len(s.nominations) > 0 }

// NominatedTo appends the nominated pods of a node with a priority below a given one.
func (s *State) NominatedTo(pods []Nominated, node uint32, below int32) []Nominated {
	for _, n := range s.NominatedFrom(node, node) {
		if n.Priority < below {
			pods = append(pods, n)
		}
	}
	return pods
}

// Clear ends the nomination of a nominated pod of a node of the cluster.
func (s *State) Clear(node uint32, n *Nominated) {
	if s.cleared == nil {
		s.cleared = make(map[namedPod]bool)
	}
	of := namedPod{node, n.place}
	if before := s.cleared[of]; !before {
		s.cleared[of] = true
		s.note(func() { delete(s.cleared, of) })
	}
}

// NominationOf returns the node that the cluster lists a pod as nominated to, if the request has not ended the nomination.
func (s *State) NominationOf(namespace, name string) (node uint32, nominated bool) {
	id, known := s.Symbols.Lookup(namespace)
	if !known || name == "" || s.placed[podName{id, name}] > 0 {
		return 0, false
	}
	if s.listed == nil {
		s.listed = s.nominationsByName()
	}
	node, nominated = s.listed[podName{id, name}]
	return node, nominated
}

func (c *Cluster) nominationsByName() map[podName]uint32 {
	byName := make(map[podName]uint32)
	if column := c.nominated[nomineesColumn]; column != nil {
		for at, of := range column.Values {
			for i := range of.pods {
				p := &of.pods[i]
				byName[podName{c.groups.get(int(p.Group)).Namespace, p.Name}] = column.Nodes[at]
			}
		}
	}
	return byName
}

// Supersede ends the nomination that the cluster states for a pod which the request nominates itself, or not at all.
func (s *State) Supersede(namespace, name string) {
	id := s.Symbols.Intern(namespace)
	s.settle(id, name, 1)
	s.note(func() { s.settle(id, name, -1) })
}

// AnyNominated reports whether any pod is nominated to a node of the cluster, even if the request placed it.
func (c *Cluster) AnyNominated() bool { return len(c.nominated) > 0 }

// NominatedNames returns the names of the nominated pods.
func (c *Cluster) NominatedNames() map[string]bool {
	var names map[string]bool
	if column := c.nominated[nomineesColumn]; column != nil {
		names = make(map[string]bool)
		for _, of := range column.Values {
			for i := range of.pods {
				names[of.pods[i].Name] = true
			}
		}
		delete(names, "")
	}
	return names
}

// Nominated iterates over the nominated pods by node, ascending. Pods on a node are in the order of the request; pods nominated
// during the request come last. Pods that the request assumed are left out: a placed pod is no longer nominated.
func (s *State) Nominated() iter.Seq2[uint32, Nominated] { return s.NominatedFrom(0, math.MaxUint32) }

// CountNominated returns at least how many pods are nominated to the nodes from a first to a last one, and to how many nodes.
func (s *State) CountNominated(first, last uint32) (nodes, pods int) {
	from, _ := s.nominationsTo(first)
	for ; from < len(s.nominations) && s.nominations[from].node <= last; from++ {
		nodes, pods = nodes+1, pods+len(s.nominations[from].pods)
	}
	if column := s.nominated[nomineesColumn]; column != nil {
		at, _ := slices.BinarySearch(column.Nodes, first)
		for ; at < len(column.Nodes) && column.Nodes[at] <= last; at++ {
			nodes, pods = nodes+1, pods+len(column.Values[at].pods)
		}
	}
	return nodes, pods
}

// NominatedFrom is Nominated for the nodes from a first to a last one, without a look at the others.
func (s *State) NominatedFrom(first, last uint32) iter.Seq2[uint32, Nominated] {
	return func(yield func(uint32, Nominated) bool) {
		from, _ := s.nominationsTo(first)
		to, found := s.nominationsTo(last)
		if found {
			to++
		}
		own := s.nominations[from:to]
		yieldOwn := func() bool {
			of := &own[0]
			own = own[1:]
			for _, n := range of.pods {
				p := cmp.Or(n.as, n.pod)
				if n.assumed == 0 && !yield(of.node, Nominated{
					Group: s.Group(p.group), Name: n.pod.Name, Usage: &p.usage, Priority: p.Spec().Priority, own: n,
				}) {
					return false
				}
			}
			return true
		}
		if column := s.nominated[nomineesColumn]; column != nil {
			at, _ := slices.BinarySearch(column.Nodes, first)
			for ; at < len(column.Nodes) && column.Nodes[at] <= last; at++ {
				node := column.Nodes[at]
				for len(own) > 0 && own[0].node < node {
					if !yieldOwn() {
						return
					}
				}
				for i, p := range column.Values[at].pods {
					n := Nominated{Group: s.Group(int(p.Group)), Name: p.Name, place: int32(i)}
					n.Usage, n.Priority = s.loadAt(p.load, p.Group)
					if s.placed[podName{n.Namespace, n.Name}] > 0 || s.cleared[namedPod{node, n.place}] {
						continue
					}
					if !yield(node, n) {
						return
					}
				}
			}
		}
		for len(own) > 0 {
			if !yieldOwn() {
				return
			}
		}
	}
}

// settle counts an assumed pod by its name; with -1 it takes that back.
func (s *State) settle(namespace intern.ID, name string, count int) {
	if len(s.nominated) == 0 || name == "" {
		return
	}
	if s.placed == nil {
		s.placed = make(map[podName]int)
	}
	s.placed[podName{namespace, name}] += count
}
