package scenarios_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
)

// serve runs a server on loopback and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := server.New(ctx, config.Config{
		ListenAddress: "127.0.0.1:0", AdminAddress: "127.0.0.1:0",
		MaxReceiveMessageBytes: 1 << 20, MaxInFlightBytes: 1 << 30, MaxConcurrentStreams: 100,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Address().String()
}

func TestOverTheWire(t *testing.T) {
	client, err := stowage.Dial([]string{serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	hold(t, scenarios.Client(client))
}
