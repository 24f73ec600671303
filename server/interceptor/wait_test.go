package interceptor

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// messages is a server stream. RecvMsg returns what the functions sent on come return, and io.EOF once come is closed.
type messages struct {
	grpc.ServerStream
	ctx  context.Context
	come chan func() error
}

func (s *messages) Context() context.Context { return s.ctx }

func (s *messages) RecvMsg(any) error {
	come, ok := <-s.come
	if !ok {
		return io.EOF
	}
	return come()
}

// counted is a request that counts how often it is freed.
type counted struct{ freed atomic.Int32 }

func (c *counted) Free() { c.freed.Add(1) }

// streamed lets a stream through the chain, up to the handler.
func streamed(stream grpc.ServerStream, longest time.Duration, handle func(grpc.ServerStream) error) error {
	next := func(_ any, s grpc.ServerStream) error { return handle(s) }
	chain := Stream(Chain(Settings{Log: discard, InFlight: NewInFlight(1), MaxDuration: longest}))
	info := &grpc.StreamServerInfo{FullMethod: "/stowage.v1.PlacementService/PutSnapshot"}
	for _, outer := range slices.Backward(chain) {
		inner := next
		next = func(service any, s grpc.ServerStream) error { return outer(service, s, info, inner) }
	}
	return next(nil, stream)
}

func TestStreamDeadlineEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &messages{ctx: t.Context(), come: make(chan func() error)}
		late := new(counted)
		err := streamed(s, 10*time.Millisecond, func(s grpc.ServerStream) error {
			err := s.RecvMsg(late)
			if again := s.RecvMsg(new(counted)); status.Code(again) != codes.DeadlineExceeded {
				t.Errorf("received once more: %v", again)
			}
			return err
		})
		if code, why, _ := reason(t, err); code != codes.DeadlineExceeded || why != "CANCELLED" {
			t.Errorf("the stream ended with %v", err)
		}
		s.come <- func() error { return nil }
		synctest.Wait()
		if n := late.freed.Load(); n != 1 {
			t.Errorf("a message that came too late was freed %d times", n)
		}
	})
}

func TestStreamDeadlineWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &messages{ctx: t.Context(), come: make(chan func() error, 1)}
		s.come <- func() error { return nil }
		working := false
		err := streamed(s, time.Minute, func(s grpc.ServerStream) error {
			m := new(counted)
			if err := s.RecvMsg(m); err != nil || m.freed.Load() > 0 {
				t.Errorf("a message in time: %v, freed %d times", err, m.freed.Load())
			}
			working = true
			<-s.Context().Done()
			time.Sleep(time.Hour)
			working = false
			return s.RecvMsg(m)
		})
		if working || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("still at work: %v, the stream ended with %v", working, err)
		}
	})
}

func TestStreamWithinDeadline(t *testing.T) {
	broken := errors.New("broken")
	s := &messages{ctx: t.Context(), come: make(chan func() error, 3)}
	s.come <- func() error { return nil }
	s.come <- func() error { return broken }
	s.come <- func() error { panic("secret") }
	close(s.come)
	_ = streamed(s, time.Hour, func(s grpc.ServerStream) error {
		for _, want := range []error{nil, broken} {
			if err := s.RecvMsg(nil); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if code, why, _ := reason(t, s.RecvMsg(nil)); code != codes.Internal || why != "INTERNAL" {
			t.Errorf("a panic: %v %s", code, why)
		}
		if err := s.RecvMsg(nil); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
		return nil
	})
}

// A message that comes as the deadline does is either received or freed.
func TestStreamDeadlineLosesNothingToRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		received := 0
		const tries = 60
		for range tries {
			s := &messages{ctx: t.Context(), come: make(chan func() error)}
			m := new(counted)
			go func() {
				time.Sleep(time.Millisecond)
				s.come <- func() error { return nil }
			}()
			_ = streamed(s, time.Millisecond, func(s grpc.ServerStream) error {
				err := s.RecvMsg(m)
				if err == nil {
					received++
					m.Free()
				}
				return err
			})
			synctest.Wait()
			if n := m.freed.Load(); n != 1 {
				t.Fatalf("freed %d times", n)
			}
		}
		if received == 0 || received == tries {
			t.Errorf("%d of %d messages are received, which is no race", received, tries)
		}
	})
}
