package admission

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestBreathe has one processor, and a goroutine that waits for what can be read already.
func TestBreathe(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }()
	var was atomic.Bool
	go func() {
		_, err := read.Read(make([]byte, 1))
		was.Store(err == nil)
	}()
	b := newBreather()
	b.breathe() // the goroutine begins to wait
	if _, err := write.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.breathe()
	}
	if !was.Load() {
		t.Error("the network is not read")
	}
}

// TestBreatheWithoutPipe is what happens without file descriptors.
func TestBreatheWithoutPipe(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var was atomic.Bool
	go was.Store(true)
	for range 3 {
		new(breather).breathe()
	}
	if !was.Load() {
		t.Error("the other goroutine does not run")
	}
}

func BenchmarkBreathe(b *testing.B) {
	breather := newBreather()
	for b.Loop() {
		breather.breathe()
	}
}
