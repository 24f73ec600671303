package stowage

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// WithOwners is an option of Dial. Calls go to n of the replicas, the owners of a key, in place of all: a snapshot, and each delta, is
// put n times, however many replicas there are. The key is what stays while the cluster changes, such as its name. Clients with the
// same key have the same owners; those of other keys are spread over all replicas. Where an owner does not answer, or goes, the next
// replica in the key's order takes its place, and where a replica comes, on average n of all keys' owners move there.
//
// The order of the replicas is that of the hashes of key and address (rendezvous hashing). Each call has the key in LineageHeader, by
// which proxies, and gRPC's own ring_hash policy with its requestHashHeader, can do the same.
func WithOwners(key string, n int) grpc.DialOption { return owners{key: key, n: n} }

// owners are the replicas that get the calls of a client; all with n 0.
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

// pickOwner picks, of the owners, the one of two with fewer calls under way. The next in order take the place of those that are
// ejected. A second try goes to another owner, or to the next if there is none.
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
		switch at := c.of(t); {
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
		if in[j].of(t).outstanding.Load() < in[i].of(t).outstanding.Load() {
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
