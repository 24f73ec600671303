package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/memo"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Builder compiles a cluster part by part, from nothing or from a base that stays unchanged. Templates and classes come
// before the nodes that refer to them. The builder keeps them, so they must not change. It keeps nothing of a node: the
// node's memory may be overwritten once AddNode returns.
//
// A Builder is for one goroutine.
type Builder struct {
	c, base *Cluster
	kinds   map[*api.NodeClass]int32
	pods    grouping
	scalars sparseEdit[Amount]
	images  sparseEdit[int64]
	// nominees is the column of Cluster.nominated.
	nominees sparseEdit[*nominees]
	labels   arena[selector.Label]
	numbers  arena[int32] // of drafts
	prepare  func(*Draft, *api.Node)
	draft    Draft

	// The differences from the base. Nodes with other labels, in relabelled, kept their indexes.
	relabelled     []uint32
	recounts       []recount
	added, removed bool     // whether nodes are added, removed
	replaced       bool     // whether nodes are replaced
	beyondNodes    bool     // whether the change concerns anything but nodes
	touched        []uint32 // nodes of the base of which put has set something
	storage        api.StorageChange
}

// NewBuilder returns a builder of an empty cluster. Its nodes have more fields than others.
func NewBuilder(more ...AnyField) *Builder {
	empty := &Cluster{
		symbols:   intern.New(),
		kinds:     []*kind{{class: noClass}},
		resources: &Resources{Scalars: make(map[string]*Scalar)},

		objects: objects{byName: make(map[intern.ID]selector.Labels), workloads: newWorkloads(), storage: noStorage, devices: noDevices},
	}
	for _, f := range slices.Concat(fields, more) {
		empty.fields = append(empty.fields, f.column())
	}
	b := derive(empty)
	b.c.symbols = b.base.symbols
	return b.forManyNodes()
}

// derive returns a builder that changes what base has. The cluster shares columns with base until they change.
func derive(base *Cluster) *Builder {
	c := *base
	c.symbols = intern.Extend(base.symbols)
	c.Names, c.Unschedulable = slices.Clip(base.Names), base.Unschedulable.Clone()
	resources := *base.resources
	c.resources = &resources
	c.fields = make([]numbered, len(base.fields))
	for i, f := range base.fields {
		c.fields[i] = f.derive()
	}
	for p := range c.paged() {
		p.share()
	}
	c.kinds = slices.Clone(base.kinds)
	c.templates.share()
	c.groups.share()
	b := &Builder{
		c:       &c,
		base:    base,
		kinds:   make(map[*api.NodeClass]int32, len(c.kinds)),
		scalars: newSparseEdit(base.resources.Scalars),
		images:  sparseEdit[int64]{base: base.images, own: make(map[string]*Sparse[int64]), moved: base.imagesMoved},

		nominees: newSparseEdit(base.nominated),
		pods: grouping{
			c: &c, own: make(map[indexed]*ownTemplate), loads: distinct[load]{list: slices.Clip(base.loads), key: loadKey},
		},
	}
	b.prepare = b.preparer(1)
	for i, k := range c.kinds {
		if k != nil {
			b.kinds[k.class] = int32(i)
		}
	}
	return b
}

// forManyNodes makes the builder allocate memory for many nodes at a time.
func (b *Builder) forManyNodes() *Builder {
	b.labels.chunk, b.numbers.chunk, b.pods.arena.chunk = 1024, 256, 4096
	b.prepare = b.Preparer()
	return b
}

// Fork returns a builder with everything that b has except nodes. Nothing may be added to b afterwards, and no templates,
// classes, namespaces or selectors to the fork. Forks of one builder may be made and used concurrently.
func (b *Builder) Fork() *Builder { return derive(b.c).forManyNodes() }

// Grow reserves memory for additional nodes.
func (b *Builder) Grow(nodes int) {
	c := b.c
	c.Names = slices.Grow(c.Names, nodes)
	for p := range c.paged() {
		p.grow((nodes + PageNodes - 1) / PageNodes)
	}
	c.symbols.Grow(nodes)
}

// AddTemplate adds the next pod template.
func (b *Builder) AddTemplate(t *api.PodTemplate) {
	b.c.podTemplates = append(b.c.podTemplates, t)
	b.c.templates.append(b.pods.compiled(t, b.c.templates.len()))
}

// AddClass adds the next node class.
func (b *Builder) AddClass(class *api.NodeClass) {
	b.c.classes = append(b.c.classes, class)
	b.kind(class)
}

// kind returns the kind of a class. It compiles a new one.
func (b *Builder) kind(class *api.NodeClass) int32 {
	if class == nil {
		return 0
	}
	i, ok := b.kinds[class]
	if !ok {
		i = int32(len(b.c.kinds))
		b.c.kinds = append(b.c.kinds, compileKind(b.c.symbols, class))
		b.kinds[class] = i
	}
	return i
}

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(ns api.Namespace) {
	compiled := namespace{b.c.symbols.Intern(ns.Name), selector.CompileLabels(b.c.symbols, ns.Labels)}
	b.c.namespaces = append(b.c.namespaces, compiled)
	b.c.byName[compiled.name] = compiled.labels
}

// AddPodDisruptionBudget adds a budget for preemption.
func (b *Builder) AddPodDisruptionBudget(p api.PodDisruptionBudget) {
	b.c.budgets.add(b.c.symbols, &p)
}

