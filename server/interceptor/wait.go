package interceptor

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// deadlineStream is a stream with a shorter context. RecvMsg and SendMsg return when that context is done; gRPC's own
// wait until the handler returns.
type deadlineStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *deadlineStream) Context() context.Context { return s.ctx }

// RecvMsg receives in a goroutine. If the context is done first, the goroutine owns the message and ends with the stream.
// There is at most one such goroutine, as later calls return at once.
func (s *deadlineStream) RecvMsg(m any) error {
	if err := s.ctx.Err(); err != nil {
		return rpcerror.Cancelled(err)
	}
	var claimed atomic.Bool // by the receiver or by the timeout, whichever is first
	received := make(chan error, 1)
	go func() {
		err := recovered(s.ServerStream.RecvMsg, m)
		if !claimed.CompareAndSwap(false, true) {
			if m, ok := m.(interface{ Free() }); ok && err == nil {
				m.Free()
			}
			return
		}
		received <- err
	}()
	select {
	case err := <-received:
		return err
	case <-s.ctx.Done():
	}
	if claimed.CompareAndSwap(false, true) {
		return rpcerror.Cancelled(s.ctx.Err())
	}
	return <-received
}

// SendMsg sends in a goroutine. If the context is done first, the goroutine ends with the stream.
func (s *deadlineStream) SendMsg(m any) error {
	sent := make(chan error, 1)
	go func() { sent <- recovered(s.ServerStream.SendMsg, m) }()
	select {
	case err := <-sent:
		return err
	case <-s.ctx.Done():
		return rpcerror.Cancelled(s.ctx.Err())
	}
}

// recovered returns a panic of f as an error. The recovery interceptors do not see panics of other goroutines.
func recovered(f func(any) error, m any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	return f(m)
}
