package stowage

import (
	"context"

	"google.golang.org/grpc"
)

// streamAgain combines unaryAgain and putWhenUnknown for streams of responses, until the first part arrives. It returns later errors to
// the caller, who has seen parts.
func (c *Client) streamAgain(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if ctx.Value(tryKey{}) == nil {
		ctx = withTry(ctx, &try{replicas: &c.replicas})
	}
	if desc.ClientStreams {
		return open(ctx, desc, conn, method, options...)
	}
	s := &partsStream{ctx: ctx, client: c, route: &route{}}
	s.open = func() error {
		stream, err := open(withRoute(ctx, s.route), desc, conn, method, options...)
		if err == nil {
			s.ClientStream = stream
		}
		return err
	}
	return s, c.again(ctx, s.open)
}

// partsStream is a stream of responses to one request. It is reopened until its first part arrives.
type partsStream struct {
	grpc.ClientStream
	ctx     context.Context // of the call; the stream's Context method would disable gRPC's retries
	client  *Client
	route   *route
	open    func() error
	request any
	begun   bool
}

// SendMsg implements grpc.ClientStream. Generated code calls it once, before it hands out the stream.
func (s *partsStream) SendMsg(request any) error {
	s.request = request
	return s.ClientStream.SendMsg(request)
}

// RecvMsg implements grpc.ClientStream.
func (s *partsStream) RecvMsg(part any) error {
	if s.begun {
		return s.ClientStream.RecvMsg(part)
	}
	s.begun = true
	known := s.client.remembered.find(snapshotOf(s.request).GetAddress())
	opened := true
	return s.client.again(s.ctx, func() error {
		return s.client.putting(s.ctx, known, s.route, func() error {
			if !opened {
				if err := s.reopen(); err != nil {
					return err
				}
			}
			opened = false
			return s.ClientStream.RecvMsg(part)
		})
	})
}

// reopen sends the request again. RecvMsg returns errors of sending.
func (s *partsStream) reopen() error {
	if err := s.open(); err != nil {
		return err
	}
	_ = s.ClientStream.SendMsg(s.request)
	return s.ClientStream.CloseSend()
}
