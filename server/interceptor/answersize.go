package interceptor

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// boundAnswer refuses a call whose answer is larger than what the caller accepts. The caller's own gRPC library would discard it, with an
// error that has no details.
func boundAnswer() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		limit, err := accepted(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := handle(ctx, r)
		if err == nil {
			err = fits(answer, limit)
		}
		if err != nil {
			return nil, err
		}
		return answer, nil
	}
}

// boundMessages is boundAnswer for each message of a stream.
func boundMessages() grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		limit, err := accepted(stream.Context())
		if err != nil {
			return err
		}
		return handle(service, &boundStream{stream, limit})
	}
}

type boundStream struct {
	grpc.ServerStream
	limit int64
}

// SendMsg implements grpc.ServerStream.
func (s *boundStream) SendMsg(m any) error {
	if err := fits(m, s.limit); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

func accepted(ctx context.Context) (int64, error) {
	limit, ok := answersize.Of(ctx)
	if !ok {
		return 0, status.Error(codes.InvalidArgument, answersize.Header+": must be a number of bytes, at least 1")
	}
	return limit, nil
}

func fits(m any, limit int64) error {
	var size int64
	switch m := m.(type) {
	case wire.Encoded:
		size = int64(len(m))
	case wire.Buffered:
		size = int64(m.Size())
	case proto.Message:
		size = int64(proto.Size(m))
	}
	if size > limit {
		return rpcerror.AnswerTooLarge(size, limit)
	}
	return nil
}
