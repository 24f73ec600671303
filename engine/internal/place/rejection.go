package place

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// explain records why the pods of an entry, which is of a class, have no feasible node. It follows the search for their node.
func (q *Queue) explain(ctx context.Context, c *Class, entry int, result *verdict.Placement) error {
	if q.Silent {
		return nil
	}
	var err error
	if c.rejected == nil || c.rejectedAt != q.moves {
		if c.rejected = q.infeasible; c.rejected == nil {
			if c.rejected, err = q.Rejected(ctx, c); err != nil {
				return err
			}
		}
		c.rejectedAt, c.preemption = q.moves, nil
	}
	result.Message = c.rejected.Message
	if q.listed += q.Candidates.Len(); q.listed <= verdict.MaxListedNodes {
		result.Rejections = c.rejected.Rejections
	}
	if q.Options.Explain {
		if result.Explanation, err = c.Decision.Explain(ctx, q.Candidates); err != nil {
			return err
		}
	}
	if q.Options.Changes && c.rejected.Feasible.Empty() {
		if result.Changes, err = q.FindChanges(ctx, c); err != nil {
			return err
		}
	}
	if q.Options.Preempt != nil && q.Options.Preempt[entry] && c.rejected.Feasible.Empty() {
		err = q.preempt(ctx, c, result)
	}
	return err
}

// FindChanges returns what would make a node feasible for the pods of a class. It searches once for as long as no pod moves.
func (q *Queue) FindChanges(ctx context.Context, c *Class) ([]verdict.Change, error) {
	if !c.searched || c.searchedAt != q.moves {
		changes, err := q.Explainer(ctx, q.Decision(c), q.Candidates)
		if err != nil {
			return nil, err
		}
		c.changes, c.searched, c.searchedAt = changes, true, q.moves
	}
	return c.changes, nil
}

// Rejected returns the outcome of filtering for a class whose last pod has no node. If kube-scheduler failed to score it, the
// feasible nodes are rejected, too.
func (q *Queue) Rejected(ctx context.Context, c *Class) (*decide.Outcome, error) {
	outcome, err := q.Decision(c).Filter(ctx, q.Candidates)
	if err != nil {
		return nil, err
	}
	if c.failure != nil && !outcome.Feasible.Empty() {
		outcome.Rejections = append(outcome.Rejections, c.failure.Rejection(outcome.Feasible))
		q.Framework.SortRejections(outcome.Rejections)
		outcome.Message = c.failure.Message
	}
	return outcome, nil
}

// preempt adds what preemption finds for the pods of a class since the last pod was placed.
func (q *Queue) preempt(ctx context.Context, c *Class, result *verdict.Placement) (err error) {
	if c.preemption == nil {
		c.preemption, err = preempt.Find(ctx, c.Decision, q.Candidates, c.rejected.Rejections, preempt.Options{})
		if err != nil {
			return err
		}
	}
	if c.preemption == nil {
		return nil
	}
	result.Message = c.preemption.Event(result.Message)
	if q.preempted += c.preemption.Listed(); q.preempted <= verdict.MaxListedNodes {
		result.Preemption = c.preemption
	} else {
		c.preemption = &verdict.Preemption{Message: c.preemption.Message}
	}
	return nil
}
