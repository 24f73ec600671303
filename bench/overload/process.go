package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// process is a server's process.
type process struct {
	command        *exec.Cmd
	read           chan struct{} // closed at the end of its log
	address, admin string
}

// start starts a server with its default settings, on ports that are free.
func start(ctx context.Context, command string) (*process, error) {
	s := &process{command: exec.CommandContext(ctx, command, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0",
		"--drain-delay=0s", "--shutdown-grace-period=1s", "--log-level=info"), read: make(chan struct{})}
	log, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(log, 1<<20)
	for s.admin == "" {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, errors.Join(errServer, err, s.command.Wait())
		}
		var serving struct {
			Address string `json:"address"`
			Admin   string `json:"admin_address"`
		}
		if json.Unmarshal(line, &serving) == nil {
			s.address, s.admin = serving.Address, serving.Admin
		}
	}
	go func() {
		defer close(s.read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return s, nil
}

func (s *process) stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.read
	return s.command.Wait()
}

// hostile is callers who ask for as much as they can.
type hostile struct {
	cancel          context.CancelFunc
	all             sync.WaitGroup
	conn            *grpc.ClientConn
	refused, others atomic.Int64
}

// startHostile starts callers from an address of their own.
func startHostile(ctx context.Context, address string, request []byte, n int) (*hostile, error) {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) { return from.DialContext(ctx, "tcp", to) }))
	if err != nil {
		return nil, err
	}
	var place stowagev1.PlaceRequest
	if err := proto.Unmarshal(request, &place); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &hostile{cancel: cancel, conn: conn}
	client := stowagev1.NewPlacementServiceClient(conn)
	for range n {
		h.all.Go(func() {
			for ctx.Err() == nil {
				_, err := client.Place(ctx, &place)
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

func (h *hostile) stop() (refused, others int64) {
	h.cancel()
	h.all.Wait()
	_ = h.conn.Close()
	return h.refused.Load(), h.others.Load()
}

// health asks whether a server is alive, as a kubelet does.
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
		err = errServer
	}
	return errors.Join(err, answer.Body.Close())
}

func (h *health) stop() (slowest time.Duration, failed int) {
	h.cancel()
	<-h.ended
	return h.slowest, h.failed
}
