package ledger

import (
	"container/list"
	"net"
	"sync/atomic"

	"golang.org/x/net/http2"
)

const (
	// fewBytes and manyBytes bound the size of a connection's buffer for reading, which follows the size of reads.
	fewBytes, manyBytes = 4 << 10, 256 << 10
	// seldom is the number of reads of less than a quarter of a buffer after which it becomes smaller.
	seldom = 4
	// connectionBytes is the charge of a connection in addition to its buffer, openBytes the charge of an open call: goroutines, the
	// state of gRPC and of TLS.
	connectionBytes, openBytes = 64 << 10, 16 << 10
	// fewCalls is the number of calls from which on a connection looks for ended calls.
	fewCalls = 64
)

// Conn is a connection that counts what its calls receive. Only one goroutine may read from it: gRPC's.
type Conn struct {
	net.Conn
	ledger *Ledger
	client account
	// fixed is the charge of the connection itself, paid by its host until a call on it has a name.
	fixed  atomic.Pointer[holding]
	closed atomic.Bool
	named  atomic.Bool // whether the connection or a call on it has a name
	// stranger is whether the connection began without a name, and at its place in the list of such connections.
	stranger bool
	at       *list.Element
	// unread is the charge of unwritten answers, by the caller's account.
	unread *unread
	// written is the number of bytes written so far.
	written atomic.Int64

	// The fields below belong to the reading goroutine.
	frames frames
	buffer []byte
	// next and end delimit the unread part of the buffer, and small counts reads in a row of less than a quarter of it.
	next, end, small int
	// last is the stream of the last HEADERS frame.
	last  uint32
	calls map[uint32]*Call
	// sweep is the number of calls from which on the connection looks for ended calls.
	sweep int
}

// holding is a number of bytes charged to an account.
type holding struct {
	account account
	counted
}

// newConn returns the connection of a client, nil if the client has too many. The client may use one of parts shares of the room.
func (l *Ledger) newConn(under net.Conn, client string, parts int64) *Conn {
	c := &Conn{
		Conn: under, ledger: l, client: accountOf(client), frames: newFrames(),
		buffer: make([]byte, fewBytes), calls: map[uint32]*Call{}, sweep: fewCalls,
	}
	charge := int64(connectionBytes)
	if o, ok := under.(interface{ Overhead() int64 }); ok { // it stands for another connection
		charge += o.Overhead()
	}
	if !l.connections.takeOf(c.client, charge, parts) && !(parts > 1 && l.displace(c.client) && l.connections.takeOf(c.client, charge, parts)) {
		return nil
	}
	c.unread = newUnread(c, c.client)
	c.fixed.Store(&holding{account: c.client})
	c.fixed.Load().add(charge)
	c.stranger = parts > 1
	c.named.Store(!c.stranger)
	if c.stranger {
		l.strangers.enter(c)
	}
	return c
}

// name moves the connection's charge to the account of a caller who made a call on it. The reading goroutine calls it.
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

// abandon gives back the bytes of calls that will never end, as no handler serves them. The connection receives nothing afterwards.
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
	for u := c.unread; u != nil; u = u.next.Load() {
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
