package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/bench/process"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// start starts a server with its default settings, on ports that are free.
func start(ctx context.Context, command string) (*process.Process, error) {
	return process.Start(exec.CommandContext(ctx, command, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0",
		"--drain-delay=0s", "--shutdown-grace-period=1s", "--log-level=info"))
}

// hostile is a set of callers that request as much as they can.
type hostile struct {
	cancel          context.CancelFunc
	all             sync.WaitGroup
	conn            *grpc.ClientConn
	refused, others atomic.Int64
}

// startHostile starts callers from an address of their own.
func startHostile(ctx context.Context, address string, f *form, n int) (*hostile, error) {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) { return from.DialContext(ctx, "tcp", to) }))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &hostile{cancel: cancel, conn: conn}
	for range n {
		h.all.Go(func() {
			for ctx.Err() == nil {
				err := ask(ctx, conn, f.method, f.request)
				if ctx.Err() != nil {
					return
				}
				if status.Code(err) == codes.ResourceExhausted {
					h.refused.Add(1)
				} else {
					h.others.Add(1)
				}
				select {
				case <-time.After(retryAfter(err)):
				case <-ctx.Done():
				}
			}
		})
	}
	return h, nil
}

// ask makes a call and reads its answers.
func ask(ctx context.Context, conn *grpc.ClientConn, method string, request []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(wire.NewCodec()))
	if err == nil {
		err = stream.SendMsg(wire.Encoded(request))
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = stream.CloseSend()
	}
	for err == nil {
		answer := wire.NewRequest(nil)
		if err = stream.RecvMsg(answer); err == nil {
			answer.Free()
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (h *hostile) stop() (refused, others int64) {
	h.cancel()
	h.all.Wait()
	_ = h.conn.Close()
	return h.refused.Load(), h.others.Load()
}

// health checks that a server is alive, as a kubelet does.
type health struct {
	cancel  context.CancelFunc
	ended   chan struct{}
	slowest time.Duration
	failed  int
}

func watchHealth(ctx context.Context, admin string) *health {
	ctx, cancel := context.WithCancel(ctx)
	h := &health{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		for ctx.Err() == nil {
			begin := time.Now()
			if err := healthy(ctx, admin); err != nil && ctx.Err() == nil {
				h.failed++
			}
			h.slowest = max(h.slowest, time.Since(begin))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return h
}

func healthy(ctx context.Context, admin string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = errUnhealthy
	}
	return errors.Join(err, answer.Body.Close())
}

func (h *health) stop() (slowest time.Duration, failed int) {
	h.cancel()
	<-h.ended
	return h.slowest, h.failed
}
