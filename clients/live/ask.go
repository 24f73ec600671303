package live

import (
	"context"
	"k8s.io/apimachinery/pkg/types"
)

// refusalRounds bounds how often one question is asked again without objects that the server has refused. A server names
// up to 32 at a time; what is left is for the next question.
const refusalRounds = 32

// Ask calls about the cluster as it is now. The snapshot is put first where need be; if the server refuses objects of it,
// they are left out and call is called again with another view. Any other error is returned.
func (c *Cluster) Ask(ctx context.Context, call func(context.Context, *View) error) error {
	return c.AskWithout(ctx, nil, call)
}

// AskWithout is Ask about the cluster as it would be without some pods. Those that are on no node change nothing.
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

// View is the cluster as it is now. Requests need Ask, which puts the snapshot.
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
