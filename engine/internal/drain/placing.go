package drain

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// place places the pending pods one by one.
func (r *run) place() error {
	failed, attempted := make(map[*place.Class]failure), make(map[int]bool)
	for i := range r.pending {
		if i%256 == 255 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		b := &r.pending[i]
		var err error
		if group := r.groups.of(b); group < 0 {
			err = r.placeAlone(b, failed)
		} else if !attempted[group] {
			attempted[group] = true
			err = r.placeGroup(group, r.pending[i:])
		}
		if err != nil {
			return err
		}
		if b.count > 0 && r.probe && (r.last || !r.Terminating) && r.noMore() {
			r.lost++
			break
		}
	}
	for i := range r.pending { // in the order of evictions, in which groups were not placed
		b := &r.pending[i]
		r.moved(b, b.fate.entry, b.placed)
		b.placed = nil
	}
	r.pending = slices.DeleteFunc(r.pending, func(b batch) bool { return b.count == 0 })
	return nil
}

// failure is why a class has no node, as of a version.
type failure struct {
	version int
	message string
}

// placeAlone places pods that are in no group.
func (r *run) placeAlone(b *batch, failed map[*place.Class]failure) error {
	class := r.queue.Classes[b.fate.entry]
	if why, known := failed[class]; known && why.version == r.version {
		b.message = why.message
		return nil
	}
	if class.Decision == nil {
		r.used = append(r.used, class)
	}
	var result verdict.Placement
	if err := r.queue.Place(r.ctx, b.fate.entry, b.count, &result, nil); err != nil {
		return err
	}
	r.version += len(result.Nodes)
	b.placed = result.Nodes
	if b.count = result.Unplaced; b.count > 0 {
		b.message = result.Message
		failed[class] = failure{r.version, b.message}
	}
	return nil
}

// noMore reports whether this is the last round, so that pods without a node stay without one.
func (r *run) noMore() bool {
	for _, waiting := range r.waiting {
		if len(waiting) > 0 {
			return false
		}
	}
	return true
}

// moved records that pods of a batch were placed. entry is the number that the state knows them by.
func (r *run) moved(b *batch, entry int, nodes []uint32) {
	if len(nodes) == 0 {
		return
	}
	r.out.Placed += len(nodes)
	r.becomeReady(b, entry, len(nodes))
	if r.Moves && !r.probe {
		r.out.Moves = append(r.out.Moves, verdict.PodMove{Pod: r.reference(b.unit, len(nodes)), Nodes: nodes, Round: b.round})
		r.moves = append(r.moves, entry)
	}
}
