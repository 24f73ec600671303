package ledger

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// Registrar returns a registrar whose handlers the ledger bounds. gRPC's interceptors would see a unary call only when its request
// has been received.
func (l *Ledger) Registrar(to grpc.ServiceRegistrar) grpc.ServiceRegistrar { return registrar{to, l} }

type registrar struct {
	to     grpc.ServiceRegistrar
	ledger *Ledger
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(d *grpc.ServiceDesc, service any) {
	d = new(*d)
	d.Methods, d.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for i := range d.Methods {
		d.Methods[i].Handler = r.ledger.unary(d.Methods[i].Handler)
	}
	for i := range d.Streams {
		d.Streams[i].Handler = stream(d.Streams[i].Handler)
	}
	r.to.RegisterService(d, service)
}

func (l *Ledger) unary(handle grpc.MethodHandler) grpc.MethodHandler {
	return func(service any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		call, err := begin(ctx)
		if err != nil {
			return nil, err
		}
		if call == nil {
			return handle(service, ctx, receive, interceptor)
		}
		answer, err := handle(service, ctx, func(m any) error {
			if l.settings.ReceiveTimeout > 0 {
				defer time.AfterFunc(l.settings.ReceiveTimeout, call.late).Stop()
			}
			return receive(m)
		}, interceptor)
		if err != nil {
			return nil, call.errorOr(err)
		}
		return call.answer(ctx, answer)
	}
}

// late ends a call whose request takes too long to arrive.
func (c *Call) late() { c.refuse(rpcerror.Cancelled(context.DeadlineExceeded)) }

func stream(handle grpc.StreamHandler) grpc.StreamHandler {
	return func(service any, stream grpc.ServerStream) error {
		call, err := begin(stream.Context())
		if err != nil {
			return err
		}
		if call == nil {
			return handle(service, stream)
		}
		return call.errorOr(handle(service, &countedStream{stream, call}))
	}
}

type countedStream struct {
	grpc.ServerStream
	call *Call
}

// SendMsg implements grpc.ServerStream.
func (s *countedStream) SendMsg(m any) error {
	counted, err := s.call.answer(s.Context(), m)
	if err != nil {
		return err
	}
	err = s.ServerStream.SendMsg(counted)
	if a, ok := counted.(*answer); ok && err != nil {
		a.release()
	}
	return err
}
