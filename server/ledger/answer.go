package ledger

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// least is the size from which on answers count. Smaller ones are part of what an open call counts.
const least = 4 << 10

// answer is an encoded answer that counts until gRPC has written it or its connection is closed. It is the pool to which gRPC
// returns its buffer.
type answer struct {
	encoded wire.Encoded
	conn    *Conn
	freed   atomic.Bool
	// waits closes a connection that takes nothing, written is how many bytes it had taken when that was last looked at.
	waits   atomic.Pointer[time.Timer]
	written int64
}

// answer counts a message that is an answer, and returns what is to be sent.
func (c *Call) answer(m any) (any, error) {
	encoded, ok := m.(wire.Encoded)
	if !ok || len(encoded) < least {
		return m, nil
	}
	l, bytes := c.conn.ledger, int64(len(encoded))
	if !l.unread.take(c.conn.client, bytes) {
		return nil, l.refused(Unread)
	}
	if !c.conn.unread.add(bytes) { // it is closed
		l.unread.give(c.conn.client, bytes)
		return m, nil
	}
	a := &answer{encoded: encoded, conn: c.conn, written: c.conn.written.Load()}
	if l.settings.SendTimeout > 0 {
		a.waits.Store(time.AfterFunc(l.settings.SendTimeout, a.overdue))
	}
	return a, nil
}

// Buffer implements wire.Buffered.
func (a *answer) Buffer() mem.Buffer {
	bytes := []byte(a.encoded)
	return mem.NewBuffer(&bytes, a)
}

// Size implements wire.Buffered.
func (a *answer) Size() int { return len(a.encoded) }

// overdue closes a connection that has taken nothing since it was last looked at.
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
	a.conn.ledger.unread.give(a.conn.client, a.conn.unread.remove(int64(len(a.encoded))))
}
