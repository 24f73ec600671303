package stowage

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// balancerName is the name of the balancer in service configs.
const balancerName = "stowage_round_robin"

func init() {
	balancer.Register(base.NewBalancerBuilder(balancerName, pickerBuilder{}, base.Config{HealthCheck: true}))
}

// route records the replica of the last call of a context, and can pin the following calls to it: only the replica that
// answered is known to have a snapshot. gRPC's round_robin cannot do that.
type route struct {
	mutex   sync.Mutex
	replica string // its address, "" before the first call
	held    bool
}

type routeKey struct{}

func withRoute(ctx context.Context, r *route) context.Context {
	return context.WithValue(ctx, routeKey{}, r)
}

// hold pins the following calls to a replica, while it is serving.
func (r *route) hold(replica string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.replica, r.held = replica, true
}

func (r *route) last() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.replica
}

type pickerBuilder struct{}

// Build returns a picker of the replicas that are serving.
func (pickerBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := &picker{}
	for conn, of := range info.ReadySCs {
		p.replicas = append(p.replicas, replica{of.Address.Addr, conn})
	}
	slices.SortFunc(p.replicas, func(a, b replica) int { return cmp.Compare(a.address, b.address) })
	// Clients that see the same replicas come and go must not all start with the same one.
	p.next.Store(rand.Uint32())
	return p
}

type replica struct {
	address string
	conn    balancer.SubConn
}

// picker picks the replicas in turn, except for calls that a route pins.
type picker struct {
	replicas []replica
	next     atomic.Uint32
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	r, routed := info.Ctx.Value(routeKey{}).(*route)
	if !routed {
		return balancer.PickResult{SubConn: p.turn().conn}, nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.held {
		for _, at := range p.replicas {
			if at.address == r.replica {
				return balancer.PickResult{SubConn: at.conn}, nil
			}
		}
	}
	to := p.turn()
	r.replica = to.address
	return balancer.PickResult{SubConn: to.conn}, nil
}

func (p *picker) turn() replica {
	return p.replicas[p.next.Add(1)%uint32(len(p.replicas))]
}
