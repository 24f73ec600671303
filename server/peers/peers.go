// Package peers gets snapshots from the other replicas of a service.
//
// A replica asks at most three others, in the order of the call's lineage, so that the first ones are those that clients with the same
// key put their snapshots to. A replica answers such a question from its cache alone, so questions do not go round.
package peers

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	"github.com/stowage-scheduler/stowage/proto/lineage"
	peerv1 "github.com/stowage-scheduler/stowage/proto/stowage/peer/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

const (
	// most is how many replicas are asked for a snapshot.
	most = 3
	// patience is how long the next part may take. A caller can put the snapshot, so waiting longer is worth little.
	patience = 200 * time.Millisecond
	// pause is how long a replica is not asked that did not answer.
	pause = 5 * time.Second
	// windowBytes is what a replica may send ahead of a snapshot, connectionBytes of all of them.
	windowBytes, connectionBytes = 1 << 20, 8 << 20
)

// Settings are those of a replica.
type Settings struct {
	// Addresses are the replicas, or one gRPC target such as dns:///stowage:7433 with an address for each.
	Addresses   []string
	Credentials credentials.TransportCredentials
	// Self reports whether an address is that of this replica, which is not asked.
	Self func(address string) bool
	Log  *slog.Logger
	// MaxPartBytes bounds the parts of snapshots. A part is larger than about a mebibyte only for a single node.
	MaxPartBytes int
	// Dial opens connections; nil for those of the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Peers are the other replicas. They are safe for concurrent use.
type Peers struct {
	conn *grpc.ClientConn
	log  *slog.Logger
	self func(string) bool
	// again is from when on replicas are asked after none was connected, in Unix nanoseconds.
	again atomic.Int64
}

// Connect returns the replicas, and connects to them meanwhile.
func Connect(s Settings) (*Peers, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(s.Credentials),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"` + balancerName + `": {}}]}`),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.NewCodec())),
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(connectionBytes),
		grpc.WithIdleTimeout(0),
		grpc.WithDisableServiceConfig(),
	}
	options = append(options, answersize.DialOptions(s.MaxPartBytes)...)
	if s.Dial != nil {
		options = append(options, grpc.WithContextDialer(s.Dial))
	}
	target := s.Addresses[0]
	if len(s.Addresses) > 1 {
		names := manual.NewBuilderWithScheme("peers")
		state := resolver.State{}
		for _, a := range s.Addresses {
			host, _, err := net.SplitHostPort(a)
			if err != nil {
				host = a
			}
			state.Addresses = append(state.Addresses, resolver.Address{Addr: a, ServerName: host})
		}
		names.InitialState(state)
		options = append(options, grpc.WithResolvers(names))
		target = "peers:///"
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, err
	}
	conn.Connect()
	return &Peers{conn: conn, log: s.Log, self: s.Self}, nil
}

// Close closes the connections.
func (p *Peers) Close() error { return p.conn.Close() }

// Offers implements placement.Source.
func (p *Peers) Offers(ctx context.Context, request *peerv1.FetchSnapshotRequest) iter.Seq[placement.Offer] {
	key := request.GetAddress()
	if header := metadata.ValueFromIncomingContext(ctx, lineage.Header); len(header) > 0 {
		key = header[0]
	}
	return func(yield func(placement.Offer) bool) {
		if time.Now().UnixNano() < p.again.Load() {
			return
		}
		s := &search{key: key, self: p.self}
		for range most {
			inner, cancel := context.WithCancel(context.WithValue(ctx, searchKey{}, s))
			next := yield(&offer{peers: p, search: s, ctx: inner, cancel: cancel, request: request})
			cancel()
			if !next || s.over {
				return
			}
		}
	}
}

// offer is what one replica has.
type offer struct {
	peers   *Peers
	search  *search
	ctx     context.Context
	cancel  context.CancelFunc
	request *peerv1.FetchSnapshotRequest
	stream  grpc.ClientStream
}

// partField is FetchSnapshotResponse.part.
const partField = 1

var errLate = errors.New("no answer in time")

// Receive implements placement.Offer.
func (o *offer) Receive() (*wire.Request, error) {
	var late atomic.Bool
	timer := time.AfterFunc(patience, func() { late.Store(true); o.cancel() })
	defer timer.Stop()
	in, err := o.receive()
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return in, err
	case late.Load():
		o.peers.pause(o.search)
		return nil, errLate
	}
	return nil, err
}

func (o *offer) receive() (*wire.Request, error) {
	if o.stream == nil {
		stream, err := o.peers.conn.NewStream(o.ctx, &grpc.StreamDesc{ServerStreams: true},
			peerv1.PeerService_FetchSnapshot_FullMethodName)
		if err != nil {
			return nil, err
		}
		if err := stream.SendMsg(o.request); err != nil && !errors.Is(err, io.EOF) { // then receiving says why
			return nil, err
		}
		if err := stream.CloseSend(); err != nil {
			return nil, err
		}
		o.stream = stream
	}
	in := wire.NewRequest(new(peerv1.FetchSnapshotResponse), partField)
	if err := o.stream.RecvMsg(in); err != nil {
		return nil, err
	}
	_ = in.Decode() // Err reports it
	return in, nil
}

// Reject implements placement.Offer.
func (o *offer) Reject(why error) {
	o.peers.log.Warn("a peer has something else than the snapshot", "peer.address", o.search.at.address, "error", why)
}

// pause leaves a replica out that did not answer, or all where none was connected.
func (p *Peers) pause(s *search) {
	until := time.Now().Add(pause).UnixNano()
	if s.at == nil {
		s.over = true
		p.again.Store(until)
		return
	}
	s.at.again.Store(until)
	p.log.Warn("a peer does not answer", "peer.address", s.at.address, "pause", pause.String())
}

// Self returns what reports whether an address, as names resolve to it, is one of a listener.
func Self(listener net.Addr) func(address string) bool {
	own := []string{listener.String()}
	if at, ok := listener.(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		addresses, _ := net.InterfaceAddrs() // without them it asks itself in vain
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok {
				own = append(own, net.JoinHostPort(n.IP.String(), strconv.Itoa(at.Port)))
			}
		}
	}
	return func(address string) bool { return slices.Contains(own, address) }
}
