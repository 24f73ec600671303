package decode

import (
	"bytes"
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

func isNode(field protowire.Number) bool { return field == content.Nodes }

func isItem(field protowire.Number) bool { return field > content.Nodes && field < content.Lists }

// clusterLists are the lists of a cluster, with the limits that the contract has.
var clusterLists = func() (out [content.Lists]struct {
	name  string
	limit int
	items protoreflect.List
}) {
	cluster := new(stowagev1.Cluster).ProtoReflect()
	for number := content.Nodes; number < content.Lists; number++ {
		l, f := &out[number], cluster.Descriptor().Fields().ByNumber(number)
		limits := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
		l.name, l.limit, l.items = string(f.Name()), int(limits.GetRepeated().GetMaxItems()), cluster.NewField(f).List()
	}
	return out
}()

func newItem(field protowire.Number) proto.Message {
	return clusterLists[field].items.NewElement().Message().Interface()
}

// readItem is an item other than a node.
type readItem struct {
	field protowire.Number
	raw   []byte
	sound bool // otherwise the following is not set
	names newNames

	add    addItem
	form   []byte // canonical
	digest content.Digest
}

type addItem func(d *decoder, at *path, item *readItem)

func (r *reader) readItems(c *chunk) {
	c.each(isItem, func(in *wire.Reader, field protowire.Number, n int) {
		raw := in.Take(n, &c.text)
		c.items = append(c.items, readItem{})
		item := &c.items[len(c.items)-1]
		if !r.item(path{}, field, bytes.Clone(raw), item) {
			if form := usual(raw, newItem(field)); form != nil {
				r.item(path{}, field, form, item)
			}
		}
		item.raw = raw
	})
}

// item reads an item and reports whether it is in the usual encoding. It changes raw and may keep it.
func (r *reader) item(at path, field protowire.Number, raw []byte, to *readItem) (isUsual bool) {
	message := (*reader).templateItem
	switch field {
	case content.Namespaces:
		message = (*reader).namespaceItem
	case content.WorkloadSelectors:
		message = (*reader).workloadSelectorItem
	case content.NodeClasses:
		message = (*reader).classItem
	case content.PodDisruptionBudgets:
		message = (*reader).disruptionBudgetItem
	case content.PodGroups:
		message = (*reader).podGroupItem
	default:
		if of := objectItems[field]; of != nil {
			message = of
		}
	}
	to.names = newNames{}
	r.begin(&to.names)
	to.add, isUsual = read(r, at, raw, message)
	to.field, to.form, to.digest = field, raw, content.DigestOf(raw)
	to.sound = isUsual && r.sound()
	return isUsual
}

func (d *decoder) commitItems(parent *path, c *chunk) {
	if d.ended == nil {
		d.ended = d.ctx.Err()
	}
	for i := range c.items {
		item := &c.items[i]
		if d.over() || !d.room(parent, item.field) {
			return
		}
		at := parent.item(clusterLists[item.field].name, d.counts[item.field])
		if !item.sound || !d.addNames(&item.names) {
			exactly := func(r *reader, raw []byte) bool { return r.item(at, item.field, raw, item) }
			if !d.again(&at, item.raw, newItem(item.field), exactly) {
				return
			}
		}
		item.add(d, &at, item)
		d.content.Add(item.field, item.form, item.digest)
		d.counts[item.field]++
	}
}

// room reports whether a list of the cluster may get another item.
func (d *decoder) room(parent *path, field protowire.Number) bool {
	l := &clusterLists[field]
	if d.counts[field] < l.limit {
		return true
	}
	d.refuse(parent.field(l.name), wrongCount, "has more than %d entries", l.limit)
	d.full = true
	return false
}

// again reads an encoded message in its usual encoding and reports problems. It fails if raw is no message.
func (d *decoder) again(at *path, raw []byte, m proto.Message, read func(*reader, []byte) (isUsual bool)) bool {
	if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m) != nil {
		d.refuse(*at, malformed, "is no protobuf message")
		d.full = true
		return false
	}
	d.refuseLost(at, raw, m)
	d.exact(at, m, read)
	return true
}

