package admission

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// readable starts a goroutine that waits for what can be read already, on one processor. It returns whether it was read.
func readable(t *testing.T) *atomic.Bool {
	t.Helper()
	processors := runtime.GOMAXPROCS(1)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		runtime.GOMAXPROCS(processors)
		_, _ = read.Close(), write.Close()
	})
	was := new(atomic.Bool)
	go func() {
		_, err := read.Read(make([]byte, 1))
		was.Store(err == nil)
	}()
	newBreather().breathe() // the goroutine begins to wait
	if _, err := write.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	return was
}

func TestBreathe(t *testing.T) {
	was := readable(t)
	b := newBreather()
	for range 3 {
		b.breathe()
	}
	if !was.Load() {
		t.Error("the network is not read")
	}
}

// A request that computes with the last seat lets the network be read.
func TestLeaseBreathes(t *testing.T) {
	l := New(Settings{Seats: 1})
	lease := hold(t.Context(), t, l, time.Minute)
	defer lease.Release()
	computing := lease.Context(t.Context())
	was := readable(t)
	for i, begin := 0, time.Now(); i < 100 || time.Since(begin) < 4*breath; i++ {
		if err := computing.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if !was.Load() {
		t.Error("the network is not read")
	}
}

// A byte that came too late is read with the next one.
func TestBreatheLate(t *testing.T) {
	b := newBreather()
	b.owed++
	b.breathe()
	if b.owed != 1 {
		t.Errorf("%d bytes are owed", b.owed)
	}
	if _, err := b.write.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	b.breathe()
	if b.owed != 0 {
		t.Errorf("%d bytes are owed", b.owed)
	}
}

// TestBreatheWithoutPipe is what happens without file descriptors, and when the pipe fails.
func TestBreatheWithoutPipe(t *testing.T) {
	closed := newBreather()
	_ = closed.write.Close()
	for name, b := range map[string]*breather{"no pipe": {}, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			var was atomic.Bool
			go was.Store(true)
			for range 3 {
				b.breathe()
			}
			if !was.Load() {
				t.Error("the other goroutine does not run")
			}
		})
	}
}

func BenchmarkBreathe(b *testing.B) {
	breather := newBreather()
	for b.Loop() {
		breather.breathe()
	}
}
