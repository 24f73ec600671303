package change

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodename"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// addNode looks for a node that takes the pod if there is one more like it: at best in domains that are there already,
// otherwise in a new one of a single key, otherwise in new ones of as few keys as can be told.
func (w *wish) addNode() error {
	like := w.models()
	if len(like) == 0 {
		return nil
	}
	keys := w.dividing()
	keys = keys[:min(len(keys), maxTriedKeys)]
	tries := [][]string{nil}
	for _, key := range keys {
		tries = append(tries, []string{key})
	}
	t := &oneMore{wish: w, like: like}
	for _, fresh := range tries {
		if i, found, err := t.anyLike(fresh); found || err != nil {
			return w.keep(verdict.Change{AddedNode: &verdict.AddedNode{Like: i, NewDomainKeys: fresh}}, []uint32{}, err)
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
	return w.keep(verdict.Change{AddedNode: &verdict.AddedNode{Like: i, NewDomainKeys: keys}}, []uint32{}, nil)
}

// models returns the candidates that a node could be like that takes the pod: those that are likely first, then by index.
// One that has too little of something, or taints, is like no such node.
func (w *wish) models() []uint32 {
	needs := w.rules.Fit.Needs()
	nodes := w.without(func(p *plugin.Plugin) bool {
		return static(p) && p != nodeaffinity.Plugin && p != nodename.Plugin // which look at what a new node has of its own
	})
	var out []uint32
	rank := make(map[uint32]int)
	for n := range nodes.All() {
		if slices.ContainsFunc(needs, func(need rule.Need) bool { return need.Amount > need.Allocatable(n) }) {
			continue
		}
		out = append(out, n)
		switch {
		case refuses(w.refused[nodeaffinity.Plugin], n):
			rank[n] = 2
		case w.refusedByPods(n):
			rank[n] = 1
		}
	}
	slices.SortStableFunc(out, func(a, b uint32) int { return cmp.Compare(rank[a], rank[b]) })
	return out
}

// refusedByPods reports whether a node is rejected because of pods in its topology domains.
func (w *wish) refusedByPods(n uint32) bool {
	for p, refused := range w.refused {
		if !static(p) && p != nodeports.Plugin && p != noderesources.Fit && refuses(refused, n) {
			return true
		}
	}
	return false
}

func refuses(refused nodeset.Set, n uint32) bool { return refused != nil && refused.Has(n) }

// dividing returns the topology keys by which it may matter that a node is a domain of its own.
func (w *wish) dividing() []string {
	var keys []string
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, r := range w.rules.Spread {
		add(r.ID.TopologyKey)
	}
	if a := w.rules.Affinity; a != nil { // which the first pod of its set finds anywhere, if there is the key
		for i := range a.Terms {
			add(a.Terms[i].ID.TopologyKey)
		}
	}
	for _, e := range w.rules.Exclusions {
		if e.Column != nil {
			add(e.ID.TopologyKey)
		}
	}
	return keys
}

// oneMore tries nodes that are like others.
type oneMore struct {
	*wish
	like []uint32

	asked []intern.ID // keys of labels that decide; nil until known
}

// hopeless reports whether a node like another is certainly refused for the domains that it is in.
func (t *oneMore) hopeless(like uint32, fresh []string) bool {
	s := t.State
	return slices.ContainsFunc(t.rules.Exclusions, func(e *rule.Exclusion) bool {
		if e.Column == nil || !e.Rejected().Has(like) || slices.Contains(fresh, e.ID.TopologyKey) {
			return false
		}
		value, _ := s.Label(like, s.Symbols.Intern(e.ID.TopologyKey))
		return s.Symbols.Name(value) != s.Names[like]
	})
}

// anyLike returns the first node such that one more like it takes the pod, with values of its own under some keys.
func (t *oneMore) anyLike(fresh []string) (uint32, bool, error) {
	seen := make(map[string]bool)
	var key []byte
	left := maxTriedNodes
	for _, n := range t.like {
		if t.hopeless(n, fresh) {
			continue
		}
		key = t.appendKey(key[:0], n, fresh)
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		if left--; left < 0 {
			return 0, false, nil
		}
		takes, err := t.takes(n, fresh)
		if takes || err != nil {
			return n, takes, err
		}
	}
	return 0, false, nil
}

// takes decides on the cluster with one node more.
func (t *oneMore) takes(like uint32, fresh []string) (bool, error) {
	s := t.State
	name := unheardOf(func(name string) bool { _, known := s.Symbols.Lookup(name); return known })
	node := s.Like(like, name)
	var own api.Labels
	for _, key := range fresh {
		own = append(own, api.Label{Key: key, Value: name})
	}
	slices.SortFunc(own, func(a, b api.Label) int { return cmp.Compare(a.Key, b.Key) })
	node.Labels = node.Labels.With(own)
	with, err := s.Plus(t.ctx, &node)
	if err != nil {
		return false, err
	}
	last := uint32(with.Len() - 1)
	taking, err := t.taking(with, t.Pod, nodeset.Of(with.Len(), []uint32{last}))
	return taking != nil, err
}

// unheardOf returns a name that nobody knows.
func unheardOf(known func(string) bool) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("\x00new-", i); !known(name) {
			return name
		}
	}
}

// appendKey appends what two nodes have in common only if it makes no difference to the pod which of them one more is
// like.
func (t *oneMore) appendKey(b []byte, n uint32, fresh []string) []byte {
	s := t.State
	if t.asked == nil {
		t.asked = t.askedKeys()
	}
	b = binary.AppendUvarint(b, uint64(s.Taints.Class[n]))
	if s.Unschedulable.Has(n) {
		b = append(b, 1)
	}
	for _, key := range t.asked {
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

// askedKeys returns the keys of the node labels that decide whether a node takes the pod.
func (t *oneMore) askedKeys() []intern.ID {
	keys := []intern.ID{}
	add := func(id intern.ID) {
		if !slices.Contains(keys, id) {
			keys = append(keys, id)
		}
	}
	of := func(key string) { add(t.State.Symbols.Intern(key)) }
	selected := func(n *api.NodeSelector) {
		if n == nil {
			return
		}
		for i := range n.Terms {
			for _, r := range n.Terms[i].MatchExpressions {
				of(r.Key)
			}
		}
	}
	spec := t.Pod.Spec()
	for _, l := range spec.NodeSelector {
		of(l.Key)
	}
	if spec.NodeAffinity != nil {
		selected(spec.NodeAffinity.Required)
	}
	if t.Profile.AddedAffinity != nil {
		selected(t.Profile.AddedAffinity.Required)
	}
	for _, key := range t.dividing() {
		of(key)
	}
	return keys
}
