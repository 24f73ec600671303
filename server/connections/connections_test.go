package connections

import (
	"errors"
	"math"
	"net"
	"testing"
	"time"
)

func TestWithin(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		0: 1, 1: 1, 16: 8, 48: 24, 64: 32, 1024: 992, 1 << 20: 1<<20 - 32, math.MaxUint64: 1<<20 - 32,
	} {
		if got := limitFor(descriptors); got != want {
			t.Errorf("of %d descriptors %d are for connections, want %d", descriptors, got, want)
		}
	}
}

// TestConnectionsBeyondTheLimitAreClosed expects that they end at once, and that a closed one makes room for another.
func TestConnectionsBeyondTheLimitAreClosed(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(tcp, 2)
	accepted := make(chan net.Conn, 10)
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	third := dial()
	if err := third.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := third.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the third connection is not closed: %v", err)
	}
	if open, refused := l.Counts(); open != 2 || refused != 1 {
		t.Errorf("%d are open and %d were refused, want 2 and 1", open, refused)
	}
	for range 2 { // closed twice, counted once
		_ = first.Close()
	}
	dial()
	fourth := <-accepted
	if open, refused := l.Counts(); open != 2 || refused != 1 {
		t.Errorf("%d are open and %d were refused, want 2 and 1", open, refused)
	}
	_, _, _ = second.Close(), fourth.Close(), l.Close()
	<-accepted
	if open, _ := l.Counts(); open != 0 {
		t.Errorf("%d are open, want none", open)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
