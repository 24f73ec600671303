package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// flushTimeout bounds what a stopping server waits for its telemetry to be sent.
const flushTimeout = 5 * time.Second

// Server is the service with its listeners.
type Server struct {
	config    config.Config
	log       *slog.Logger
	telemetry *telemetry.Telemetry
	grpc      *grpc.Server
	health    *health.Server
	admin     *http.Server
	ready     atomic.Bool
	// drain waits while callers turn away, before calls are refused.
	drain func()

	listener, adminListener net.Listener
}

// New returns a server of a valid configuration that listens already, and is not ready. Run must be called: it frees
// what New took.
func New(ctx context.Context, c config.Config, log *slog.Logger) (*Server, error) {
	return newServer(ctx, c, log, nil)
}

// newServer is New with another service in the place of the real one, if given.
func newServer(
	ctx context.Context, c config.Config, log *slog.Logger, service stowagev1.PlacementServiceServer,
) (_ *Server, err error) {
	s := &Server{config: c, log: log, drain: func() { time.Sleep(c.DrainDelay) }}
	creds, err := loadCredentials(&c)
	if err != nil {
		return nil, err
	}
	if s.telemetry, err = telemetry.New(ctx, "stowage", telemetry.Version()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(), s.flush())
		}
	}()
	if service == nil {
		service = placement.New(c.MaxSnapshotBytes, s.telemetry.Decisions)
	}
	var listen net.ListenConfig
	if s.listener, err = listen.Listen(ctx, "tcp", c.ListenAddress); err != nil {
		return nil, err
	}
	if s.adminListener, err = listen.Listen(ctx, "tcp", c.AdminAddress); err != nil {
		return nil, err
	}
	s.grpc, s.health = newGRPC(&c, log, s.telemetry, creds, service)
	s.setReady(false)
	s.admin = &http.Server{
		Handler: admin.Handler(admin.Settings{
			Metrics: s.telemetry.Gatherer(), Ready: s.ready.Load, Pprof: c.Pprof,
		}),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// Address is where the service listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// AdminAddress is where the admin endpoints listen.
func (s *Server) AdminAddress() net.Addr { return s.adminListener.Addr() }

// Run serves until the context ends or a listener fails, then stops in order. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	group, failed := errgroup.WithContext(ctx)
	group.Go(func() error { return unless(grpc.ErrServerStopped, s.grpc.Serve(s.listener)) })
	group.Go(func() error { return unless(http.ErrServerClosed, s.admin.Serve(s.adminListener)) })
	s.setReady(true)
	s.log.Info("serving", "version", telemetry.Version(), "address", s.Address().String(), "admin_address", s.AdminAddress().String())

	<-failed.Done()
	s.setReady(false)
	s.log.Info("stopping")
	if ctx.Err() != nil { // asked to stop, not failed: callers are still being served
		s.drain()
	}
	s.stopGRPC()
	err := errors.Join(s.admin.Close(), group.Wait(), s.flush())
	s.log.Info("stopped")
	return err
}

// unless leaves out an error: that of a server that was told to stop, maybe before it began to serve.
func unless(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// stopGRPC lets the calls in progress finish within the grace period and ends the others.
func (s *Server) stopGRPC() {
	timer := time.AfterFunc(s.config.ShutdownGracePeriod, func() {
		s.log.Warn("ending calls that did not finish in the grace period")
		s.grpc.Stop()
	})
	defer timer.Stop()
	s.grpc.GracefulStop()
}

// setReady says to health checks and /readyz whether requests should come.
func (s *Server) setReady(ready bool) {
	s.ready.Store(ready)
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = healthv1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", status)
	s.health.SetServingStatus(stowagev1.PlacementService_ServiceDesc.ServiceName, status)
}

// close frees the listeners of a server that was not run.
func (s *Server) close() error {
	var err error
	for _, l := range []net.Listener{s.listener, s.adminListener} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// flush ends telemetry.
func (s *Server) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return s.telemetry.Shutdown(ctx)
}
