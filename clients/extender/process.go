package extender

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// flushTimeout bounds what a stopping process waits for its telemetry to be sent.
const flushTimeout = 5 * time.Second

// Run serves with a valid configuration until the context ends, then stops in order.
func Run(ctx context.Context, c *Config, log *slog.Logger) error {
	api, err := c.Kubernetes.Client("stowage-extender", connect.Looking)
	if err != nil {
		return err
	}
	return run(ctx, c, log, api, nil)
}

// run is Run with a client of the API server. listening, if given, is told where the listeners are.
func run(ctx context.Context, c *Config, log *slog.Logger, api kubernetes.Interface, listening func(extender, admin net.Addr)) (err error) {
	tel, err := telemetry.New(ctx, "stowage-extender", telemetry.Version())
	if err != nil {
		return err
	}
	defer func() {
		flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		err = errors.Join(err, tel.Shutdown(flushing))
	}()
	client, err := c.Stowage.Dial(log, grpc.WithStatsHandler(tel.ClientHandler()))
	if err != nil {
		return err
	}
	defer client.Close()
	cluster, err := live.New(api, client, live.Options{Log: log, Meter: tel.Meter(), AssumeFor: c.AssumeFor})
	if err != nil {
		return err
	}
	o := Options{
		Log: log, Meter: tel.Meter(), Decide: Decide(c.Decide), OutcomeWait: c.OutcomeWait, UnclearFor: c.AssumeFor,
		PreemptionCandidates: c.PreemptionCandidates, AllReasons: c.AllReasons,
	}
	if o.Profile, err = c.profile(); err != nil {
		return err
	}
	if o.Scores, err = NewScores(Range(c.Scores), c.ScorePlugins, o.Profile); err != nil {
		return err
	}
	e, err := New(api, client, cluster, o)
	if err != nil {
		return err
	}
	var stopping atomic.Bool
	extender := &http.Server{
		Handler: e.Handler(Limits{Bytes: c.MaxRequestBytes, Duration: c.RequestTimeout}), ConnState: e.Connected,
		ReadHeaderTimeout: c.RequestTimeout, ReadTimeout: c.RequestTimeout, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if extender.TLSConfig, err = c.Server.Config(log); err != nil {
		return err
	}
	administered := &http.Server{
		Handler: admin.Handler(admin.Settings{
			Metrics: tel.Gatherer(), Ready: func() bool { return !stopping.Load() && e.Ready() }, Pprof: c.Pprof,
		}),
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: extender.ErrorLog,
	}
	var listen net.ListenConfig
	extenderListener, err := listen.Listen(ctx, "tcp", c.ListenAddress)
	if err != nil {
		return err
	}
	adminListener, err := listen.Listen(ctx, "tcp", c.AdminAddress)
	if err != nil {
		return errors.Join(err, extenderListener.Close())
	}
	address, secure := extenderListener.Addr(), extender.TLSConfig != nil
	if secure {
		extenderListener = tls.NewListener(extenderListener, extender.TLSConfig)
	}
	if listening != nil {
		listening(address, adminListener.Addr())
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, failed := errgroup.WithContext(ctx)
	group.Go(func() error { return unlessDone(running, cluster.Run(running)) })
	group.Go(func() error { return unlessClosed(extender.Serve(extenderListener)) })
	group.Go(func() error { return unlessClosed(administered.Serve(adminListener)) })
	log.Info("serving", "version", telemetry.Version(), "address", address.String(), "tls", secure,
		"admin_address", adminListener.Addr().String(), "stowage", c.StowageAddress, "decide", c.Decide, "scores", c.Scores)

	<-failed.Done()
	stopping.Store(true)
	log.Info("stopping")
	if ctx.Err() != nil { // asked to stop, not failed
		time.Sleep(c.DrainDelay)
	}
	grace, cancel := context.WithTimeout(running, c.ShutdownGracePeriod)
	defer cancel()
	if extender.Shutdown(grace) != nil {
		log.Warn("ending requests that did not finish in the grace period")
		_ = extender.Close()
	}
	stop()
	err = errors.Join(administered.Close(), group.Wait())
	log.Info("stopped")
	return err
}

func unlessClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
