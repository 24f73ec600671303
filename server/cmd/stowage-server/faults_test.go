package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// faulty is a server under a fault.
type faulty struct {
	*exec.Cmd
	log            *json.Decoder
	address, admin string
	client         stowagev1.PlacementServiceClient
}

// logLine is what tests read of a line of the log.
type logLine struct {
	Msg, Address string
	AdminAddress string `json:"admin_address"`
	Lines        int
}

// startFaulty starts a server by a shell command that ends with its name, and connects to it.
func startFaulty(t *testing.T, shell string) *faulty {
	t.Helper()
	s := &faulty{Cmd: exec.CommandContext(t.Context(), "sh", "-c",
		shell+" --listen-address=127.0.0.1:0 --admin-address=127.0.0.1:0 --drain-delay=0s")}
	stderr, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.log = json.NewDecoder(bufio.NewReader(stderr))
	var serving logLine
	for serving.Msg != "serving" {
		if err := s.log.Decode(&serving); err != nil {
			t.Fatal(err)
		}
	}
	s.address, s.admin = serving.Address, serving.AdminAddress
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s.client = stowagev1.NewPlacementServiceClient(conn)
	return s
}

// call makes calls one after the other.
func (s *faulty) call(t *testing.T, calls int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range calls {
		if _, err := s.client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

// end stops the server and returns the rest of its log.
func (s *faulty) end(t *testing.T) []logLine {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	var rest []logLine
	for {
		var l logLine
		if s.log.Decode(&l) != nil {
			break
		}
		rest = append(rest, l)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	return rest
}

// TestStalledLog expects that no call waits for a reader of the log who stalls, and that the reader later learns how many lines it missed.
func TestStalledLog(t *testing.T) {
	s := startFaulty(t, "exec stowage-server")
	const calls = 8000 // more than the pipe and the queue take
	s.call(t, calls)
	logged, dropped := 0, 0
	for _, l := range s.end(t) {
		switch l.Msg {
		case "finished call":
			logged++
		case "log lines were dropped":
			dropped += l.Lines
		}
	}
	if dropped == 0 || logged+dropped < calls || logged+dropped > calls+2 { // "stopping" and "stopped" may be among the dropped
		t.Errorf("of %d calls %d are in the log and %d lines were dropped", calls, logged, dropped)
	}
}

// TestFewDescriptors expects that connections that do nothing take no descriptor that readiness and other callers' calls need.
func TestFewDescriptors(t *testing.T) {
	s := startFaulty(t, "ulimit -n 64 && exec stowage-server")
	s.call(t, 1)
	var idle []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	s.call(t, 1)
	h := healthcheck{AdminAddress: s.admin, Timeout: time.Minute}
	if err := h.Run(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	for _, conn := range idle {
		_ = conn.Close()
	}
	s.end(t)
}
