package provision

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// analysis is the knowledge about pods and templates before placement. Its nodes are the nodes of the cluster, then a first node of
// each template.
type analysis struct {
	kinds  []*kind
	kindOf []*kind // by entry
	pods   int
	target int // pods that are not known to be impossible
	// sound reports whether no sum of amounts overflows, so that free amounts only decrease.
	sound bool
	rows  []row
	apart [][]*kind // kinds that exclude each other: of one topology key, by the first of alone
}

// noApart is the number for a kind that no other one is known to exclude.
const noApart = -1

// kind is the pods of an equivalence class.
type kind struct {
	index  int
	set    int // of the templates that take it
	pod    *cluster.Pending
	pods   int
	needs  []rule.Need
	alone  []*rule.Exclusion // exclusions by which the pod keeps pods of its own kind away
	apart  int               // which kinds that exclude each other it is of, or noApart
	spread []string          // topology keys by which the pods must be apart or spread
	// nodes are the nodes that may take a first pod, judging by their own rules and the pods already there.
	nodes nodeset.Set
	// named reports whether a rule reads the names of nodes, so that a template's first node does not stand for the others.
	named bool
	// impossible reports whether no node takes any of the pods, whatever is added, and whatever is placed before.
	impossible bool
}

// The amounts of a pod and of a node with its pods up to which no sum overflows. There are fewer than 2^20 pods.
const (
	maxPodAmount  = 1 << 42
	maxNodeAmount = 1 << 61
)

