// Package servertest runs Stowage servers for tests.
package servertest

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/inprocess"
)

// Connect returns a connection to a server in this process, which ends with the test.
func Connect(t testing.TB) *grpc.ClientConn {
	t.Helper()
	conn, stop, err := inprocess.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// Server is a server on loopback that can stop and start again under the same address, without its state.
type Server struct {
	// Address is the address of the gRPC service.
	Address string
	// HTTPAddress is the address of the contract as JSON over HTTP, empty unless a flag of Start sets it.
	HTTPAddress string
	t           testing.TB
	flags       []string
	stop        func()
}

// Start starts a server with the default configuration and further flags, which stops when the test ends.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	s := &Server{t: t, Address: net.JoinHostPort(loopback.Host(), "0"), flags: flags}
	s.Resume()
	t.Cleanup(s.Stop)
	return s
}

// Resume starts the server again.
func (s *Server) Resume() {
	s.t.Helper()
	var c config.Config
	parser, err := kong.New(&c, config.Options()...)
	if err == nil {
		_, err = parser.Parse(append([]string{
			"--listen-address=" + s.Address, "--admin-address=127.0.0.1:0", "--drain-delay=0s", "--shutdown-grace-period=0s",
		}, s.flags...))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running *server.Server
	loopback.InTime(s.t, func() error {
		running, err = server.New(ctx, c, slog.New(slog.DiscardHandler))
		return err
	})
	s.Address = running.Address().String()
	if c.HTTPAddress != "" {
		s.HTTPAddress = running.HTTPAddress().String()
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
