package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressLine says on a terminal what takes long, in a line that is erased before anything else is written. It is safe for
// concurrent use.
type progressLine struct {
	w        io.Writer
	interval time.Duration // until the line appears, and between its changes

	mu     sync.Mutex
	shown  bool
	silent bool // something is written to the same terminal
}

// during calls f, and says what it is doing if it takes longer than the interval. quiet is if the terminal is read from. A nil
// progressLine says nothing.
func (p *progressLine) during(what string, quiet bool, f func() error) error {
	if p == nil || quiet {
		return f()
	}
	p.mu.Lock()
	p.silent = false
	p.mu.Unlock()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(p.interval)
		defer tick.Stop()
		for start := time.Now(); ; {
			select {
			case <-done:
				return
			case now := <-tick.C:
				p.show(fmt.Sprintf("stowage: %s: %s", what, now.Sub(start).Round(p.interval)))
			}
		}
	}()
	defer func() {
		close(done)
		<-ended
		p.silence()
	}()
	return f()
}

func (p *progressLine) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		return
	}
	fmt.Fprint(p.w, "\r"+text+eraseLine)
	p.shown = true
}

// silence erases the line, and shows none until during is called again.
func (p *progressLine) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.silent = true
}

func (p *progressLine) erase() {
	if p.shown {
		fmt.Fprint(p.w, "\r"+eraseLine)
		p.shown = false
	}
}

// Write writes a message over the line.
func (p *progressLine) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	return p.w.Write(text)
}
