package server

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// countedConn counts what is sent.
type countedConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// leastWindow is the window that a server gives a stream whose message it does not read.
const leastWindow = 64 << 10

// The message of a call that is refused at its headers is not sent, but for what its sender may send before it is read.
func TestRefusedMessagesAreNotSent(t *testing.T) {
	c := testConfig()
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 64<<20, 128<<20
	r := run(t, c, t.Output(), nil, nil)
	var sent atomic.Int64
	conn, err := grpc.NewClient(r.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			return countedConn{conn, &sent}, err
		}), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.NewCodec()), grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 32 << 20
	message := make(wire.Encoded, size)
	refused := func(method string, want codes.Code) int64 {
		before := sent.Load()
		if err := conn.Invoke(t.Context(), method, message, wire.NewRequest(nil)); status.Code(err) != want {
			t.Fatalf("%s: %v", method, err)
		}
		return sent.Load() - before
	}
	for range 3 {
		if n := refused("/stowage.v1.PlacementService/None", codes.Unimplemented); n > 2*leastWindow {
			t.Errorf("%d bytes are sent of a message that is not read", n)
		}
	}
	// One that is read is sent as a whole.
	if n := refused("/stowage.v1.PlacementService/Filter", codes.InvalidArgument); n < size {
		t.Errorf("%d bytes are sent of a message that is read", n)
	}
}
