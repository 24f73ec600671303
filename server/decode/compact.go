package decode

import (
	"context"

	"github.com/stowage-scheduler/stowage/proto/content"
)

// mayIntern is how much more than a multiple of what it takes a cluster may have interned.
const mayIntern = 1024

// Compact returns the cluster itself, or the same compiled anew once it has interned more than twice what it had when it
// was last compiled as a whole, and mayIntern: what a chain of deltas leaves behind of what is gone is bounded, at the
// price of one compilation now and then. It returns the context's error if that ends first.
func (c *Cluster) Compact(ctx context.Context) (*Cluster, error) {
	if c.Interned() <= 2*c.interned+mayIntern {
		return c, nil
	}
	r := newRequest(ctx, &content.Builder{AddressOnly: true})
	r.Part("cluster", encoding(c.Content))
	if err := r.Err(); err != nil {
		return nil, err
	}
	out := r.Cluster()
	out.Content, out.Address = c.Content, c.Address
	return out, nil
}
