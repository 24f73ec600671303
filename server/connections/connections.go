// Package connections bounds the connections of a listener, so that descriptors are left for everything else.
package connections

import (
	"net"
	"sync"
	"sync/atomic"
)

// Reserved is the number of file descriptors that are not for callers' connections, but for the log, certificates, exporters, and
// the AdminLimit connections of the admin address.
const Reserved = 32

// AdminLimit is the most connections of the admin address.
const AdminLimit = 16

// Default is the most connections that the process's limit of descriptors allows.
func Default() int { return limitFor(descriptors()) }

// limitFor returns the most connections for a limit of descriptors: all but Reserved, or half of few.
func limitFor(descriptors uint64) int {
	const most = 1 << 20 // where there is no limit
	descriptors = min(descriptors, most)
	return int(max(descriptors-min(descriptors, Reserved), descriptors/2, 1))
}

// Limited is a listener with a bound on open connections. It closes connections beyond the bound at once: a refused caller tries
// another replica, a waiting caller does not.
type Limited struct {
	net.Listener
	limit int64
	*counts
}

// counts are shared by listeners with one limit.
type counts struct{ open, refused atomic.Int64 }

// Limit bounds the connections of a listener.
func Limit(l net.Listener, limit int) *Limited { return &Limited{l, int64(limit), &counts{}} }

// With bounds the connections of two listeners together.
func (l *Limited) With(other net.Listener) *Limited { return &Limited{other, l.limit, l.counts} }

// Accept implements net.Listener.
func (l *Limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			return &counted{Conn: conn, open: &l.open}, nil
		}
		l.open.Add(-1)
		l.refused.Add(1)
		_ = conn.Close()
	}
}

// Counts returns the open connections, and how many were refused so far.
func (l *Limited) Counts() (open, refused int64) { return l.open.Load(), l.refused.Load() }

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
