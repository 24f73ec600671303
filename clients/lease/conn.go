package lease

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrNotHeld means that a connection or a write was not made because the lease is not held. A request that ends with it may have been
// sent: a connection that fails to write anything, such as the answer to a ping, ends all requests that wait for an answer. The Look of
// package connect reports which requests were sent.
var ErrNotHeld = errors.New("the lease is no longer held")

// Dialer returns a dial function for connections that send only while the lease is held. It is rest.Config's Dial for clients whose
// requests only a leader may send. term is the Term method of a Lock or an Observed. A connection belongs to one term: data that it has
// not sent by the end of the term is never sent, and the client connects again in a later term. A request may get a connection of a
// later term than its decision, so its term must be checked once it has a connection, as connect.Looking does.
//
// A connection ends if the server does not acknowledge data within the limit, the longest time that a request may take, because the
// kernel would continue to send for minutes. Only Linux supports this. Unsent data is discarded when the connection is closed.
func Dialer(term func() uint64, limit time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// As client-go dials (transport/cache.go).
		dialled := term()
		if dialled == 0 {
			return nil, ErrNotHeld
		}
		c, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			if err := errors.Join(tcp.SetLinger(0), acknowledgedWithin(tcp, limit)); err != nil {
				c.Close()
				return nil, err
			}
		}
		return conn{c, term, dialled}, nil
	}
}

type conn struct {
	net.Conn
	term    func() uint64
	dialled uint64 // the term in which it was dialled
}

// Write implements net.Conn.
func (c conn) Write(b []byte) (int, error) {
	if term := c.term(); term == 0 || term != c.dialled {
		return 0, ErrNotHeld
	}
	return c.Conn.Write(b)
}
