package loopback

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Client is one connection over which messages go as bytes. It is safe for concurrent use.
type Client struct{ conn *grpc.ClientConn }

// Dial returns a client with the buffers and windows of clients/stowage, whose calls pass through interceptors.
func Dial(address string, through ...grpc.UnaryClientInterceptor) (*Client, error) {
	conn, err := grpc.NewClient(address, append(answersize.DialOptions(math.MaxInt32),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(through...),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(frames{})),
	)...)
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Call sends a request and returns the answer.
func (c *Client) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	var answer frame
	if err := c.conn.Invoke(ctx, method, &frame{request}, &answer); err != nil {
		return nil, err
	}
	return answer.bytes, nil
}

// CallLate is Call with a request that is made when it is sent, if no interceptor keeps it from that.
func (c *Client) CallLate(ctx context.Context, method string, request func() []byte) ([]byte, error) {
	var answer frame
	if err := c.conn.Invoke(ctx, method, &late{request}, &answer); err != nil {
		return nil, err
	}
	return answer.bytes, nil
}

// ErrNoEcho is the error of a wrong answer of an echo server.
var ErrNoEcho = errors.New("the echo server answered something else")

// Echo has an echo server send a message back, and looks only at how long the answer is.
func (c *Client) Echo(ctx context.Context, message []byte) error {
	var answer pieces
	if err := c.conn.Invoke(ctx, stowagev1.PlacementService_Filter_FullMethodName, &frame{message}, &answer); err != nil {
		return err
	}
	defer answer.buffers.Free()
	if answer.buffers.Len() != len(message) {
		return ErrNoEcho
	}
	return nil
}

// Count has an echo server receive a message and count its bytes.
func (c *Client) Count(ctx context.Context, message []byte) error {
	answer, err := c.Call(ctx, stowagev1.PlacementService_Score_FullMethodName, message)
	if err == nil && (len(answer) != 8 || binary.BigEndian.Uint64(answer) != uint64(len(message))) {
		err = ErrNoEcho
	}
	return err
}

var clientStream = &grpc.StreamDesc{ClientStreams: true}

// Stream sends the messages of a stream and returns the answer.
func (c *Client) Stream(ctx context.Context, method string, messages [][]byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.conn.NewStream(ctx, clientStream, method)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		// io.EOF means that the server has ended the stream. Receiving the response returns the reason.
		if err := stream.SendMsg(&frame{m}); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("sending: %w", err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var answer frame
	if err := stream.RecvMsg(&answer); err != nil {
		return nil, err
	}
	return answer.bytes, nil
}

var serverStream = &grpc.StreamDesc{ServerStreams: true}

// Parts sends a request and returns the messages of the answer.
func (c *Client) Parts(ctx context.Context, method string, request []byte) (parts [][]byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.conn.NewStream(ctx, serverStream, method)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stream.SendMsg(&frame{request}), stream.CloseSend()); err != nil {
		return nil, fmt.Errorf("sending: %w", err)
	}
	for {
		var part frame
		if err := stream.RecvMsg(&part); errors.Is(err, io.EOF) {
			return parts, nil
		} else if err != nil {
			return nil, err
		}
		parts = append(parts, part.bytes)
	}
}
