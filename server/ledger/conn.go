package ledger

import (
	"container/list"
	"net"
	"sync/atomic"

	"golang.org/x/net/http2"
)

const (
	// fewBytes and manyBytes are the sizes of a connection's buffer for reading, which follows what arrives.
	fewBytes, manyBytes = 4 << 10, 256 << 10
	// seldom is the number of reads of less than a quarter of a buffer after which it becomes smaller.
	seldom = 4
	// connectionBytes is what a connection counts in addition to its buffer, openBytes what an open call does: goroutines, the state of gRPC
	// and of TLS.
	connectionBytes, openBytes = 64 << 10, 16 << 10
	// fewCalls is the number of calls from which on a connection looks for those that have ended.
	fewCalls = 64
)

// Conn is a connection that counts what its calls receive. One goroutine may read from it, which is that of gRPC.
type Conn struct {
	net.Conn
	ledger *Ledger
	client account
	// fixed is what the connection counts itself, for its host until a call on it has a name.
	fixed  atomic.Pointer[holding]
	closed atomic.Bool
	named  atomic.Bool // whether the connection or a call on it has a name
	// stranger is whether the connection began without a name, and at its place among those that did.
	stranger bool
	at       *list.Element
	// unread is what answers count that are not yet written, by the accounts of who called.
	unread unread
	// written is the number of bytes written so far.
	written atomic.Int64

	// What follows is the reading goroutine's.
	frames frames
	buffer []byte
	// next and end are what is to be read from the buffer, and small counts reads in a row of less than a quarter of it.
	next, end, small int
	// last is the stream of the last HEADERS frame.
	last  uint32
	calls map[uint32]*Call
	// sweep is the number of calls from which on those that have ended are looked for.
	sweep int
}

// holding is bytes of an account.
type holding struct {
	account account
	counted
}

// newConn returns the connection of a client that gets one of so many parts of the room, nil if the client has too many.
func (l *Ledger) newConn(under net.Conn, client string, parts int64) *Conn {
	c := &Conn{
		Conn: under, ledger: l, client: accountOf(client), frames: newFrames(),
		buffer: make([]byte, fewBytes), calls: map[uint32]*Call{}, sweep: fewCalls,
	}
	if !l.connections.takeOf(c.client, connectionBytes, parts) && !(parts > 1 && l.displace(c.client) && l.connections.takeOf(c.client, connectionBytes, parts)) {
		return nil
	}
	c.unread.account = c.client
	c.fixed.Store(&holding{account: c.client})
	c.fixed.Load().add(connectionBytes)
	c.stranger = parts > 1
	c.named.Store(!c.stranger)
	if c.stranger {
		l.strangers.enter(c)
	}
	return c
}

// name moves what the connection counts to the account of a caller who has called on it. The reading goroutine calls it.
func (c *Conn) name(client account) {
	if c.named.Swap(true) {
		return
	}
	before, now := c.fixed.Load(), &holding{account: client}
	bytes := before.end()
	c.ledger.connections.give(before.account, bytes)
	// A connection that exists is not refused.
	c.ledger.connections.force(client, bytes)
	now.add(bytes)
	c.fixed.Store(now)
	if c.closed.Load() {
		c.ledger.connections.give(client, now.end())
	}
}

// Read implements net.Conn. What it returns belongs to one frame, and to its header or its payload.
func (c *Conn) Read(into []byte) (int, error) {
	if c.next == c.end {
		if err := c.fill(); err != nil {
			c.abandon()
			return 0, err
		}
	}
	n := copy(into[:min(len(into), c.frames.left)], c.buffer[c.next:c.end])
	c.next += n
	if f, complete := c.frames.pass(into[:n]); complete {
		c.begin(f)
	}
	return n, nil
}

// fill reads into the empty buffer, whose size it adapts.
func (c *Conn) fill() error {
	switch size := len(c.buffer); {
	case c.end == size && size < manyBytes:
		if fixed := c.fixed.Load(); c.ledger.connections.take(fixed.account, int64(size)) {
			if !fixed.add(int64(size)) { // it is closed
				c.ledger.connections.give(fixed.account, int64(size))
			}
			c.buffer = make([]byte, 2*size)
		}
		c.small = 0
	case size > fewBytes && c.end <= size/4:
		if c.small++; c.small == seldom {
			fixed := c.fixed.Load()
			c.ledger.connections.give(fixed.account, fixed.remove(int64(size/2)))
			c.buffer, c.small = make([]byte, size/2), 0
		}
	default:
		c.small = 0
	}
	n, err := c.Conn.Read(c.buffer)
	c.next, c.end = 0, n
	if n > 0 {
		return nil
	}
	return err
}

// begin counts a frame whose header was read.
func (c *Conn) begin(f frame) {
	switch f.FrameType {
	case http2.FrameHeaders:
		c.last = f.stream
	case http2.FrameData:
		call := c.calls[f.stream]
		if call == nil {
			return
		}
		call.receive(int64(f.length))
		if f.Has(http2.FlagDataEndStream) {
			delete(c.calls, f.stream)
		}
	case http2.FrameRSTStream:
		delete(c.calls, f.stream)
	}
}

// open adds the call of the last HEADERS frame.
func (c *Conn) open(call *Call) {
	if len(c.calls) >= c.sweep {
		for stream, call := range c.calls {
			if call.held.ended() {
				delete(c.calls, stream)
			}
		}
		c.sweep = max(2*len(c.calls), fewCalls)
	}
	c.calls[c.last] = call
}

// abandon gives back what calls have received that will never end, as nothing handles them. Nothing more is received.
func (c *Conn) abandon() {
	for _, call := range c.calls {
		call.release()
	}
	clear(c.calls)
}

// Write implements net.Conn.
func (c *Conn) Write(bytes []byte) (int, error) {
	n, err := c.Conn.Write(bytes)
	c.written.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.closed.Store(true)
	if c.stranger {
		c.ledger.strangers.leave(c)
	}
	fixed := c.fixed.Load()
	c.ledger.connections.give(fixed.account, fixed.end())
	for u := &c.unread; u != nil; u = u.next.Load() {
		c.ledger.unread.give(u.account, u.end())
	}
	return c.Conn.Close()
}

// RemoteAddr implements net.Conn. The address leads from a call to its connection.
func (c *Conn) RemoteAddr() net.Addr { return remote{c.Conn.RemoteAddr(), c} }

type remote struct {
	net.Addr
	conn *Conn
}
