package simulate

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// network connects clients to servers. It delivers bytes in order and late, and can hold them back or cut connections.
type network struct {
	mutex sync.Mutex
	rng   *rand.Rand
	hosts map[string]*host
}

// host is where a server listens, or does not.
type host struct {
	listener *listener
	conns    map[*conn]bool
	slow     time.Duration // in addition, in each direction
	hole     bool          // whether bytes wait until it is over
	healed   chan struct{} // closed when a hole ends
}

func newNetwork(seed uint64) *network {
	return &network{rng: rand.New(rand.NewPCG(seed, 99)), hosts: make(map[string]*host)}
}

// listen has a host accept connections from now on.
func (n *network) listen(address string) net.Listener {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	h := n.hosts[address]
	if h == nil {
		h = &host{conns: make(map[*conn]bool)}
		n.hosts[address] = h
	}
	h.listener = &listener{address: address, accepted: make(chan net.Conn), closed: make(chan struct{})}
	return h.listener
}

// down has a host refuse connections, and cuts its open ones.
func (n *network) down(address string) {
	n.mutex.Lock()
	h := n.hosts[address]
	l := h.listener
	n.mutex.Unlock()
	_ = l.Close()
	n.cut(address)
}

// cut ends the connections of a host, as a reset does.
func (n *network) cut(address string) {
	n.mutex.Lock()
	h := n.hosts[address]
	var all []*conn
	for c := range h.conns {
		all = append(all, c)
	}
	clear(h.conns)
	n.mutex.Unlock()
	for _, c := range all {
		c.reset()
	}
}

// slow has bytes from and to a host take longer.
func (n *network) slow(address string, by time.Duration) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.hosts[address].slow = by
}

// hole holds back all bytes from and to a host, until it is called with false.
func (n *network) hole(address string, is bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	h := n.hosts[address]
	switch h.hole = is; {
	case is:
		h.healed = make(chan struct{})
	default:
		close(h.healed)
	}
}

// dial connects to a host.
func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mutex.Lock()
	h := n.hosts[address]
	if h == nil { // not yet
		n.mutex.Unlock()
		return nil, errors.New("connection refused")
	}
	late, held := n.late(h)
	l := h.listener
	n.mutex.Unlock()
	if err := wait(ctx, late, held); err != nil {
		return nil, err
	}
	there, back := newHalf(), newHalf()
	client := &conn{network: n, host: h, in: back, out: there, local: "client", remote: address}
	server := &conn{network: n, host: h, in: there, out: back, local: address, remote: "client"}
	select {
	case l.accepted <- server:
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mutex.Lock()
	h.conns[client], h.conns[server] = true, true
	n.mutex.Unlock()
	return client, nil
}

// late returns how long bytes of a host take from now on, and what they wait for before, nil for nothing.
func (n *network) late(h *host) (time.Duration, <-chan struct{}) {
	d := 100*time.Microsecond + time.Duration(n.rng.Int64N(int64(2*time.Millisecond)))
	if n.rng.IntN(200) == 0 {
		d += time.Duration(n.rng.Int64N(int64(200 * time.Millisecond))) // a packet is lost and sent again
	}
	if h.hole {
		return d + h.slow, h.healed
	}
	return d + h.slow, nil
}

func wait(ctx context.Context, d time.Duration, held <-chan struct{}) error {
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type listener struct {
	address  string
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return address(l.address) }

type address string

func (a address) Network() string { return "simulated" }
func (a address) String() string  { return string(a) }

// half is one direction of a connection.
type half struct {
	mutex    sync.Mutex
	segments []segment
	changed  chan struct{} // has a value if there is something to look at
	ended    error         // what a reader gets after the segments
}

type segment struct {
	bytes []byte
	at    time.Time       // when it arrives
	held  <-chan struct{} // what it waits for; nil for nothing
}

func newHalf() *half { return &half{changed: make(chan struct{}, 1)} }

func (h *half) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

func (h *half) end(err error, drop bool) {
	h.mutex.Lock()
	if h.ended == nil {
		h.ended = err
	}
	if drop {
		h.segments = nil
	}
	h.mutex.Unlock()
	h.wake()
}

// take returns bytes that have arrived, or what to wait for.
func (h *half) take(into []byte) (n int, until time.Time, held <-chan struct{}, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.segments) == 0 {
		return 0, time.Time{}, nil, h.ended
	}
	s := &h.segments[0]
	if s.held != nil {
		select {
		case <-s.held:
			s.held = nil
		default:
			return 0, time.Time{}, s.held, nil
		}
	}
	if time.Now().Before(s.at) {
		return 0, s.at, nil, nil
	}
	n = copy(into, s.bytes)
	if s.bytes = s.bytes[n:]; len(s.bytes) == 0 {
		h.segments = h.segments[1:]
	}
	return n, time.Time{}, nil, nil
}

// conn is one end of a connection.
type conn struct {
	network       *network
	host          *host
	in, out       *half
	local, remote string
	mutex         sync.Mutex
	deadline      time.Time
}

func (c *conn) Read(into []byte) (int, error) {
	for {
		n, until, held, err := c.in.take(into)
		if n > 0 || err != nil {
			return n, err
		}
		c.mutex.Lock()
		deadline := c.deadline
		c.mutex.Unlock()
		var arrives, expires <-chan time.Time
		if !until.IsZero() {
			arrives = time.After(time.Until(until))
		}
		if !deadline.IsZero() {
			expires = time.After(time.Until(deadline))
		}
		select {
		case <-arrives:
		case <-held:
		case <-c.in.changed:
		case <-expires:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (c *conn) Write(b []byte) (int, error) {
	c.network.mutex.Lock()
	late, held := c.network.late(c.host)
	c.network.mutex.Unlock()
	h := c.out
	h.mutex.Lock()
	if h.ended != nil {
		h.mutex.Unlock()
		return 0, net.ErrClosed
	}
	at := time.Now().Add(late)
	if n := len(h.segments); n > 0 && at.Before(h.segments[n-1].at) {
		at = h.segments[n-1].at
	}
	h.segments = append(h.segments, segment{bytes: append([]byte(nil), b...), at: at, held: held})
	h.mutex.Unlock()
	h.wake()
	return len(b), nil
}

func (c *conn) Close() error {
	c.out.end(io.EOF, false)
	c.in.end(net.ErrClosed, true)
	c.network.mutex.Lock()
	delete(c.host.conns, c)
	c.network.mutex.Unlock()
	return nil
}

// reset ends both directions at once.
func (c *conn) reset() {
	err := errors.New("connection reset by peer")
	c.out.end(err, true)
	c.in.end(err, true)
}

func (c *conn) LocalAddr() net.Addr  { return address(c.local) }
func (c *conn) RemoteAddr() net.Addr { return address(c.remote) }

func (c *conn) SetDeadline(t time.Time) error {
	c.mutex.Lock()
	c.deadline = t
	c.mutex.Unlock()
	c.in.wake()
	return nil
}
func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }
func (c *conn) SetWriteDeadline(time.Time) error  { return nil }
