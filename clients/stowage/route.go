package stowage

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// balancerName is the name of the balancer in service configs.
const balancerName = "stowage_round_robin"

func init() {
	balancer.Register(base.NewBalancerBuilder(balancerName, pickerBuilder{}, base.Config{HealthCheck: true}))
}

// route records the replica of the last call of a context, and can pin the following calls to it, because only the replica that answered
// is known to have a snapshot. gRPC's round_robin does not support this.
type route struct {
	mutex   sync.Mutex
	replica string // its address, "" before the first call
	held    bool
}

type routeKey struct{}

func withRoute(ctx context.Context, r *route) context.Context {
	return context.WithValue(ctx, routeKey{}, r)
}

// hold pins the following calls to a replica while it is serving.
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

// Build returns a picker of the serving replicas.
func (pickerBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := &picker{}
	for conn, of := range info.ReadySCs {
		p.choices = append(p.choices, &choice{address: of.Address.Addr, conn: conn})
	}
	slices.SortFunc(p.choices, func(a, b *choice) int { return cmp.Compare(a.address, b.address) })
	// Clients with the same list of replicas must not all start with the same replica.
	p.next.Store(rand.Uint32())
	return p
}

// choice is a serving replica.
type choice struct {
	address string
	conn    balancer.SubConn
	replica atomic.Pointer[replica] // the client's state of it; nil before the first call
}

func (c *choice) state(t *try) *replica {
	known := c.replica.Load()
	if known == nil {
		known = t.replicas.get(c.address)
		c.replica.Store(known)
	}
	return known
}

// picker picks the less loaded of two replicas: the next in turn, and a random one. It excludes ejected replicas, and the replica of
// another try of the call, unless there is no other. A client with owners picks among the owners. A route may pin a call.
type picker struct {
	choices []*choice
	next    atomic.Uint32
	ranked  atomic.Pointer[[]*choice] // in the order of the client's owners; nil before the first call
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	t, _ := info.Ctx.Value(tryKey{}).(*try)
	r, routed := info.Ctx.Value(routeKey{}).(*route)
	if !routed {
		return p.result(p.pick(t), t), nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.held {
		for _, at := range p.choices {
			if at.address == r.replica {
				return p.result(at, t), nil
			}
		}
	}
	to := p.pick(t)
	r.replica = to.address
	return p.result(to, t), nil
}

// result returns gRPC's result, and counts the call.
func (p *picker) result(to *choice, t *try) balancer.PickResult {
	if t == nil {
		return balancer.PickResult{SubConn: to.conn}
	}
	at := to.state(t)
	at.outstanding.Add(1)
	t.alone.Store(len(p.choices) < 2)
	t.at.Store(at)
	return balancer.PickResult{SubConn: to.conn, Done: at.done}
}

func (p *picker) pick(t *try) *choice {
	n := len(p.choices)
	turn := int(p.next.Add(1) % uint32(n))
	if t == nil || n == 1 {
		return p.choices[turn]
	}
	if t.replicas.owners.n > 0 {
		return p.pickOwner(t)
	}
	in := 0 // choices that are not excluded
	var out *choice
	for i := range n {
		c := p.choices[(turn+i)%n]
		switch at := c.state(t); {
		case at == t.avoid:
		case at.in():
			in++
		case at.tried(time.Now()):
			return c
		case out == nil:
			out = c
		}
	}
	switch {
	case in > 0:
		return p.less(t, turn, in)
	case out != nil:
		return out
	}
	return p.choices[turn]
}

// less returns the less loaded of two choices that are not excluded. in was the number of such choices.
func (p *picker) less(t *try, turn, in int) *choice {
	skip := 0
	if in > 1 {
		skip = 1 + rand.IntN(in-1)
	}
	var first *choice
	for i := range p.choices {
		c := p.choices[(turn+i)%len(p.choices)]
		if at := c.state(t); at == t.avoid || !at.in() {
			continue
		}
		if first == nil {
			first = c
		}
		if skip--; skip < 0 {
			if c.state(t).outstanding.Load() < first.state(t).outstanding.Load() {
				return c
			}
			break
		}
	}
	if first == nil { // the last one was ejected meanwhile
		return p.choices[turn]
	}
	return first
}
