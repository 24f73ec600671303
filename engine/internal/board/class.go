package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// Class is the board's view of one equivalence class.
type Class struct {
	board *Board
	cycle *plugin.Cycle
	rules *rule.Set
	// soft are the soft constraints. They score the nodes of scorable.
	soft      []podtopologyspread.Soft
	scorable  nodeset.Set
	preferred *interpodaffinity.Preferred

	buckets
	cellScores
	classKeys

	values  []int64        // of the current node
	moving  []columnDomain // domains whose nodes CatchUp moves
	touched []uint32       // nodes that CatchUp settles
	position
	// effects are what pods of the groups in counting add, and effectOf their indexes by group.
	effects  [][]int64
	effectOf map[int]int32
	counting nodeset.Set
	// anyRejected is set if a bucket is infeasible, rejected[cell] if a bucket of the cell is.
	anyRejected bool
	rejected    []byte
	present     []presence  // for soft constraints by value
	counted     nodeset.Set // the nodes of present
}

// buckets are the nodes of a class. base has all nodes in buckets by cell. Classes share it. own has the nodes of this class with
// unusual values; nil if the class has no values and removes no nodes. removed are the nodes of base that are in own or infeasible;
// removedLive[i] of bucket i have room. When Best has passed many removed nodes, absorb moves all nodes to own and sets base to nil.
type buckets struct {
	base, own   *index
	nodes       nodeset.Set // of base
	removed     nodeset.Set
	removedLive []int32
	discounted  nodeset.Set // the nodes in removedLive
	usual       []int64
	misses      int // removed nodes that Best passed in base
}

// position is up to where a class has counted, and what it cannot count beyond that.
type position struct {
	at     *cluster.Move
	groups int // how many groups the state had
	// revision is the state's then. While it stays, pods have come, and nothing else.
	revision int
	cordons  Cordons
	// revisable is set if the class counts pods that leave, and what is undone. Without that it counts less.
	revisable, stale bool
}

// Cordons is what the nodes that a state cordons are to a class.
type Cordons struct {
	// Close is set if they have no room, and Count if more than the nodes themselves depends on them.
	Close, Count bool
}

// cellScores are the scores of static plugins by cell; nil if all are equal.
type cellScores struct {
	taints, affinity, images []int64
	scored                   []bool // whether soft constraints score the cell
}

// classKeys are the keys by kind: of rules.Spread, soft, terms, rules.Exclusions, rules.Others and the tallies of preferred.
type classKeys struct {
	terms                                                            []*rule.Term // of rules.Affinity
	keys                                                             []key
	spreadKeys, softKeys, affinityKeys, exclusionKeys, preferredKeys []key
	valued                                                           []*key // by value of buckets
}

// Class returns the view of a cycle's pod. The rules are compiled against the current state. nodes are the nodes that pass PreFilter
// and the static rules.
func (b *Board) Class(c *plugin.Cycle, rules *rule.Set, nodes nodeset.Set, cordons Cordons) *Class {
	rules.CountPods()
	cl := &Class{board: b, cycle: c, rules: rules, preferred: interpodaffinity.NewPreferred(c)}
	_, groups := c.State.Added()
	cl.position = position{at: c.State.LastMove(), groups: groups, revision: c.State.Revision(), cordons: cordons, revisable: c.State.Revision() > 0}
	cl.soft, cl.scorable = podtopologyspread.NewSoft(c)
	for _, r := range rules.Spread {
		nodes = plugin.Both(nodes, r.Column.Having)
	}
	if a := rules.Affinity; a != nil {
		for i := range a.Terms {
			cl.terms = append(cl.terms, &a.Terms[i])
		}
	}
	cl.findKeys()
	cells := cl.divide()
	for i := range cl.exclusionKeys {
		if cl.revisable || cl.exclusionKeys[i].cells != nil { // otherwise a rule removes nodes for good
			rules.Exclusions[i].Counts()
		}
	}
	cl.findEffects()
	r := b.resourcesOf(c, rules.Fit)
	r.catchUp(b)
	cl.base, cl.nodes = b.shared(indexKey{r, cells, cordons.Close}, nodes), nodes
	cl.base.catchUp()
	removes := func(k key) bool { return k.removes && k.cells == nil }
	if len(cl.valued) > 0 || slices.ContainsFunc(cl.keys, removes) {
		cl.takeOut()
	}
	b.bytes += 128 * int64(len(cl.effects))
	for i := range cl.keys {
		if k := &cl.keys[i]; k.counts != nil {
			b.bytes += 8 * int64(len(k.counts()))
		}
	}
	for _, e := range rules.Exclusions {
		b.bytes += e.Bytes()
	}
	return cl
}

// shared returns the index of nodes by cell.
func (b *Board) shared(of indexKey, nodes nodeset.Set) *index {
	for _, x := range b.indexes[of] {
		if slices.Equal(x.nodes, nodes) {
			return x
		}
	}
	x := newIndex(b, of, nodes.Indexes(), 0, nil)
	x.nodes = nodes
	b.indexes[of] = append(b.indexes[of], x)
	b.bytes += int64(len(b.all)) * 12
	return x
}

// resources returns the scores of the class's request.
func (cl *Class) resources() *resources {
	if cl.base != nil {
		return cl.base.resources
	}
	return cl.own.resources
}

// Scored reports whether kube-scheduler accepts all scores so far. It fails to score a pod where its integers overflow,
// and Best ignores that.
func (cl *Class) Scored() bool {
	return !cl.resources().invalid
}

// takeOut moves the unusual nodes to own.
func (cl *Class) takeOut() {
	b := cl.board
	cl.values = make([]int64, len(cl.valued))
	occupied, unusual := cl.occupied(), cl.unusual()
	unusual.And(cl.nodes)
	unusual.AndNot(occupied)
	cl.own = newIndex(b, cl.base.kind(), unusual.Indexes(), len(cl.valued), cl.valuesOf)
	cl.removed, cl.discounted, cl.removedLive = nodeset.New(len(b.all)), nodeset.New(len(b.all)), make([]int32, len(cl.base.buckets))
	unusual.Or(occupied)
	for n := range unusual.All() {
		cl.setRemoved(n, true)
	}
	b.bytes += int64(len(b.all)) * 4
	cl.countPresent()
}

// absorb moves the nodes of base to own.
func (cl *Class) absorb() {
	var nodes []uint32
	for _, n := range cl.board.all {
		if cl.live(n) {
			nodes = append(nodes, n)
		}
	}
	cl.own = newIndex(cl.board, cl.base.kind(), nodes, cl.own.width, cl.valuesOf)
	cl.base, cl.removed, cl.discounted, cl.removedLive = nil, nil, nil, nil
	cl.board.bytes += int64(len(cl.board.all)) * 8
}

// live reports whether a node has room and has not been dropped.
func (cl *Class) live(n uint32) bool {
	return cl.own != nil && cl.own.bucketOf[n] > 0 || cl.base != nil && cl.base.bucketOf[n] > 0 && !cl.removed.Has(n)
}
