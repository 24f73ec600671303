package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/connections"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/ledger"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/telemetry"
	"github.com/stowage-scheduler/stowage/server/version"
)

// flushTimeout bounds the telemetry flush at shutdown.
const flushTimeout = 5 * time.Second

// errNotReady is the reason in /readyz while the server starts and stops.
var errNotReady = errors.New("it does not serve, or is stopping")

// Server is the gRPC service and the admin endpoints, with their listeners.
type Server struct {
	config    config.Config
	log       *slog.Logger
	telemetry *telemetry.Telemetry
	grpc      *grpc.Server
	health    *health.Server
	admin     *http.Server
	ready     atomic.Bool
	access    *access
	memory    *ledger.Ledger
	self      *self     // nil if a service stands in for the real one
	http      *overHTTP // nil for none
	// drain waits for load balancers to notice NOT_SERVING. Tests replace it.
	drain func()

	listener, adminListener net.Listener
}

// New opens the listeners and returns a server that is not ready yet. The configuration must be valid. The caller must
// call Run, which closes the listeners and shuts down telemetry.
func New(ctx context.Context, c config.Config, log *slog.Logger) (*Server, error) {
	return newServer(ctx, c, log, nil)
}

// newServer is New with a service to use instead of placement.Service, unless nil.
func newServer(
	ctx context.Context, c config.Config, log *slog.Logger, service stowagev1.PlacementServiceServer,
) (_ *Server, err error) {
	s := &Server{config: c, log: log, drain: func() { time.Sleep(c.DrainDelay) }}
	heap := debug.SetMemoryLimit(-1)
	c.FitMemory(heap)
	s.config = c
	if s.telemetry, err = telemetry.New(ctx, "stowage", version.Current()); err != nil {
		return nil, err
	}
	log = s.telemetry.Log(log)
	s.log = log
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(), s.flush())
		}
	}()
	secure, err := loadTLS(&c, log)
	if err != nil {
		return nil, err
	}
	if s.access, err = readAccess(&c, log); err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	if s.listener, err = listen.Listen(ctx, "tcp", c.ListenAddress); err != nil {
		return nil, err
	}
	if service == nil {
		decides := placement.New(c.MaxSnapshotBytes, s.telemetry.Decisions)
		if err := s.telemetry.WatchSnapshots(decides.Snapshots); err != nil {
			return nil, err
		}
		service = decides
		if s.self, err = newSelf(); err != nil {
			return nil, err
		}
	}
	limit := c.MaxConnections
	if limit == 0 {
		limit = connections.Default()
	}
	callers := connections.Limit(s.listener, limit)
	s.listener = callers
	if err := s.telemetry.WatchConnections(callers.Counts); err != nil {
		return nil, err
	}
	if s.adminListener, err = listen.Listen(ctx, "tcp", c.AdminAddress); err != nil {
		return nil, err
	}
	s.adminListener = connections.Limit(s.adminListener, connections.AdminLimit)
	s.memory = newLedger(&c, heap, s.access)
	if s.http, err = newHTTP(ctx, &c, secure, callers, s.access, s.memory, log); err != nil {
		return nil, err
	}
	inFlight := interceptor.NewInFlight(c.MaxInFlightBytes)
	if err := s.telemetry.WatchMemory(func() []telemetry.Memory { return memoryOf(s.memory, inFlight) }); err != nil {
		return nil, err
	}
	s.grpc, s.health = newGRPC(&c, log, s.telemetry, credentialsOf(secure), s.access, s.memory, inFlight, service)
	s.setReady(false)
	s.admin = &http.Server{
		Handler: admin.Handler(admin.Settings{
			Metrics: s.telemetry.Gatherer(), Ready: s.isReady, Pprof: c.Pprof,
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// Address is the address of the gRPC listener.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// HTTPAddress is the address of the listener of HTTP, nil for none.
func (s *Server) HTTPAddress() net.Addr {
	if s.http == nil {
		return nil
	}
	return s.http.listener.Addr()
}

// AdminAddress is the address of the admin listener.
func (s *Server) AdminAddress() net.Addr { return s.adminListener.Addr() }

// WatchLog adds the metric of dropped log lines, whose number so far the function returns. It must be called before Run.
func (s *Server) WatchLog(dropped func() int64) error { return s.telemetry.WatchLog(dropped) }

// Run serves until ctx is done or a listener fails, then shuts down in order. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	group, failed := errgroup.WithContext(ctx)
	if s.access != nil {
		group.Go(func() error { s.access.follow(failed); return nil })
	}
	group.Go(func() error { return ignore(grpc.ErrServerStopped, s.grpc.Serve(s.listener)) })
	if s.self != nil {
		group.Go(func() error { return ignore(grpc.ErrServerStopped, s.grpc.Serve(s.self.listener)) })
	}
	if s.http != nil {
		group.Go(func() error { return ignore(grpc.ErrServerStopped, s.grpc.Serve(s.http.Listener())) })
		group.Go(s.http.serve)
	}
	group.Go(func() error { return ignore(http.ErrServerClosed, s.admin.Serve(s.adminListener)) })
	s.setReady(true)
	fields := []any{"version", version.Current(), "address", s.Address().String(), "admin_address", s.AdminAddress().String()}
	if s.http != nil {
		fields = append(fields, "http_address", s.http.listener.Addr().String())
	}
	s.log.Info("serving", append(fields, "memory_limit_bytes", debug.SetMemoryLimit(-1), "max_in_flight_bytes", s.config.MaxInFlightBytes,
		"max_snapshot_bytes", s.config.MaxSnapshotBytes)...)

	<-failed.Done()
	s.setReady(false)
	s.log.Info("stopping")
	if ctx.Err() != nil { // a listener that failed has nothing to drain
		s.drain()
	}
	err := errors.Join(s.stopCalls(), s.admin.Close(), group.Wait(), s.closeSelf(), s.flush())
	s.log.Info("stopped")
	return err
}

// ignore returns nil for the expected error and err otherwise. Serve returns that error after Stop, also if Stop came first.
func ignore(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// stopCalls waits for calls in progress and cancels them after the grace period. Requests over HTTP become calls of the gRPC server, which
// therefore accepts calls until they have ended, but for half the period at most: one slow body must not cut all calls.
func (s *Server) stopCalls() error {
	period := s.config.ShutdownGracePeriod
	timer := time.AfterFunc(period, func() {
		s.log.Warn("shutdown grace period exceeded, cancelling calls in progress")
		s.grpc.Stop()
	})
	defer timer.Stop()
	var group errgroup.Group
	if s.http != nil {
		ended, end := context.WithTimeout(context.Background(), period/2)
		group.Go(func() error {
			defer end()
			return s.http.stop(period)
		})
		<-ended.Done()
	}
	s.grpc.GracefulStop()
	return group.Wait()
}

// isReady reports whether the server serves and answers a probe.
func (s *Server) isReady(ctx context.Context) error {
	switch {
	case !s.ready.Load():
		return errNotReady
	case s.self != nil:
		return s.self.probe(ctx)
	}
	return nil
}

// setReady sets the serving status of the health service and of /readyz.
func (s *Server) setReady(ready bool) {
	s.ready.Store(ready)
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = healthv1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", status)
	s.health.SetServingStatus(stowagev1.PlacementService_ServiceDesc.ServiceName, status)
	s.health.SetServingStatus(stowagev1.SimulationService_ServiceDesc.ServiceName, status)
}

// close closes the listeners of a server that did not run.
func (s *Server) close() error {
	err := s.closeSelf()
	if s.http != nil {
		err = errors.Join(err, s.http.close())
	}
	for _, l := range []net.Listener{s.listener, s.adminListener} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// closeSelf closes the connection to itself.
func (s *Server) closeSelf() (err error) {
	if s.self != nil {
		err = s.self.close()
	}
	return err
}

// flush shuts down telemetry.
func (s *Server) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return s.telemetry.Shutdown(ctx)
}
