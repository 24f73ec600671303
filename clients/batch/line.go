package batch

import "sync"

// line is where calls of the API server wait that are less urgent than bindings. Some are made at a time; of those that wait
// the oldest are dropped once there are too many.
type line struct {
	limit int // how many may wait

	mutex   sync.Mutex
	free    int         // how many more may be made now
	waiting []chan bool // the oldest first; receives true to start, false when dropped
}

func newLine(atATime, limit int) *line { return &line{limit: limit, free: atATime} }

// do makes a call when its turn comes, and tells whether it did.
func (l *line) do(call func()) bool {
	if !l.enter() {
		return false
	}
	defer l.leave()
	call()
	return true
}

func (l *line) enter() bool {
	l.mutex.Lock()
	if l.free > 0 {
		l.free--
		l.mutex.Unlock()
		return true
	}
	turn := make(chan bool, 1)
	l.waiting = append(l.waiting, turn)
	if len(l.waiting) > l.limit {
		l.waiting[0] <- false
		l.waiting = l.waiting[1:]
	}
	l.mutex.Unlock()
	return <-turn
}

func (l *line) leave() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.waiting) == 0 {
		l.free++
		return
	}
	l.waiting[0] <- true
	l.waiting = l.waiting[1:]
}
