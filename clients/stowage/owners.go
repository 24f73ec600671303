package stowage

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// WithOwners is an option of Dial. Calls go to n of the replicas, the owners of a key, instead of all replicas: each snapshot and each
// delta is put n times, however many replicas there are. The key identifies the cluster across its changes, such as its name. Clients
// with the same key have the same owners; the owners of different keys are spread over all replicas. If an owner does not answer or is
// removed, the next replica in the key's order replaces it. A new replica takes over, on average, n of all keys' owners.
//
// Replicas are ordered by the hashes of key and address (rendezvous hashing). Each call has the key in LineageHeader, so that proxies, and
// gRPC's own ring_hash policy with its requestHashHeader, can do the same.
func WithOwners(key string, n int) grpc.DialOption { return owners{key: key, n: n} }

// owners are the replicas that receive the calls of a client; all replicas if n is 0.
type owners struct {
	grpc.EmptyDialOption
	key string
	n   int
}

// order returns the choices in the order of the key.
func (o owners) order(choices []*choice) []*choice {
	return slices.SortedFunc(slices.Values(choices), func(a, b *choice) int { return compareReplicas(o.key, a.address, b.address) })
}

// unary and stream add the header of a client's calls.
func (o owners) unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	return invoke(metadata.AppendToOutgoingContext(ctx, LineageHeader, o.key), method, request, reply, conn, options...)
}

func (o owners) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return open(metadata.AppendToOutgoingContext(ctx, LineageHeader, o.key), desc, conn, method, options...)
}

// pickOwner picks the less loaded of two owners. The next replicas in order replace ejected owners. A second try goes to another owner,
// or to the next replica if there is none.
func (p *picker) pickOwner(t *try) *choice {
	ranked := p.ranked.Load()
	if ranked == nil {
		ranked = new(t.replicas.owners.order(p.choices))
		p.ranked.Store(ranked)
	}
	var (
		few [4]*choice
		out *choice
	)
	in, avoided := few[:0], 0
	for _, c := range *ranked {
		if n := len(in); n > 0 && n+avoided >= t.replicas.owners.n {
			break
		}
		switch at := c.state(t); {
		case at == t.avoid:
			avoided++
		case at.in():
			in = append(in, c)
		case at.tried(time.Now()):
			return c
		case out == nil:
			out = c
		}
	}
	switch {
	case len(in) > 1:
		i := rand.IntN(len(in))
		j := (i + 1 + rand.IntN(len(in)-1)) % len(in)
		if in[j].state(t).outstanding.Load() < in[i].state(t).outstanding.Load() {
			return in[j]
		}
		return in[i]
	case len(in) == 1:
		return in[0]
	case out != nil:
		return out
	}
	return (*ranked)[0]
}
