package engine

import (
	"context"
	"encoding/binary"
	"reflect"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/board"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// statedKey is what pods have in common that are stated by one template.
type statedKey struct {
	template    *api.PodTemplate
	labels      string
	terminating bool
}

// maxCompared is how many templates of one shape a pod is compared with.
const maxCompared = 8

// templates returns the template of each queue entry.
func (p *place) templates(ctx context.Context, queue []Pending) ([]*template, error) {
	if p.options.Scan {
		entries := make([]*template, len(queue))
		for i := range queue {
			entries[i] = &template{pod: p.state.Compile(&queue[i].Pod), scan: true}
		}
		return entries, nil
	}
	return p.fold(ctx, queue)
}

// fold returns the template of each queue entry, where pods that nothing tells apart have one.
func (p *place) fold(ctx context.Context, queue []Pending) ([]*template, error) {
	byStated := make(map[statedKey]*template)
	byShape := make(map[intern.ID][]*template)
	var all []*template
	selected := p.selected(queue)
	entries := make([]*template, len(queue))
	for i := range queue {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pod := &queue[i].Pod
		key := statedKey{template: pod.Template, terminating: pod.Terminating}
		own := pod.Labels
		if len(own) > 0 {
			own, key.labels = onlyKeys(own, selected)
		}
		t := byStated[key]
		if t == nil {
			compiled := p.state.Compile(&api.Pod{Template: pod.Template, TemplateIndex: pod.TemplateIndex, Labels: own, Terminating: pod.Terminating})
			shape := p.state.Identity(compiled)
			for _, other := range byShape[shape] {
				if same(pod.Template, other.pod.Template) {
					t = other
					break
				}
			}
			if t == nil {
				t = &template{pod: compiled}
				all = append(all, t)
				if len(byShape[shape]) < maxCompared {
					byShape[shape] = append(byShape[shape], t)
				}
			}
			byStated[key] = t
		}
		t.pods += queue[i].Count
		entries[i] = t
	}
	fits := board.Fits(p.framework.Scorers, &p.options.Profile.Weights)
	for _, t := range all {
		t.scan = !fits || p.framework.PreScoreFailure(t.pod.Spec()) != nil || !p.options.tuning.board && !pays(t.pods, p.state.Len(), len(all))
		p.state.Expect(t.pod)
	}
	return entries, nil
}

// pays reports whether so many pods are worth what it costs to get ready for placing them without asking about every
// node: about once that, and something for each other template. It goes by what the cluster states, not by what the cluster
// has come to know by the changes that led to it: the answer tells which pods were scanned for.
func pays(pods, nodes, templates int) bool { return pods > 1 && pods*nodes > templates }

// selected returns the keys of the pods' own labels that anything asks about; nil if no pod has labels of its own.
func (p *place) selected(queue []Pending) map[string]bool {
	own := false
	var pending []*cluster.Pending
	seen := make(map[*api.PodTemplate]bool)
	for i := range queue {
		own = own || len(queue[i].Pod.Labels) > 0
	}
	if !own {
		return nil
	}
	for i := range queue {
		if t := queue[i].Pod.Template; !seen[t] {
			seen[t] = true
			pending = append(pending, p.state.Compile(&api.Pod{Template: t, TemplateIndex: -1}))
		}
	}
	keys := p.state.SelectedKeys(pending)
	for _, key := range p.framework.Labels() {
		keys[key] = true
	}
	return keys
}

// onlyKeys returns the labels of some keys, and what is the same for equal ones.
func onlyKeys(labels api.Labels, keys map[string]bool) (api.Labels, string) {
	var only api.Labels
	var b []byte
	for _, l := range labels {
		if keys[l.Key] {
			only = append(only, l)
			b = append(binary.AppendUvarint(b, uint64(len(l.Key))), l.Key...)
			b = append(binary.AppendUvarint(b, uint64(len(l.Value))), l.Value...)
		}
	}
	return only, string(b)
}

// same reports whether nothing tells pods of one shape apart that these templates state.
func same(a, b *api.PodTemplate) bool {
	return a == b || a.Controller == b.Controller && reflect.DeepEqual(&a.Spec, &b.Spec)
}
