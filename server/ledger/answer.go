package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// least is the size from which on answers count. The charge of an open call includes smaller ones.
const least = 4 << 10

// answer is an encoded answer that counts until gRPC has written it or its connection is closed. It is the pool to which gRPC
// returns its buffer.
type answer struct {
	encoded wire.Encoded
	conn    *Conn
	held    *unread
	freed   atomic.Bool
	// waits closes a connection whose client reads nothing. written is the number of bytes written at the last check.
	waits   atomic.Pointer[time.Timer]
	written int64
}

// unread is the charge of an account for unwritten answers on a connection. A connection has a list of them, which begins with its
// client's. Callers with a name append theirs; none is removed before the connection is closed, and there are at most as many as
// accounts.
type unread struct {
	holding
	next atomic.Pointer[unread]
}

// of returns the entry of an account, which it appends if there is none.
func (u *unread) of(client account) *unread {
	for u.account != client {
		next := u.next.Load()
		if next == nil {
			next = &unread{holding: holding{account: client}}
			if !u.next.CompareAndSwap(nil, next) {
				next = u.next.Load()
			}
		}
		u = next
	}
	return u
}

// answer charges a message that is an answer, and returns the message to send.
func (c *Call) answer(ctx context.Context, m any) (any, error) {
	encoded, ok := m.(wire.Encoded)
	if !ok || len(encoded) < least {
		return m, nil
	}
	l, bytes := c.conn.ledger, int64(len(encoded))
	client, parts := c.payer(ctx)
	if !l.unread.takeOf(client, bytes, parts) {
		return nil, l.refused(Unread)
	}
	held := c.conn.unread.of(client)
	if !held.add(bytes) { // the connection is closed
		l.unread.give(client, bytes)
		return m, nil
	}
	if c.conn.closed.Load() { // perhaps before the entry was there
		l.unread.give(client, held.end())
		return m, nil
	}
	a := &answer{encoded: encoded, conn: c.conn, held: held, written: c.conn.written.Load()}
	if l.settings.SendTimeout > 0 {
		a.waits.Store(time.AfterFunc(l.settings.SendTimeout, a.overdue))
	}
	return a, nil
}

// payer returns the account charged for an answer, and the number of parts of the room of which it may use one. A caller whose token
// was reviewed after the call began has a name by now.
func (c *Call) payer(ctx context.Context) (account, int64) {
	if c.parts > 1 {
		if name := c.conn.ledger.settings.Name(ctx); name != "" {
			return accountOf("client " + name), 1
		}
	}
	return c.client, c.parts
}

// Buffer implements wire.Buffered.
func (a *answer) Buffer() mem.Buffer {
	bytes := []byte(a.encoded)
	return mem.NewBuffer(&bytes, a)
}

// Size implements wire.Buffered.
func (a *answer) Size() int { return len(a.encoded) }

// overdue closes a connection that has written nothing since the last check.
func (a *answer) overdue() {
	if a.freed.Load() {
		return
	}
	written := a.conn.written.Load()
	if written == a.written {
		_ = a.conn.Close()
		return
	}
	a.written = written
	a.waits.Load().Reset(a.conn.ledger.settings.SendTimeout)
}

// Get implements mem.BufferPool. gRPC takes no buffer from it.
func (*answer) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put implements mem.BufferPool: the answer was written.
func (a *answer) Put(*[]byte) { a.release() }

func (a *answer) release() {
	if a.freed.Swap(true) {
		return
	}
	if t := a.waits.Load(); t != nil {
		t.Stop()
	}
	a.conn.ledger.unread.give(a.held.account, a.held.remove(int64(len(a.encoded))))
}
