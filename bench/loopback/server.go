package loopback

import (
	"context"
	"log/slog"
	"math"

	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/gctune"
)

// The buffers, windows and workers of server/grpc.go, so that the servers differ only in what they do with a message.
const (
	bufferBytes    = 256 << 10
	windowBytes    = 64 << 20
	minWindowBytes = 64 << 10

	streamWorkers = 16
)

// Server is a server in this process.
type Server struct {
	// Address is where it listens.
	Address string

	stop func() error
}

// Stop ends the server.
func (s *Server) Stop() error { return s.stop() }

// ServeStowage runs the real server, behind all its interceptors, with limits out of the way and a gibibyte for snapshots.
// The process collects garbage as the server's command does.
func ServeStowage() (*Server, error) { return ServeStowageWith(1 << 30) }

// ServeStowageWith is ServeStowage with a limit of the bytes of all snapshots.
func ServeStowageWith(snapshotBytes int64) (*Server, error) {
	gctune.EnsureHeadroom(gctune.DefaultHeadroomBytes)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := server.New(ctx, config.Config{
		ListenAddress:          "127.0.0.1:0",
		AdminAddress:           "127.0.0.1:0",
		MaxReceiveMessageBytes: math.MaxInt32,
		MaxInFlightBytes:       math.MaxInt64,
		MaxSnapshotBytes:       snapshotBytes,
		MaxConcurrentStreams:   1024,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		cancel()
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return &Server{
		Address: s.Address().String(),
		stop: func() error {
			cancel()
			return <-done
		},
	}, nil
}
