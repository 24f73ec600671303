package ledger

import (
	"container/list"
	"sync"
)

// strangers are the connections that began without a name, the oldest first. Connections are added and removed when they begin and
// end, which is not on the path of a request.
type strangers struct {
	mutex sync.Mutex
	order list.List
}

func (s *strangers) enter(c *Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.at = s.order.PushBack(c)
}

func (s *strangers) leave(c *Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c.at != nil {
		s.order.Remove(c.at)
		c.at = nil
	}
}

// oldest returns the oldest connection of an account that has no name yet, nil for none.
func (s *strangers) oldest(of account) *Conn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for e := s.order.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Conn); c.client == of && !c.named.Load() {
			return c
		}
	}
	return nil
}

// displace closes the oldest connection without a name of an account, so that callers with a name can connect from a host whose
// nameless connections have used up their share. It reports whether there was one.
func (l *Ledger) displace(of account) bool {
	c := l.strangers.oldest(of)
	if c == nil {
		return false
	}
	l.refusals[Connections].Add(1)
	_ = c.Close()
	return true
}
