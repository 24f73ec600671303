package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// Settings are limits.
type Settings struct {
	// ReceivingBytes, UnreadBytes and ConnectionBytes bound requests that are being received, answers that are not read, and
	// connections.
	ReceivingBytes, UnreadBytes, ConnectionBytes int64
	// ReceiveTimeout bounds how long a request may take to arrive. SendTimeout is after how long a connection is closed that reads
	// none of its pending answers. 0 is no bound.
	ReceiveTimeout, SendTimeout time.Duration
	// Name returns the name of a call's caller if it is known before the call begins, otherwise an empty one. It must not wait. nil
	// if the server knows no identities.
	Name func(context.Context) string
}

// Ledger counts bytes.
type Ledger struct {
	settings                       Settings
	receiving, unread, connections meter
	refusals                       [kinds]atomic.Int64
	strangers                      strangers
}

// New returns a Ledger.
func New(s Settings) *Ledger {
	l := &Ledger{settings: s}
	l.receiving.limit, l.unread.limit, l.connections.limit = s.ReceivingBytes, s.UnreadBytes, s.ConnectionBytes
	return l
}

// Kind is a kind of memory.
type Kind uint8

// The kinds.
const (
	// Receiving are requests that are being received, and open calls.
	Receiving Kind = iota
	// Unread are answers that are not written yet.
	Unread
	// Connections are connections and their buffers.
	Connections
	kinds = iota
)

// String returns the name of a kind in metrics.
func (k Kind) String() string { return [kinds]string{"receiving", "unread", "connections"}[k] }

// Count is the usage of a kind of memory.
type Count struct {
	Kind
	// Bytes are held now, Limit is their limit.
	Bytes, Limit int64
	// Refusals is the number of calls, answers or connections refused so far.
	Refusals int64
}

// Counts returns the counts of all kinds.
func (l *Ledger) Counts() []Count {
	out := make([]Count, 0, kinds)
	for kind, m := range []*meter{Receiving: &l.receiving, Unread: &l.unread, Connections: &l.connections} {
		out = append(out, Count{Kind(kind), m.total.Load(), m.limit, l.refusals[kind].Load()})
	}
	return out
}

// Options returns the server options that the ledger needs.
func (l *Ledger) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.StatsHandler(l),
		grpc.ReadBufferSize(0), // Conn has one
		grpc.MaxHeaderListSize(64 << 10),
	}
}
