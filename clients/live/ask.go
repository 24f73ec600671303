package live

import (
	"context"
	"k8s.io/apimachinery/pkg/types"
)

// refusalRounds bounds the retries of one request without the rejected objects. A server reports up to 32 at a time; the next
// request handles the rest.
const refusalRounds = 32

// Ask makes a call that refers to the current cluster. It uploads the snapshot first if needed. If the server rejects objects
// of the snapshot, Ask leaves them out and calls again with another view. It returns all other errors.
func (c *Cluster) Ask(ctx context.Context, call func(context.Context, *View) error) error {
	return c.AskWithout(ctx, nil, call)
}

// AskWithout is Ask with some pods removed from the cluster. Pods without a node change nothing.
func (c *Cluster) AskWithout(ctx context.Context, pods []types.UID, call func(context.Context, *View) error) error {
	for round := 1; ; round++ {
		v, err := c.without(pods)
		if err != nil {
			return err
		}
		if err = v.base.upload.ensure(ctx, c.client, v.base.snapshot); err == nil {
			err = call(ctx, v)
		}
		if err == nil || round == refusalRounds || !c.mend(v, err) {
			return err
		}
	}
}

// View returns the current cluster. Requests need Ask, which uploads the snapshot.
func (c *Cluster) View() (*View, error) { return c.without(nil) }

func (c *Cluster) without(pods []types.UID) (*View, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.ready {
		return nil, ErrNotReady
	}
	now, err := c.current()
	if err != nil || len(pods) == 0 {
		return now, err
	}
	v := *now
	v.delta = c.model.without(now.base, pods)
	return &v, nil
}
