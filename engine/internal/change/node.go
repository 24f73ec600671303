package change

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodename"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeunschedulable"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// addNode looks for a node whose copy is feasible. It prefers a copy in existing domains, then one in a new domain of a
// single key, then one in new domains of a minimal set of keys.
func (s *search) addNode() error {
	like := s.models()
	if len(like) == 0 {
		return nil
	}
	keys := s.topologyKeys()
	keys = keys[:min(len(keys), maxTriedKeys)]
	tries := [][]string{nil}
	for _, key := range keys {
		tries = append(tries, []string{key})
	}
	t := &extraNode{search: s, like: like, keys: s.labelKeys()}
	for _, fresh := range tries {
		if i, found, err := t.anyLike(fresh); found || err != nil {
			return t.add(i, fresh, err)
		}
	}
	if len(keys) < 2 {
		return nil
	}
	i, found, err := t.anyLike(keys)
	if !found || err != nil {
		return err
	}
	for k := 0; k < len(keys); {
		without := slices.Delete(slices.Clone(keys), k, k+1)
		other, found, err := t.anyLike(without)
		if err != nil {
			return err
		}
		if found {
			i, keys = other, without
		} else {
			k++
		}
	}
	return t.add(i, keys, nil)
}

// models returns the nodes to copy, likely ones first. Nodes with too little allocatable beside the pods that a copy brings, or whose
// static properties reject the pod, are no models. The state of a node is not copied.
func (s *search) models() []*model {
	needs := s.rules.Fit.Needs()
	nodes := s.passing(func(p *plugin.Plugin) bool {
		switch p {
		case nodeaffinity.Plugin, nodename.Plugin, nodeunschedulable.Plugin, tainttoleration.Plugin: // a copy has a name of its own
			return false
		}
		return p.Static
	})
	var out []*model
	for n := range nodes.All() {
		if !s.tolerates(n) {
			continue
		}
		m := &model{node: n, tied: s.State.Tied(n)}
		if s.keepAssumed { // they are of the question, and do not come to a further node by themselves
			m.tied = slices.DeleteFunc(m.tied, func(o cluster.Occupant) bool { return o.Queue >= 0 })
		}
		if slices.ContainsFunc(needs, func(need rule.Need) bool { return need.Amount > need.Allocatable(n)-m.uses(need.Resource) }) {
			continue
		}
		out = append(out, m)
		switch {
		case has(s.rejected[nodeaffinity.Plugin], n):
			m.rank = 2
		case s.rejectedByPods(n):
			m.rank = 1
		}
	}
	slices.SortStableFunc(out, func(a, b *model) int { return cmp.Compare(a.rank, b.rank) })
	return out
}

// model is a node to copy, the likelier the lower its rank, with the pods that the copy has, too.
type model struct {
	node uint32
	tied []cluster.Occupant
	rank int
}

// uses returns what the pods of a copy use of a resource.
func (m *model) uses(resource string) int64 {
	all := int64(0)
	for i := range m.tied {
		all = saturating.Add(all, saturating.Mul(m.tied[i].Uses(resource), int64(m.tied[i].Count)))
	}
	return all
}

// tolerates reports whether the pod tolerates the taints of a node that are not its state.
func (s *search) tolerates(n uint32) bool {
	if _, enabled := s.rejected[tainttoleration.Plugin]; !enabled || !has(s.rejected[tainttoleration.Plugin], n) {
		return true
	}
	taints := tainttoleration.Untolerated(s.State.TaintsOf(n), s.Pod.Spec().Tolerations, s.Profile)
	return len(cluster.WithoutStates(taints)) == 0
}

// rejectedByPods reports whether pods in its topology domains make a node infeasible.
func (s *search) rejectedByPods(n uint32) bool {
	for p, rejected := range s.rejected {
		if !p.Static && p != nodeports.Plugin && p != noderesources.Fit && has(rejected, n) {
			return true
		}
	}
	return false
}

func has(set nodeset.Set, n uint32) bool { return set != nil && set.Has(n) }

// topologyKeys returns the topology keys under which a new domain may matter, and that nodes may have.
func (s *search) topologyKeys() []string {
	var ids []verdict.PodRule
	for _, r := range s.rules.Spread {
		ids = append(ids, r.ID)
	}
	if a := s.rules.Affinity; a != nil {
		for i := range a.Terms {
			ids = append(ids, a.Terms[i].ID)
		}
	}
	s.rules.EachExclusion(false, func(e *rule.Exclusion) { ids = append(ids, e.ID) })
	for _, k := range s.rules.Others {
		ids = append(ids, k.Rule())
	}
	var keys []string
	for _, id := range ids {
		if !slices.Contains(keys, id.TopologyKey) && selector.IsLabel(id.TopologyKey, "") {
			keys = append(keys, id.TopologyKey)
		}
	}
	return keys
}