// exact reads a message and reports problems.
func (d *decoder) exact(at *path, m proto.Message, read func(*reader, []byte) (isUsual bool)) {
	if d.exacts++; d.exacts%64 == 0 && d.ended == nil && d.ctx != nil { // with a turn's context, others have theirs
		d.ended = d.ctx.Err()
	}
	raw := encoded(m)
	if raw == nil {
		d.refuse(*at, malformed, "has text that is not UTF-8")
		return
	}
	d.refuseLost(at, raw, m)
	if !read(d.reporter(), raw) && len(d.violations) == 0 {
		d.refuse(*at, malformed, "has a field that this server does not read")
	}
}

// reporter returns a reader that reports problems to d.
func (d *decoder) reporter() *reader {
	r := d.own
	if r == nil {
		r = newReader(d.referred)
		d.own, r.problems, r.exact = r, &d.problems, d
	}
	r.begin(&r.unused)
	r.referred = d.referred
	return r
}

func (r *reader) templateItem(at *path, in *scan) addItem {
	t := r.podTemplate(at, in)
	return func(d *decoder, _ *path, _ *readItem) {
		d.templates, d.pinned = append(d.templates, &t), append(d.pinned, pinned(&t))
		d.to.AddTemplate(&t)
	}
}

func pinned(t *api.PodTemplate) bool { return t.Spec.NodeName != "" }

func (r *reader) classItem(at *path, in *scan) addItem {
	class := r.nodeClass(at, in)
	return func(d *decoder, _ *path, _ *readItem) {
		d.classes = append(d.classes, &class)
		d.to.AddClass(&class)
	}
}

// itemName identifies an item in its list.
type itemName struct {
	kind            api.WorkloadKind
	namespace, name string
}

// once refuses an item with the name of another item. scope is the scope in which names must be unique, for the description.
func (d *decoder) once(at *path, item *readItem, name itemName, scope string) {
	first, again := d.itemNames[item.field].add(name, d.counts[item.field])
	if again && name.name != "" {
		d.refuse(at.field("name"), duplicate, "duplicates %s.%s[%d], names must be unique%s",
			at.parent.String(), clusterLists[item.field].name, first, scope)
	}
}

func (r *reader) namespaceItem(at *path, in *scan) addItem {
	n := r.namespace(at, in)
	return func(d *decoder, at *path, item *readItem) {
		d.once(at, item, itemName{name: n.Name}, "")
		d.to.AddNamespace(n)
	}
}

func (r *reader) workloadSelectorItem(at *path, in *scan) addItem {
	s := r.workloadSelector(at, in)
	return func(d *decoder, at *path, item *readItem) {
		if s.Kind != api.NoWorkload {
			d.once(at, item, itemName{s.Kind, s.Namespace, s.Name}, " per kind and namespace")
		}
		d.selectors = append(d.selectors, s)
	}
}

func (r *reader) disruptionBudgetItem(at *path, in *scan) addItem {
	p := r.podDisruptionBudget(at, in)
	return func(d *decoder, at *path, item *readItem) {
		d.once(at, item, itemName{namespace: p.Namespace, name: p.Name}, " per namespace")
		if !content.InOrderOnce(p.Disrupted) {
			slices.Sort(p.Disrupted)
			p.Disrupted = slices.Compact(p.Disrupted)
			// It cannot fail on a message that was read. If the budget was refused, so is the cluster.
			item.form, _ = content.Canonical[stowagev1.PodDisruptionBudget](item.form)
		}
		d.budgets = append(d.budgets, p)
	}
}

func (r *reader) podGroupItem(at *path, in *scan) addItem {
	g := r.clusterGroup(at, in)
	return func(d *decoder, at *path, item *readItem) {
		d.once(at, item, itemName{name: g.Name}, "")
		d.groups.add(&g)
		d.to.AddPodGroup(g)
	}
}

func (r *reader) checkWorkloadSelector(at *path, w *api.WorkloadSelector) {
	mapOnly := w.Kind == api.Service || w.Kind == api.ReplicationController
	if mapOnly && w.Selector != nil && len(w.Selector.MatchExpressions) > 0 {
		selector := at.field("selector")
		r.refuse(selector.field("match_expressions"), notAllowed,
			"must be empty with WORKLOAD_KIND_SERVICE and WORKLOAD_KIND_REPLICATION_CONTROLLER")
	}
}
