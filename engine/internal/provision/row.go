package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// row is something that pods need and that new nodes have to bring: an amount of a resource for some kinds of pods, or room for
// as many pods of one kind. Whatever counts all pods can be placed with, the sum of brings over the new nodes is at least need.
type row struct {
	need   int64   // beyond what the cluster has, more than 0
	brings []int64 // by template
	most   int64   // of brings, more than 0
	weight float64 // of a need of most, in the bound of all rows together
	// The need of the row: pods of a single kind, or of kinds that exclude each other, or the amount of a resource for the kinds of a
	// set, or for all kinds.
	only     *kind
	apart    int // noApart for no such kinds
	resource string
	set      int // allKinds for all
}

// allKinds is the number of the set of all kinds.
const allKinds = -1

// each returns what a pod of a kind needs.
func (r *row) each(k *kind) int64 {
	switch {
	case r.only != nil:
		if r.only == k {
			return 1
		}
		return 0
	case r.apart != noApart:
		if r.apart == k.apart && !k.impossible && !k.named {
			return 1
		}
		return 0
	case k.impossible || k.named || r.set != allKinds && r.set != k.set:
		return 0
	}
	for i := range k.needs {
		if k.needs[i].Resource == r.resource {
			return k.each(&k.needs[i])
		}
	}
	return 0
}

// Bounds of the rows, so that bounding takes a fraction of a trial.
const (
	maxSets      = 32
	maxAlone     = 96
	maxResources = 8
	maxRows      = 160
	maxAmount    = math.MaxInt64 / 2
)

// rowsOf returns rows for all kinds together, for kinds accepted by the same templates, and for single kinds.
func (s *solver) rowsOf(ctx context.Context, a *analysis) ([]row, error) {
	if !a.sound {
		return nil, nil
	}
	var counted []*kind
	for _, k := range a.kinds {
		if !k.impossible && !k.named {
			counted = append(counted, k)
		}
	}
	rows, err := s.rowsOfResources(ctx, counted)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(counted, func(a, b *kind) int { return cmp.Compare(b.pods, a.pods) })
	for _, k := range counted[:min(len(counted), maxAlone)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := row{need: int64(k.pods), only: k, apart: noApart}
		if s.fillRow(&r, func(n uint32) int64 { return int64(k.most(n)) }) {
			rows = append(rows, r)
		}
	}
	apart, err := s.rowsApart(ctx, a)
	if err != nil {
		return nil, err
	}
	rows = append(rows, apart...)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(s.boundByRow(&b), s.boundByRow(&a)) })
	return rows[:min(len(rows), maxRows)], nil
}

// rowsOfResources returns rows for the amounts of resources that sets of kinds need.
func (s *solver) rowsOfResources(ctx context.Context, kinds []*kind) (rows []row, err error) {
	sets, err := s.sets(ctx, kinds)
	if err != nil {
		return nil, err
	}
	for number, set := range sets {
		if number == len(sets)-1 {
			number = allKinds
		}
		nodes := nodeset.New(s.base.Len() + len(s.Templates))
		resources := make(map[string]*rule.Need)
		var names []string
		for _, k := range set {
			nodes.Or(k.nodes)
			for i := range k.needs {
				if name := k.needs[i].Resource; resources[name] == nil && len(names) < maxResources {
					resources[name] = &k.needs[i]
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := row{resource: name, set: number, apart: noApart}
			for _, k := range set {
				r.need = min(maxAmount, r.need+int64(k.pods)*r.each(k)) // less than is needed is sound
			}
			if s.fillRow(&r, func(n uint32) int64 {
				if !nodes.Has(n) {
					return 0
				}
				return max(0, resources[name].Room(n))
			}) {
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// rowsApart returns rows for sets of kinds that exclude each other, for the sets with the most pods. A kind that excludes no other
// kind has a row of its own.
func (s *solver) rowsApart(ctx context.Context, a *analysis) (rows []row, err error) {
	var some []row
	for number, kinds := range a.apart {
		r := row{apart: number}
		for _, k := range kinds {
			if !k.impossible && !k.named {
				r.need += int64(k.pods)
			}
		}
		if len(kinds) > 1 && r.need > 0 {
			some = append(some, r)
		}
	}
	slices.SortStableFunc(some, func(a, b row) int { return cmp.Compare(b.need, a.need) })
	for _, r := range some[:min(len(some), maxSets)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.fillRow(&r, func(n uint32) int64 { return a.mostApart(r.apart, n) }) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// sets numbers the kinds by the templates that take them, and returns the sets with the most pods. The last one is all kinds.
func (s *solver) sets(ctx context.Context, kinds []*kind) ([][]*kind, error) {
	at := make(map[digest]int)
	var sets [][]*kind
	var pods []int
	key := make([]byte, (len(s.Templates)+7)/8)
	for _, k := range kinds {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(key)
		for t := range s.Templates {
			if s.takes(t, k) {
				key[t/8] |= 1 << (t % 8)
			}
		}
		of := sha256.Sum256(key)
		i, known := at[of]
		if !known {
			i = len(sets)
			at[of] = i
			sets, pods = append(sets, nil), append(pods, 0)
		}
		sets[i] = append(sets[i], k)
		pods[i] += k.pods
	}
	order := make([]int, len(sets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pods[b], pods[a]) })
	out := make([][]*kind, 0, maxSets+1)
	for number, i := range order {
		for _, k := range sets[i] {
			k.set = number
		}
		if number < maxSets {
			out = append(out, sets[i])
		}
	}
	return append(out, kinds), nil
}

// fillRow sets what a row needs beyond the existing cluster, and what templates contribute to it. It reports whether the row needs
// more, and some template contributes.
func (s *solver) fillRow(r *row, brings func(n uint32) int64) bool {
	for n := range s.Candidates.All() {
		if r.need -= min(r.need, brings(n)); r.need == 0 {
			return false
		}
	}
	r.brings = make([]int64, len(s.Templates))
	for t := range r.brings {
		r.brings[t] = brings(s.first(t))
		r.most = max(r.most, r.brings[t])
	}
	return r.need > 0 && r.most > 0
}
