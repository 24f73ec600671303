// Package answersize declares the maximum size of messages that a caller accepts. gRPC libraries do not send their configured limit,
// so a server would learn about it only from a rejected answer.
package answersize

import (
	"context"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Header is the header with the limit in bytes, a decimal number. Of several headers the last one applies.
const Header = "stowage-max-answer-bytes"

// Default is the limit of a call without the header: gRPC's own default for received messages.
const Default = 4 << 20

// DialOptions set the limit of a connection and declare it in each call.
func DialOptions(limit int) []grpc.DialOption {
	value := strconv.Itoa(limit)
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit)),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			invoke grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			return invoke(metadata.AppendToOutgoingContext(ctx, Header, value), method, request, reply, conn, options...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string,
			stream grpc.Streamer, options ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return stream(metadata.AppendToOutgoingContext(ctx, Header, value), d, conn, method, options...)
		}),
	}
}

// Of returns the limit of a call that a server received. ok is false if the header has no positive number.
func Of(ctx context.Context) (limit int64, ok bool) {
	values := metadata.ValueFromIncomingContext(ctx, Header)
	if len(values) == 0 {
		return Default, true
	}
	limit, err := strconv.ParseInt(values[len(values)-1], 10, 64)
	return limit, err == nil && limit > 0
}
