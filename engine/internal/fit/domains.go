package fit

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Domains returns the number of domains of a topology key that have candidates.
func Domains(ctx context.Context, c *cluster.Cluster, candidates nodeset.Set, key string) int {
	domains := 0
	for d, present := range columnOf(cluster.NewState(ctx, c), key).Present(candidates) {
		if present && d != topology.None {
			domains++
		}
	}
	return domains
}

func columnOf(s *cluster.State, key string) *topology.Column { return s.Column(s.Symbols.Intern(key)) }

// domains returns the domains that have candidates. placed are the nodes of the placed pods by entry of the mix.
func (p *Problem) domains(ctx context.Context, placed [][]uint32) ([]verdict.FitDomain, error) {
	s := cluster.NewState(ctx, p.Cluster)
	column := columnOf(s, p.Key)
	members := column.Nodes(p.Candidates)
	var domains []int
	for d := topology.None + 1; d < len(members); d++ {
		if len(members[d]) > 0 {
			domains = append(domains, d)
		}
	}
	value := func(d int) string { return s.Symbols.Name(column.Values[d]) }
	slices.SortFunc(domains, func(a, b int) int { return strings.Compare(value(a), value(b)) })
	out, at := make([]verdict.FitDomain, len(domains)), make([]int, len(members))
	for i, d := range domains {
		out[i], at[d] = verdict.FitDomain{Value: value(d), Placed: make([]uint32, len(p.Mix))}, i
	}
	for e, nodes := range placed {
		for _, n := range nodes {
			if d := column.Domain[n]; d != topology.None {
				out[at[d]].Placed[e]++
			}
		}
	}
	queues := make(chan *place.Queue, maxWorkers) // each for one worker at a time
	alone := func(ctx context.Context, i int) (int, error) {
		var q *place.Queue
		select {
		case q = <-queues:
		default:
			var err error
			if q, err = p.queue(ctx, cluster.NewState(ctx, p.Cluster)); err != nil {
				return 0, err
			}
		}
		units, err := p.alone(ctx, q, nodeset.Of(p.Cluster.Len(), members[domains[i]]))
		queues <- q
		return units, err
	}
	return out, parallel.Each(ctx, len(out), parallel.Options[int]{Workers: workers()}, alone, func(i, units int) error {
		out[i].Alone = units
		return nil
	})
}

// maxWorkers bounds the memory of a call: each worker has a state of its own.
const maxWorkers = 16

func workers() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

// alone returns the number of units that fit on some nodes of a queue without placed pods.
func (p *Problem) alone(ctx context.Context, q *place.Queue, nodes nodeset.Set) (int, error) {
	within := q.Within(nodes, false)
	copies := make(map[*place.Class]*place.Class, len(q.Classes))
	for e, c := range q.Classes {
		if copies[c] == nil {
			q.Decision(c)
			copies[c] = c.Copy(false)
		}
		within.Classes[e] = copies[c]
	}
	p.noteUndecided(q.State)
	q.State.RenewSteps() // after the decisions, which only the first domain of a worker makes
	mark := q.State.Mark()
	f, err := p.fill(ctx, within)
	if err != nil {
		return 0, err
	}
	q.UndoOf(within, mark)
	return f.units, nil
}
