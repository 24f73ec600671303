// Package servertest runs Stowage servers for tests of clients.
package servertest

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
)

// Server is a server on loopback that can go away and come back under the same address, with nothing kept.
type Server struct {
	// Address is that of the gRPC service.
	Address string
	t       testing.TB
	stop    func()
}

// Start starts a server with the default configuration, which stops when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Address: freeAddress(t)}
	s.Resume()
	t.Cleanup(s.Stop)
	return s
}

// Resume starts the server again.
func (s *Server) Resume() {
	s.t.Helper()
	var c config.Config
	parser, err := kong.New(&c)
	if err == nil {
		_, err = parser.Parse([]string{"--listen-address=" + s.Address, "--admin-address=127.0.0.1:0", "--drain-delay=0s", "--shutdown-grace-period=0s"})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running *server.Server
	for range 100 { // the port may be in use a little longer
		if running, err = server.New(ctx, c, slog.New(slog.DiscardHandler)); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- running.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	}
}

// Stop ends the server and its connections.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
