package batch

import "sync"

// line limits concurrent API calls that are less urgent than bindings. If too many wait, it drops the oldest.
type line struct {
	limit int // maximum queue length

	mutex   sync.Mutex
	free    int         // calls that may start now
	waiting []chan bool // the oldest first; receives true to start, false when dropped
}

func newLine(atATime, limit int) *line { return &line{limit: limit, free: atATime} }

// do makes a call when it is due, and reports whether it was made.
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