// extraNode tries copies of nodes.
type extraNode struct {
	*search
	like []*model

	keys []intern.ID // of the labels that the pod's rules read
}

// add adds a copy of a node as a change.
func (t *extraNode) add(like *model, fresh []string, err error) error {
	if err != nil {
		return err
	}
	return t.search.add(Found{
		Change: verdict.Change{AddedNode: &verdict.AddedNode{Like: like.node, NewDomainKeys: fresh}},
		Copy:   t.copyOf(like.node, fresh), Tied: like.tied,
	}, []uint32{}, nil)
}

// surelyRejected reports whether anti-affinity rejects the copy of a node because of its existing domains.
func (t *extraNode) surelyRejected(like uint32, fresh []string) bool {
	s := t.State
	return slices.ContainsFunc(t.rules.Exclusions, func(e *rule.Exclusion) bool {
		if e.Column == nil || !e.Rejected().Has(like) || slices.Contains(fresh, e.ID.TopologyKey) {
			return false
		}
		value, _ := s.Label(like, s.Symbols.Intern(e.ID.TopologyKey))
		return s.Symbols.Name(value) != s.Names[like]
	})
}

// anyLike returns the first node whose copy is feasible with new values of some keys.
func (t *extraNode) anyLike(fresh []string) (*model, bool, error) {
	seen := make(map[string]bool)
	var key []byte
	left := maxTriedNodes
	for _, m := range t.like {
		if t.surelyRejected(m.node, fresh) {
			continue
		}
		key = t.appendKey(key[:0], m, fresh)
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		if left--; left < 0 {
			return nil, false, nil
		}
		takes, err := t.takes(m, fresh)
		if takes || err != nil {
			return m, takes, err
		}
	}
	return nil, false, nil
}

// copyOf returns a copy of a node, with new values of some keys.
func (t *extraNode) copyOf(like uint32, fresh []string) *cluster.Copy {
	s := t.State
	name := "\x00new-0" // unknown to the cluster
	for i := 1; known(s.Symbols, name); i++ {
		name = fmt.Sprint("\x00new-", i)
	}
	c := &cluster.Copy{Of: like, Name: name}
	for _, key := range slices.Sorted(slices.Values(fresh)) {
		c.Labels = append(c.Labels, api.Label{Key: key, Value: name})
	}
	return c
}

// takes reports whether the copy of a node is feasible.
func (t *extraNode) takes(like *model, fresh []string) (bool, error) {
	with, err := t.State.Plus(t.ctx, t.copyOf(like.node, fresh), like.tied)
	if err != nil {
		return false, err
	}
	last := uint32(with.Len() - 1)
	feasible, err := t.firstFeasible(with, t.Pod, nodeset.Of(with.Len(), []uint32{last}))
	return feasible != nil, err
}

func known(symbols *intern.Table, name string) bool {
	_, ok := symbols.Lookup(name)
	return ok
}

// appendKey appends a key of a node. Copies of nodes with equal keys are equally feasible for the pod.
func (t *extraNode) appendKey(b []byte, m *model, fresh []string) []byte {
	s, n := t.State, m.node
	b = s.Devices().Inventory().AppendKinds(s.AppendFields(b, n), s.Names[n])
	b = binary.AppendUvarint(b, uint64(len(m.tied)))
	for i := range m.tied {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(m.tied[i].Group)), uint64(m.tied[i].Count))
	}
	for _, key := range t.keys {
		if slices.Contains(fresh, s.Symbols.Name(key)) {
			continue
		}
		switch value, has := s.Label(n, key); {
		case !has:
			b = append(b, 0)
		case s.Symbols.Name(value) == s.Names[n]:
			b = append(b, 1)
		default:
			b = binary.AppendUvarint(append(b, 2), uint64(value))
		}
	}
	return b
}

// labelKeys returns the keys of the node labels that the pod's rules read.
func (s *search) labelKeys() []intern.ID {
	keys := s.topologyKeys()
	spec := s.Pod.Spec()
	for _, l := range spec.NodeSelector {
		keys = append(keys, l.Key)
	}
	for _, a := range []*api.NodeAffinity{spec.NodeAffinity, s.Profile.AddedAffinity} {
		if a == nil || a.Required == nil {
			continue
		}
		for i := range a.Required.Terms {
			for _, r := range a.Required.Terms[i].MatchExpressions {
				keys = append(keys, r.Key)
			}
		}
	}
	var ids []intern.ID
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		ids = append(ids, s.State.Symbols.Intern(key))
	}
	return ids
}