// analyse finds out on which nodes the pods of the queue may be placed.
func (s *solver) analyse(ctx context.Context) (*analysis, error) {
	firsts := make([]api.Node, len(s.Templates))
	for t := range s.Templates {
		firsts[t] = s.Node(t, 0)
	}
	c, candidates, err := s.with(ctx, firsts)
	if err != nil {
		return nil, err
	}
	q, err := place.New(ctx, s.Framework, cluster.NewState(ctx, c), candidates, s.Queue, place.Options{Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	a := &analysis{kindOf: make([]*kind, len(s.Queue)), sound: true}
	byClass := make(map[*place.Class]*kind)
	for e, class := range q.Classes {
		count := s.Queue[e].Count
		if a.pods += count; count == 0 {
			continue
		}
		k := byClass[class]
		if k == nil {
			if k, err = s.kindFrom(ctx, q, class, c); err != nil {
				return nil, err
			}
			k.index, byClass[class] = len(a.kinds), k
			a.kinds = append(a.kinds, k)
		}
		k.pods += count
		a.kindOf[e] = k
	}
	checked, shared := make(map[string]bool), sharing()
	for _, k := range a.kinds {
		a.sound = a.sound && k.bounded(c.Len(), checked)
	}
	for _, k := range a.kinds {
		if k.narrow(a.sound); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		k.nodes = shared(k.nodes)
		k.impossible = !k.named && k.nodes.Empty()
		if !k.impossible {
			a.target += k.pods
		}
	}
	if err := a.separate(ctx); err != nil {
		return nil, err
	}
	a.rows, err = s.rowsOf(ctx, a)
	return a, err
}

// maxCompared bounds the pairs of kinds that are compared for exclusion. Kinds beyond it are apart from none.
const maxCompared = 1 << 20

// separate finds kinds that exclude each other, every two of them, so that a domain has at most one of their pods.
func (a *analysis) separate(ctx context.Context) error {
	compared := 0
	for _, k := range a.kinds {
		k.apart = noApart
		if len(k.alone) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		excludes := func(o *kind) bool {
			compared++
			return o.alone[0].Column == k.alone[0].Column && (k.alone[0].Excludes(o.pod) || o.alone[0].Excludes(k.pod))
		}
		for i, others := range a.apart {
			if compared > maxCompared {
				break
			}
			if !slices.ContainsFunc(others, func(o *kind) bool { return !excludes(o) }) {
				k.apart = i
				break
			}
		}
		if k.apart == noApart {
			k.apart = len(a.apart)
			a.apart = append(a.apart, nil)
		}
		a.apart[k.apart] = append(a.apart[k.apart], k)
	}
	return nil
}

// mostApart returns how many pods of kinds that exclude each other a node takes at most.
func (a *analysis) mostApart(number int, node uint32) (pods int64) {
	for _, k := range a.apart[number] {
		most := int64(k.most(node))
		if most == 0 {
			continue
		}
		if _, in := k.alone[0].Domain(node); in {
			pods = max(pods, 1)
		} else if pods += most; pods > maxAmount {
			return maxAmount
		}
	}
	return pods
}

// sharing returns a function that returns equal sets as one, as there may be many kinds with few sets. It keeps digests of sets,
// as there may be many large sets, too.
func sharing() func(nodeset.Set) nodeset.Set {
	sets := make(map[digest]nodeset.Set)
	var key []byte
	return func(set nodeset.Set) nodeset.Set {
		key = key[:0]
		for _, word := range set {
			key = binary.LittleEndian.AppendUint64(key, word)
		}
		of := sha256.Sum256(key)
		if same, known := sets[of]; known {
			return same
		}
		sets[of] = set
		return set
	}
}

// digest stands for a key that may be large.
type digest = [sha256.Size]byte

// kindFrom analyses an equivalence class. nodes are not narrowed yet.
func (s *solver) kindFrom(ctx context.Context, q *place.Queue, class *place.Class, c *cluster.Cluster) (*kind, error) {
	d := q.Decision(class)
	rules := d.Rules()
	devices := q.State.DeviceNeeds(class.Pod)
	if devices != nil && !devices.Final {
		others := *rules
		others.Static = slices.DeleteFunc(slices.Clone(rules.Static), func(r rule.Static) bool { return r.ID.Plugin == verdict.DynamicResources })
		rules = &others
	}
	k := &kind{pod: class.Pod, nodes: nodeset.New(c.Len()), named: s.readsNames(class.Pod.Spec())}
	if static := q.Static(d, rules); static != nil {
		k.nodes = static
	}
	if rules.Fit != nil {
		k.needs = rules.Fit.Needs()
	}
	if devices != nil {
		k.needs = slices.Clip(k.needs)
		for _, n := range devices.Counts {
			k.needs = append(k.needs, rule.NeedOf("\x00"+n.Key, n.Devices, n.Free))
		}
	}
	for _, e := range rules.Exclusions {
		if e.Column == nil {
			k.nodes.AndNot(e.Rejected())
		}
		if e.Excludes != nil && e.Excludes(class.Pod) {
			k.alone = append(k.alone, e)
		}
	}
	spec := class.Pod.Spec()
	add := func(key string) {
		if key != hostnameKey && !slices.Contains(k.spread, key) {
			k.spread = append(k.spread, key)
		}
	}
	for i := range spec.Spread {
		if !spec.Spread[i].ScheduleAnyway {
			add(spec.Spread[i].TopologyKey)
		}
	}
	if spec.PodAntiAffinity != nil {
		for i := range spec.PodAntiAffinity.Required {
			add(spec.PodAntiAffinity.Required[i].TopologyKey)
		}
	}
	class.Decision = nil // it takes memory
	return k, ctx.Err()
}

// narrow removes the nodes without room. If sums may overflow, a node may have more room later.
func (k *kind) narrow(sound bool) {
	if !sound {
		return
	}
	for n := range k.nodes.All() {
		for i := range k.needs {
			if k.needs[i].Amount > k.needs[i].Room(n) {
				k.nodes.Remove(n)
				break
			}
		}
	}
}

// bounded reports whether no sum of amounts overflows that has to do with the kind. checked are the resources whose nodes are
// known to be bounded.
func (k *kind) bounded(nodes int, checked map[string]bool) bool {
	usage := k.pod.Usage()
	within := func(amount, most int64) bool { return 0 <= amount && amount <= most }
	for _, amount := range usage.Amounts {
		if !within(amount, maxPodAmount) {
			return false
		}
	}
	for _, q := range usage.Scalars {
		if !within(q.Amount, maxPodAmount) {
			return false
		}
	}
	for i := range k.needs {
		if !within(k.needs[i].Amount, maxPodAmount) {
			return false
		}
		if checked[k.needs[i].Resource] {
			continue
		}
		checked[k.needs[i].Resource] = true
		for n := range uint32(nodes) {
			allocatable := k.needs[i].Allocatable(n)
			if !within(allocatable, maxNodeAmount) || !within(allocatable-k.needs[i].Room(n), maxNodeAmount) {
				return false
			}
		}
	}
	return true
}

// each returns what each pod takes at least of a needed amount.
func (k *kind) each(n *rule.Need) int64 { return n.Each(k.pod.Usage()) }

// most returns how many pods of the kind a node takes at most.
func (k *kind) most(node uint32) int {
	if !k.nodes.Has(node) {
		return 0
	}
	fit := int64(k.pods)
	for i := range k.needs {
		need := &k.needs[i]
		if each := k.each(need); each > 0 {
			fit = min(fit, max(0, need.Room(node))/each)
		}
	}
	for _, e := range k.alone {
		if _, in := e.Domain(node); in {
			fit = min(fit, 1)
		}
	}
	return int(fit)
}

// readsNames reports whether a rule of a pod reads names of nodes, or labels with them.
func (s *solver) readsNames(spec *api.PodSpec) bool {
	reads := func(a *api.NodeAffinity) bool {
		if a == nil || a.Required == nil {
			return false
		}
		return slices.ContainsFunc(a.Required.Terms, func(t api.NodeSelectorTerm) bool {
			return len(t.MatchFields) > 0 ||
				slices.ContainsFunc(t.MatchExpressions, func(r api.Requirement) bool { return s.nameKeys[r.Key] })
		})
	}
	return spec.NodeName != "" || reads(spec.NodeAffinity) || reads(s.Profile.AddedAffinity) ||
		slices.ContainsFunc(spec.NodeSelector, func(l api.Label) bool { return s.nameKeys[l.Key] })
}

// first returns the index of a template's first node in the analysis.
func (s *solver) first(t int) uint32 { return uint32(s.base.Len() + t) }

// takes reports whether new nodes of a template take pods of a kind, as far as is known.
func (s *solver) takes(t int, k *kind) bool { return k.nodes.Has(s.first(t)) }

// value returns the value of a label of a template's nodes, empty for none.
func (s *solver) value(t int, key string) string {
	value, _ := s.classes[t].Labels.Get(key)
	return value
}

// domains returns a key by template that distinguishes topology domains, for the topology keys that rules of the queue's pods read.
func (s *solver) domains() func(t int) string {
	var keys []string
	for _, k := range s.kinds {
		keys = append(keys, k.spread...)
		if a := k.pod.Spec().PodAffinity; a != nil {
			for i := range a.Required {
				keys = append(keys, a.Required[i].TopologyKey)
			}
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return func(t int) string {
		var b strings.Builder
		for _, key := range keys {
			b.WriteString(s.value(t, key) + "\x00")
		}
		return b.String()
	}
}

// unplaced returns the kinds with unplaced pods that are not known to be impossible.
func (s *solver) unplaced(t *trial) (kinds []*kind) {
	for _, k := range s.kinds {
		if t.left[k.index] > 0 && !k.impossible {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
