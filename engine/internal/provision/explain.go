package provision

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Bounds of the explanations of templates.
const (
	maxExplainedTemplates = 64
	maxExplained          = 10_000   // of pods and templates
	maxRefusals           = 100_000  // of entries and templates
	maxText               = 64 << 20 // bytes of their messages
)

// explain reports for the unplaced pods why one more node of a template would not take the first of them.
func (s *solver) explain(ctx context.Context, out *verdict.Provision) error {
	type unplaced struct {
		entry int // the first one of the kind
		at    []int
	}
	var all []unplaced
	byKind := make(map[*kind]int)
	for e := range out.Place.Placements {
		p := &out.Place.Placements[e]
		if p.Unplaced == 0 {
			continue
		}
		k := s.kindOf[e]
		i, known := byKind[k]
		if !known {
			i = len(all)
			byKind[k] = i
			all = append(all, unplaced{entry: e})
		}
		all[i].at = append(all[i].at, len(out.Unplaced))
		out.Unplaced = append(out.Unplaced, verdict.Unprovisioned{Entry: e, Impossible: k.impossible})
	}
	if len(all) == 0 {
		return nil
	}
	templates := min(len(s.Templates), maxExplainedTemplates)
	kinds := min(len(all), maxExplained/templates)
	s.used += templates * s.refusalSteps(kinds)
	messages := make([][]string, templates) // then by kind
	for t := range templates {
		s.Name(t, s.best.counts[t])
	}
	err := parallel.Each(ctx, templates, parallel.Options[[]string]{Workers: s.Workers},
		func(ctx context.Context, t int) ([]string, error) {
			entries := make([]int, kinds)
			for i := range entries {
				entries[i] = all[i].entry
			}
			return s.refusals(ctx, t, entries)
		},
		func(t int, m []string) error {
			messages[t] = m
			return nil
		})
	if err != nil {
		return err
	}
	refusals, text := maxRefusals, maxText
	for i := range all {
		for _, at := range all[i].at {
			u := &out.Unplaced[at]
			u.Truncated = templates < len(s.Templates)
			for t := range templates {
				if refusals--; i < kinds {
					text -= len(messages[t][i])
				}
				if i >= kinds || refusals < 0 || text < 0 {
					u.Truncated = true
					break
				}
				u.Refusals = append(u.Refusals, verdict.TemplateRefusal{Template: t, Message: messages[t][i]})
			}
		}
	}
	return nil
}

// refusalSteps returns the steps of refusals with a number of entries.
func (s *solver) refusalSteps(entries int) int {
	return 1 + len(s.Queue) + s.best.placed + (s.base.Len()+s.best.nodes)/4 + 16*entries
}

// refusals returns the event texts of pods of some entries if one more node of a template were the only candidate once all pods
// of the best trial are placed; empty if it takes the pod.
func (s *solver) refusals(ctx context.Context, t int, entries []int) ([]string, error) {
	nodes := s.nodes(s.best.counts, t)
	c, _, err := s.with(ctx, nodes)
	if err != nil {
		return nil, err
	}
	state := cluster.NewState(ctx, c)
	last := nodeset.Of(c.Len(), []uint32{uint32(s.base.Len() + len(nodes) - 1)})
	q, err := place.New(ctx, s.Framework, state, last, s.Queue, place.Options{Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	for e := range s.best.result.Placements {
		for _, node := range s.best.result.Placements[e].Nodes {
			q.Assume(e, node)
		}
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		class := q.Classes[e]
		class.Decision = nil // as the pods are placed
		outcome, err := q.Decision(class).Filter(ctx, q.Candidates)
		if err != nil {
			return nil, err
		}
		out[i] = outcome.Message
	}
	return out, nil
}
