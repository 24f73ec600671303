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
// returns its buffer. gRPC drops the answers of a closed connection without returning them, so nothing else may refer to an answer:
// its bytes would stay in the heap uncounted.
type answer struct {
	encoded wire.Encoded
	held    *unread
	freed   atomic.Bool
}

// unread is the charge of an account for unwritten answers on a connection. A connection has a list of them, which begins with its
// client's. Callers with a name append theirs; none is removed before the connection is closed, and there are at most as many as
// accounts.
type unread struct {
	holding
	conn *Conn
	next atomic.Pointer[unread]
	// timer closes the connection if its client reads nothing while answers wait; nil for no limit. written is the number of bytes
	// written at the first answer, or at the last check.
	timer   *time.Timer
	written atomic.Int64
}

func newUnread(c *Conn, client account) *unread {
	u := &unread{holding: holding{account: client}, conn: c}
	if timeout := c.ledger.settings.SendTimeout; timeout > 0 {
		u.timer = time.AfterFunc(timeout, u.check)
		u.timer.Stop()
	}
	return u
}

// of returns the entry of an account, which it appends if there is none.
func (u *unread) of(client account) *unread {
	for u.account != client {
		next := u.next.Load()
		if next == nil {
			next = newUnread(u.conn, client)
			if !u.next.CompareAndSwap(nil, next) {
				next = u.next.Load()
			}
		}
		u = next
	}
	return u
}

// charge adds the bytes of an answer. It reports false if the connection is closed.
func (u *unread) charge(bytes int64) bool {
	total := u.bytes.Add(bytes)
	if total == bytes && u.timer != nil {
		u.written.Store(u.conn.written.Load())
		u.timer.Reset(u.conn.ledger.settings.SendTimeout)
	}
	return total >= 0
}

// check closes a connection that has written nothing since the last check.
func (u *unread) check() {
	if u.bytes.Load() <= 0 { // the next answer starts the timer
		return
	}
	written := u.conn.written.Load()
	if u.written.Swap(written) == written {
		_ = u.conn.Close()
		return
	}
	u.timer.Reset(u.conn.ledger.settings.SendTimeout)
}

// end removes all bytes, for good, and returns the number that the caller must give back.
func (u *unread) end() int64 {
	if u.timer != nil {
		u.timer.Stop()
	}
	return u.holding.end()
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
	if !held.charge(bytes) { // the connection is closed
		l.unread.give(client, bytes)
		return m, nil
	}
	if c.conn.closed.Load() { // perhaps before the entry was there
		l.unread.give(client, held.end())
		return m, nil
	}
	return &answer{encoded: encoded, held: held}, nil
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

// Get implements mem.BufferPool. gRPC takes no buffer from it.
func (*answer) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put implements mem.BufferPool: the answer was written.
func (a *answer) Put(*[]byte) { a.release() }

func (a *answer) release() {
	if !a.freed.Swap(true) {
		a.held.conn.ledger.unread.give(a.held.account, a.held.remove(int64(len(a.encoded))))
	}
}
