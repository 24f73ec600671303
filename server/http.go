package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/connections"
	"github.com/stowage-scheduler/stowage/server/gateway"
	"github.com/stowage-scheduler/stowage/server/identity"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// overHTTP is the service as JSON over HTTP, with its listener.
type overHTTP struct {
	*gateway.Gateway
	listener net.Listener
}

// newHTTP opens the listener of HTTP. It returns nil if there is none. Its connections share the limit of others.
func newHTTP(
	ctx context.Context, c *config.Config, secure *tls.Config, others *connections.Limited, access *access, memory *ledger.Ledger, log *slog.Logger,
) (*overHTTP, error) {
	if c.HTTPAddress == "" {
		return nil, nil
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", c.HTTPAddress)
	if err != nil {
		return nil, err
	}
	s := gateway.Settings{
		Memory: memory, MaximumBody: int64(c.MaxReceiveMessageBytes), ReceiveTimeout: c.MaxRequestDuration, Info: identity.OfConnection, Log: log,
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && secure == nil {
		s.Local = tcp.IP.IsLoopback()
	}
	if access != nil {
		s.Admit = access.nameOf
	}
	l = others.With(l)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	return &overHTTP{gateway.New(s), l}, nil
}

// serve serves until the server is stopped.
func (h *overHTTP) serve() error { return ignore(http.ErrServerClosed, h.Serve(h.listener)) }

// stop waits for calls underway and ends them after a period.
func (h *overHTTP) stop(period time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), period)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		return h.Close()
	}
	return nil
}

// close closes the listeners of a server that did not run.
func (h *overHTTP) close() error { return errors.Join(h.listener.Close(), h.Listener().Close()) }