// AddPodGroup adds a pod group.
func (b *Builder) AddPodGroup(g api.PodGroup) { b.c.podGroups.add(b.c.symbols, g) }

// AddWorkloadSelector adds a selector for default spreading.
func (b *Builder) AddWorkloadSelector(s api.WorkloadSelector) {
	b.c.workloads.add(b.c.symbols, &s)
}

// AddNode adds the next node with its pods. If the context ends first, it returns the context's error, and the builder is
// unusable.
func (b *Builder) AddNode(ctx context.Context, node *api.Node) error {
	b.prepare(&b.draft, node)
	return b.AddDraft(ctx, &b.draft, node)
}

// AddDraft is AddNode for a prepared node.
func (b *Builder) AddDraft(ctx context.Context, n *Draft, node *api.Node) error {
	if err := b.compile(ctx, n, node); err != nil {
		return err
	}
	b.append(n)
	return nil
}

// append adds a node that is complete.
func (b *Builder) append(n *Draft) {
	i := uint32(b.c.Len())
	n.row.scalars = b.scalars.add(i, n.scalars)
	n.row.images = b.images.add(i, n.images)
	b.nominees.add(i, n.nominees())
	b.put(i, n)
	b.c.rowBytes += n.row.bytes() + bytesOf(n.nominated)
	b.added = true
	b.recount(i, n.row.pods, 1)
}

// Build returns the cluster. The builder must not be used afterwards.
func (b *Builder) Build() *Cluster {
	c, base := b.c, b.base
	c.loads = b.pods.loads.list
	c.resources.Scalars = b.scalars.finish()
	c.images, c.imagesMoved = b.images.finishMoved()
	c.nominated = b.nominees.finish()
	c.sparseBytes += b.scalars.bytes + b.images.bytes + b.nominees.bytes
	samePods := b.regroup()
	sameLabels := !b.added && !b.removed && len(b.relabelled) == 0
	// Clusters with the same base give their own strings the same ids, so only clusters without own strings share counts. While all
	// nodes have the labels of the base, no node has a label with such a string, so these clusters share columns.
	sameStrings := c.symbols.Len() == base.symbols.Len()
	c.symbols = c.symbols.Settled()
	fresh := base.domains == nil // base was not built
	if fresh || !sameLabels {
		c.indexNames()
	}
	nodes := int64(c.Len())
	if fresh || !sameLabels {
		c.strings = intern.ID(c.symbols.Len())
		c.domains = memo.New[intern.ID, *topology.Column](remembered + nodes*columnsRemembered)
		if !fresh && !b.added && !b.removed {
			c.domains.Carry(base.domains, b.sameColumn, func(of *topology.Column) int64 {
				if of.Having.Empty() {
					return 0 // it is shared
				}
				return of.Bytes()
			})
		}
	}
	if fresh || !sameStrings || !sameLabels || !samePods {
		c.counts = memo.New[string, []int64](remembered + nodes*countsRemembered)
	}
	if fresh || b.added || b.removed || b.replaced {
		c.perNode = memo.New[string, []uint8](remembered/16 + nodes*nodesRemembered)
		c.resources.measure(c.Len())
	} else {
		c.resources = base.resources
	}
	b.rememberVolumes(fresh || !sameLabels)
	b.reckon()
	return c
}

// rememberVolumes sets the memos about volumes. Clusters without volumes take no memory for them.
func (b *Builder) rememberVolumes(relabelled bool) {
	c, base, nodes := b.c, b.base, int64(b.c.Len())
	limit := remembered/16 + nodes*limitsRemembered
	if len(c.volumeGroups) > 0 {
		limit += remembered + nodes*attachedRemembered
	}
	c.attachments, c.attachedBefore = memo.New[string, *driverUse](limit), b.attachedBefore()
	if relabelled || base.storage == noStorage && c.storage != noStorage {
		limit = 0
		if c.storage != noStorage {
			limit = remembered + nodes*reachRemembered
		}
		c.reaches = memo.New[any, reach](limit)
	}
	if relabelled || base.storage != c.storage {
		limit = 0
		if c.storage != noStorage {
			limit = remembered + nodes*foundRemembered
		}
		c.found = memo.New[string, *found](limit)
	}
}

// sameColumn reports whether every node has the same value of a label as in the base.
func (b *Builder) sameColumn(key intern.ID) bool {
	return !slices.ContainsFunc(b.relabelled, func(i uint32) bool {
		was, had := b.base.Label(i, key)
		is, has := b.c.Label(i, key)
		return was != is || had != has
	})
}

// indexNames computes the index of nodes by name.
func (c *Cluster) indexNames() {
	last := intern.ID(0)
	for i := range uint32(c.Len()) {
		last = max(last, c.row(i).name)
	}
	c.index = make([]uint32, last+1)
	for i := range c.index {
		c.index[i] = noNode
	}
	for i := range uint32(c.Len()) {
		c.index[c.row(i).name] = i
	}
}

// arena cuts slices from larger allocations of at least chunk values.
type arena[T any] struct {
	free  []T
	chunk int
}

// take returns an empty slice with room for n values. The caller keeps it before it takes the next one.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.free = make([]T, max(n, a.chunk))
	}
	return a.free[:0:n]
}

// keep returns s, the slice that was taken last, without spare capacity.
func (a *arena[T]) keep(s []T) []T {
	a.free = a.free[len(s):]
	return slices.Clip(s)
}
