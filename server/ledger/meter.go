package ledger

import (
	"hash/maphash"
	"sync/atomic"
)

// accounts is the number of accounts of a meter. Clients whose names have the same hash share one.
const accounts = 256

// account is the number of a client's account.
type account uint8

var seed = maphash.MakeSeed()

func accountOf(client string) account { return account(maphash.String(seed, client) % accounts) }

// meter counts bytes against a limit that clients share.
type meter struct {
	limit int64
	total atomic.Int64
	of    [accounts]atomic.Int64
}

// take takes bytes for a client, and reports whether it got them.
func (m *meter) take(client account, bytes int64) bool { return m.takeOf(client, bytes, 1) }

// takeOf is take for a client that may use one of parts shares of the room.
func (m *meter) takeOf(client account, bytes, parts int64) bool {
	mine, total := m.of[client].Add(bytes), m.total.Add(bytes)
	if mine <= (m.limit-total)/parts {
		return true
	}
	m.give(client, bytes)
	return false
}

// force takes bytes for a client whether there is room or not.
func (m *meter) force(client account, bytes int64) {
	m.of[client].Add(bytes)
	m.total.Add(bytes)
}

// give gives bytes back.
func (m *meter) give(client account, bytes int64) {
	m.of[client].Add(-bytes)
	m.total.Add(-bytes)
}

// counted is a number of bytes that is given back once.
type counted struct{ bytes atomic.Int64 }

// none, far below zero, marks a number of bytes that was given back for good.
const none = -1 << 62

// add adds bytes that were taken. It reports false if all was given back before: then the caller must give these back.
func (c *counted) add(bytes int64) bool { return c.bytes.Add(bytes) >= 0 }

// remove removes bytes, at most all, and returns the number that the caller must give back.
func (c *counted) remove(bytes int64) int64 {
	for {
		have := c.bytes.Load()
		bytes := min(bytes, have)
		if bytes <= 0 {
			return 0
		}
		if c.bytes.CompareAndSwap(have, have-bytes) {
			return bytes
		}
	}
}

// end removes all bytes, for good, and returns the number that the caller must give back.
func (c *counted) end() int64 { return max(c.bytes.Swap(none), 0) }

// ended reports whether all was given back for good.
func (c *counted) ended() bool { return c.bytes.Load() < 0 }
