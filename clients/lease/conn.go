package lease

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrNotHeld is returned for a write that was not sent because the lease is not held.
var ErrNotHeld = errors.New("the lease is not held any more")

// Dial connects to a server that must receive nothing once the lease is not held. It is rest.Config's Dial for clients
// whose requests only a leader may send. A connection belongs to one term: data that it has not sent by the end of the term
// is never sent, and the client connects again in a later term.
func (l *Lock) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	// As client-go dials (transport/cache.go).
	term := l.Term()
	c, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c, l, term}, nil
}

type conn struct {
	net.Conn
	lock *Lock
	term uint64 // in which it was dialled
}

// Write implements net.Conn.
func (c conn) Write(b []byte) (int, error) {
	if term := c.lock.Term(); term == 0 || term != c.term {
		return 0, ErrNotHeld
	}
	return c.Conn.Write(b)
}
