package interceptor

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// limitedWait is a stream that has a context of its own, with which waiting for a message, or for the other side to take one, ends. gRPC by itself waits until
// the handler returns.
type limitedWait struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *limitedWait) Context() context.Context { return s.ctx }

// RecvMsg receives in a goroutine of its own, which ends with the stream if the context ends before a message is there.
// The message then belongs to that goroutine. There is no other, since nothing is received any more.
func (s *limitedWait) RecvMsg(m any) error {
	if err := s.ctx.Err(); err != nil {
		return rpcerror.Cancelled(err)
	}
	var decided atomic.Bool // whether the message is there, or given up
	received := make(chan error, 1)
	go func() {
		err := receive(s.ServerStream, m)
		if !decided.CompareAndSwap(false, true) {
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
	if decided.CompareAndSwap(false, true) {
		return rpcerror.Cancelled(s.ctx.Err())
	}
	return <-received
}

// SendMsg sends in a goroutine of its own, which ends with the stream if the context ends before the message is on its way.
func (s *limitedWait) SendMsg(m any) error {
	sent := make(chan error, 1)
	go func() { sent <- send(s.ServerStream, m) }()
	select {
	case err := <-sent:
		return err
	case <-s.ctx.Done():
		return rpcerror.Cancelled(s.ctx.Err())
	}
}

func send(stream grpc.ServerStream, m any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = internalError(p)
		}
	}()
	return stream.SendMsg(m)
}

// receive is RecvMsg whose panic is an error: nobody recovers it where it is called.
func receive(stream grpc.ServerStream, m any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = internalError(p)
		}
	}()
	return stream.RecvMsg(m)
}
