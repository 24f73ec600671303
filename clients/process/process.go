package process

import (
	"context"
	"errors"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/telemetry"
	"github.com/stowage-scheduler/stowage/server/version"
)

// flushTimeout bounds how long Close waits for telemetry to be sent.
const flushTimeout = 5 * time.Second

// readHeaderTimeout bounds how long an admin client may take to send the headers of a request.
const readHeaderTimeout = 10 * time.Second

// Process has the shared parts of a running command.
type Process struct {
	// Stowage is a client whose calls are traced and measured.
	Stowage *stowage.Client

	log       *slog.Logger
	settings  *Settings
	telemetry *telemetry.Telemetry
}

// Start opens telemetry under a service name, and the Stowage client. The caller must Close the process.
func Start(ctx context.Context, service string, s *Settings, log *slog.Logger) (*Process, error) {
	tel, err := telemetry.New(ctx, service, version.Current())
	if err != nil {
		return nil, err
	}
	p := &Process{log: tel.Log(log), settings: s, telemetry: tel}
	if p.Stowage, err = s.Dial(p.log, grpc.WithStatsHandler(tel.ClientHandler())); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// Close closes the client and flushes telemetry, for at most five seconds, also after ctx has ended.
func (p *Process) Close(ctx context.Context) error {
	if p.Stowage != nil {
		p.Stowage.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	return p.telemetry.Shutdown(ctx)
}

// Log is the log from Start. Its lines are also exported if OTEL_LOGS_EXPORTER names an exporter.
func (p *Process) Log() *slog.Logger { return p.log }

// Meter is the provider of the command's metrics.
func (p *Process) Meter() metric.MeterProvider { return p.telemetry.Meter() }

// Admin is a listener with the admin endpoints.
type Admin struct {
	server   *http.Server
	listener net.Listener
}

// ListenAdmin opens the admin address. ready decides the response of /readyz.
func (p *Process) ListenAdmin(ctx context.Context, ready func() bool) (*Admin, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", p.settings.AdminAddress)
	if err != nil {
		return nil, err
	}
	endpoints := admin.Settings{Metrics: p.telemetry.Gatherer(), Ready: readiness(ready), Pprof: p.settings.Pprof}
	return &Admin{
		server: &http.Server{
			Handler: admin.Handler(endpoints), ReadHeaderTimeout: readHeaderTimeout, ErrorLog: ErrorLog(p.log),
		},
		listener: listener,
	}, nil
}

var errNotReady = errors.New("starting, stopping, or waiting for the cluster's state")

// readiness adapts a boolean to the admin endpoints.
func readiness(ready func() bool) func(context.Context) error {
	return func(context.Context) error {
		if !ready() {
			return errNotReady
		}
		return nil
	}
}

// Addr is the address of the listener.
func (a *Admin) Addr() net.Addr { return a.listener.Addr() }

// Serve serves until Close.
func (a *Admin) Serve() error { return Serve(a.server, a.listener) }

// Close closes the listener and every connection.
func (a *Admin) Close() error { return errors.Join(a.server.Close(), ignoreClosed(a.listener.Close())) }

// Serve serves HTTP until the server is shut down or closed, which is no error.
func Serve(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ignoreClosed drops the error of a listener that its server closed first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ErrorLog logs the errors of an HTTP server as warnings.
func ErrorLog(log *slog.Logger) *stdlog.Logger {
	return slog.NewLogLogger(log.Handler(), slog.LevelWarn)
}

// UnlessDone drops the error of a loop that ended because its context did.
func UnlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // its end was requested
	}
	return err
}
