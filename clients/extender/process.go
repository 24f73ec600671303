package extender

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/lease"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/process"
	"github.com/stowage-scheduler/stowage/server/version"
)

// Run serves with a valid configuration until the context ends, then stops in order.
func (c *Config) Run(ctx context.Context, log *slog.Logger) error {
	k, err := c.kubernetes()
	if err != nil {
		return err
	}
	return c.run(ctx, log, k, func(_, _ net.Addr) {})
}

// clients are the clients of the API server.
type clients struct {
	api      kubernetes.Interface
	bindings kubernetes.Interface // nil: api
	lease    Lease                // nil: kube-scheduler has none
}

func (c *Config) kubernetes() (k clients, err error) {
	if k.api, err = c.Client("stowage-extender"); err != nil {
		return k, err
	}
	change := []func(*rest.Config){connect.Looking}
	if c.SchedulerLease != "" {
		host, err := os.Hostname()
		if err != nil {
			return k, err
		}
		namespace, name, _ := strings.Cut(c.SchedulerLease, "/")
		// The kernel must not send a bind after its request has ended.
		observed := lease.Observe(k.api.CoordinationV1().Leases(namespace), name, host, c.RequestTimeout)
		k.lease = observed
		change = append(change, func(config *rest.Config) { config.Dial = lease.Dialer(observed.Term, c.RequestTimeout) })
	}
	// A client of its own, as only its connections end with a term of the lease.
	k.bindings, err = c.Client("stowage-extender-binding", change...)
	return k, err
}

// run is Run with clients. listening gets the addresses of the listeners.
func (c *Config) run(ctx context.Context, log *slog.Logger, k clients, listening func(extender, admin net.Addr)) (err error) {
	p, err := process.Start(ctx, "stowage-extender", &c.Settings, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	log = p.Log()
	o, err := c.options(log)
	if err != nil {
		return err
	}
	o.Meter, o.Bindings, o.Lease = p.Meter(), k.bindings, k.lease
	cluster, err := live.New(k.api, p.Stowage, live.Options{
		Log: log, Meter: p.Meter(), AssumeFor: c.AssumeFor, StartTimes: c.OwnVictims,
	})
	if err != nil {
		return err
	}
	e, err := New(k.api, p.Stowage, cluster, o)
	if err != nil {
		return err
	}
	s := &serving{
		log: log, drain: c.DrainDelay, grace: c.ShutdownGracePeriod, cluster: cluster,
		server: &http.Server{
			Handler: e.Handler(Limits{Bytes: c.MaxRequestBytes, Duration: c.RequestTimeout}), ConnState: e.Connected,
			ReadHeaderTimeout: c.RequestTimeout, ReadTimeout: c.RequestTimeout, IdleTimeout: 2 * time.Minute,
			ErrorLog: process.ErrorLog(log),
		},
	}
	if s.server.TLSConfig, err = c.Server.Config(log); err != nil {
		return err
	}
	if s.admin, err = p.ListenAdmin(ctx, func() bool { return !s.stopping.Load() && e.Ready() }); err != nil {
		return err
	}
	var listen net.ListenConfig
	if s.listener, err = listen.Listen(ctx, "tcp", c.ListenAddress); err != nil {
		return errors.Join(err, s.admin.Close())
	}
	listening(s.listener.Addr(), s.admin.Addr())
	log.Info("serving", "version", version.Current(), "address", s.listener.Addr().String(), "tls", s.server.TLSConfig != nil,
		"admin_address", s.admin.Addr().String(), "stowage", c.StowageAddress, "decide", c.Decide, "scores", c.Scores)
	return s.run(ctx)
}

// options are the configured options, without the meter.
func (c *Config) options(log *slog.Logger) (o Options, err error) {
	o = Options{
		Log: log, Decide: Decide(c.Decide), OutcomeWait: c.OutcomeWait, EventWait: c.EventWait, UnclearFor: c.AssumeFor,
		PreemptionCandidates: c.PreemptionCandidates, OwnVictims: c.OwnVictims, AllReasons: c.AllReasons,
	}
	if o.Profile, err = c.profile(); err != nil {
		return o, err
	}
	o.Scores, err = NewScores(Range(c.Scores), c.ScorePlugins, o.Profile)
	return o, err
}

// serving has the parts of a serving process.
type serving struct {
	log          *slog.Logger
	drain, grace time.Duration
	cluster      *live.Cluster
	server       *http.Server
	listener     net.Listener
	admin        *process.Admin
	stopping     atomic.Bool
}

// run serves until the context ends or something fails. It stops in order: not ready, drain delay, open requests for the grace
// period, the cluster, the admin endpoints.
func (s *serving) run(ctx context.Context) error {
	listener := s.listener
	if s.server.TLSConfig != nil {
		listener = tls.NewListener(listener, s.server.TLSConfig)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, failed := errgroup.WithContext(ctx)
	group.Go(func() error { return process.UnlessDone(running, s.cluster.Run(running)) })
	group.Go(func() error { return process.Serve(s.server, listener) })
	group.Go(s.admin.Serve)

	<-failed.Done()
	s.stopping.Store(true)
	s.log.Info("stopping")
	if ctx.Err() != nil { // a requested stop, not a failure
		time.Sleep(s.drain)
	}
	grace, cancel := context.WithTimeout(running, s.grace)
	defer cancel()
	if s.server.Shutdown(grace) != nil {
		s.log.Warn("requests are still open after the grace period: closing their connections")
		_ = s.server.Close()
	}
	stop()
	err := errors.Join(s.admin.Close(), group.Wait())
	s.log.Info("stopped")
	return err
}
