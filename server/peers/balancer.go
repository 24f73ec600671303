package peers

import (
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/proto/lineage"
)

// balancerName is the name of the balancer in service configs.
const balancerName = "stowage_peers"

func init() {
	balancer.Register(base.NewBalancerBuilder(balancerName, builder{}, base.Config{}))
}

type builder struct{}

// Build returns a picker of the connected replicas.
func (builder) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := make(picker, 0, len(info.ReadySCs))
	for conn, of := range info.ReadySCs {
		p = append(p, &replica{address: of.Address.Addr, conn: conn})
	}
	return p
}

// replica is one that is connected.
type replica struct {
	address string
	conn    balancer.SubConn
	again   atomic.Int64 // from when on it is asked, in Unix nanoseconds
}

// search is a search for a snapshot. Its calls follow each other.
type search struct {
	key   string
	self  func(address string) bool
	asked []string
	at    *replica // the last one that was asked, nil before
	over  bool     // there is none left to ask
}

type searchKey struct{}

// picker picks the replica of a search that comes first for its key, of those that it has not asked.
type picker []*replica

var errAllAsked = status.Error(codes.Unavailable, "all peers have been asked")

func (p picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	s := info.Ctx.Value(searchKey{}).(*search)
	now := time.Now().UnixNano()
	var first *replica
	for _, r := range p {
		if now < r.again.Load() || slices.Contains(s.asked, r.address) || s.self(r.address) {
			continue
		}
		if first == nil || lineage.Compare(s.key, r.address, first.address) < 0 {
			first = r
		}
	}
	if first == nil {
		s.over = true
		return balancer.PickResult{}, errAllAsked
	}
	s.at, s.asked = first, append(s.asked, first.address)
	return balancer.PickResult{SubConn: first.conn}, nil
}
