package cluster

import (
	"context"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Draft is a node before it is in the columns.
type Draft struct {
	unschedulable bool
	amounts       amounts
	scalars       []named[Amount] // ascending by name
	images        []named[int64]  // of the node itself, with sizes; the strings belong to the input
	row           row
	nominated     []NamedPod
	// counted is set if row.pods has the counts of all pods. The key is then podStates times the template's index, plus the number of
	// the pods' state, because the group is not known yet.
	counted bool

	// These depend on the nodes before it, as do the strings of the row.
	kind    int32
	numbers []int32 // by field
}

// Preparer returns a function for the part of adding a node that does not depend on other nodes. It may run concurrently with other
// preparers and with AddDraft, but not with the addition of templates and classes. The draft keeps the node's strings.
func (b *Builder) Preparer() func(*Draft, *api.Node) { return b.preparer(256) }

// preparer is Preparer with a number of rows to allocate at a time.
func (b *Builder) preparer(chunk int) func(*Draft, *api.Node) {
	pods := arena[podsOf]{chunk: 16 * chunk}
	return func(n *Draft, input *api.Node) {
		*n = Draft{
			unschedulable: input.Unschedulable,
			scalars:       n.scalars[:0],
			images:        appendImages(n.images[:0], input.Images),
			numbers:       n.numbers[:0],
		}
		if input.Class != nil {
			n.allot(input.Class.Allocatable)
		}
		n.allot(input.Allocatable)
		if len(input.Nominated) > 0 {
			n.nominated = namesOf(input.Nominated)
		}
		n.occupyCounted(&b.c.templates, input.PodCounts)
		if len(input.Pods) > 0 {
			n.row.named = namesOf(input.Pods)
		} else if counted, distinct := countedOnce(pods.take(len(input.PodCounts)), input.PodCounts); distinct {
			n.row.pods, n.counted = pods.keep(counted), true
		}
	}
}

// countedOnce appends counts to pods, as Draft.counted has them, if they are of distinct templates in ascending order.
func countedOnce(pods []podsOf, counts []api.PodCount) (counted []podsOf, distinct bool) {
	last := -1
	for i := range counts {
		p := &counts[i]
		if p.Template <= last {
			return pods, false
		}
		last = p.Template
		pods = append(pods, podsOf{int32(podStates*last + podState(p.Terminating, p.Readiness)), p.Count})
	}
	return pods, true
}

// namesOf returns pods with only their names, which share one allocation.
func namesOf(pods []api.Pod) []NamedPod {
	size := 0
	for i := range pods {
		size += len(pods[i].Name)
	}
	var all strings.Builder
	all.Grow(size)
	for i := range pods {
		all.WriteString(pods[i].Name)
	}
	named, rest := make([]NamedPod, len(pods)), all.String()
	for i := range pods {
		length := len(pods[i].Name)
		named[i].Name, rest = rest[:length], rest[length:]
	}
	return named
}

// compile finishes a prepared node.
func (b *Builder) compile(ctx context.Context, n *Draft, input *api.Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.row.name = b.c.symbols.Intern(input.Name)
	n.kind = b.kind(input.Class)
	n.row.labels = b.labels.keep(selector.AppendLabels(b.labels.take(len(input.Labels)), b.c.symbols, input.Labels))
	class := input.Class
	if class == nil {
		class = noClass
	}
	if fields := len(b.c.fields); cap(n.numbers) < fields {
		n.numbers = b.numbers.keep(b.numbers.take(fields)[:fields])[:0]
	}
	for _, f := range b.c.fields {
		n.numbers = append(n.numbers, f.number(class, input))
	}
	if err := b.pods.addNominated(ctx, n, input.Nominated); err != nil {
		return err
	}
	return b.pods.addNode(ctx, n, input)
}
