package expander

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/client-go/kubernetes"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/process"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
	"github.com/stowage-scheduler/stowage/server/version"
)

// Run serves with a valid configuration until the context ends, then stops in order.
func (c *Config) Run(ctx context.Context, log *slog.Logger) error {
	var api kubernetes.Interface
	if c.Cluster {
		var err error
		if api, err = c.Client("stowage-expander"); err != nil {
			return err
		}
	}
	return c.run(ctx, log, api, func(_, _ net.Addr) {})
}

// run is Run with a client of the API server, nil for none. listening gets the addresses of the listeners.
func (c *Config) run(ctx context.Context, log *slog.Logger, api kubernetes.Interface, listening func(expander, admin net.Addr),
) (err error) {
	p, err := process.Start(ctx, "stowage-expander", &c.Settings, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	log = p.Log()
	o, err := c.options(p, log, api)
	if err != nil {
		return err
	}
	e, err := New(p.Stowage, o)
	if err != nil {
		return err
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(c.MaxRequestBytes),
		grpc.ChainUnaryInterceptor(recovery.UnaryServerInterceptor()),
	}
	transport, err := c.Server.Config(log)
	if err != nil {
		return err
	}
	if transport != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(transport)))
	}
	s := &serving{
		log: log, drain: c.DrainDelay, grace: c.ShutdownGracePeriod, cluster: o.Cluster, server: grpc.NewServer(options...),
	}
	grpcplugin.RegisterExpanderServer(s.server, e)
	if s.admin, err = p.ListenAdmin(ctx, func() bool { return !s.stopping.Load() && e.Ready() }); err != nil {
		return err
	}
	var listen net.ListenConfig
	if s.listener, err = listen.Listen(ctx, "tcp", c.ListenAddress); err != nil {
		return errors.Join(err, s.admin.Close())
	}
	listening(s.listener.Addr(), s.admin.Addr())
	log.Info("serving", "version", version.Current(), "address", s.listener.Addr().String(), "tls", transport != nil,
		"admin_address", s.admin.Addr().String(), "stowage", c.StowageAddress, "cluster", c.Cluster)
	return s.run(ctx)
}

// options are the configured options.
func (c *Config) options(p *process.Process, log *slog.Logger, api kubernetes.Interface) (o Options, err error) {
	o = Options{Refuse: c.NoneFits == "refuse", Timeout: c.RequestTimeout, Log: log, Meter: p.Meter()}
	configured, err := c.scheduler()
	if err != nil {
		return o, err
	}
	o.Profile = configured.Profile
	if o.Prices, err = c.prices(); err != nil || api == nil {
		return o, err
	}
	if o.Cluster, err = live.New(api, p.Stowage, live.Options{
		Log: log, Meter: p.Meter(), Selectors: cel.New(), BindingTimeout: configured.BindingTimeout,
	}); err != nil {
		return o, err
	}
	o.DaemonSets = o.Cluster.Informers().AppsV1().DaemonSets()
	o.DaemonSets.Informer() // makes the cluster run it
	return o, nil
}

// serving has the parts of a serving process.
type serving struct {
	log          *slog.Logger
	drain, grace time.Duration
	cluster      *live.Cluster // may be nil
	server       *grpc.Server
	listener     net.Listener
	admin        *process.Admin
	stopping     atomic.Bool
}

// run serves until the context ends or something fails. It stops in order: not ready, drain delay, open calls for the grace
// period, the cluster, the admin endpoints.
func (s *serving) run(ctx context.Context) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, failed := errgroup.WithContext(ctx)
	if s.cluster != nil {
		group.Go(func() error { return process.UnlessDone(running, s.cluster.Run(running)) })
	}
	group.Go(func() error { return s.server.Serve(s.listener) })
	group.Go(s.admin.Serve)

	<-failed.Done()
	s.stopping.Store(true)
	s.log.Info("stopping")
	if ctx.Err() != nil { // a requested stop, not a failure
		time.Sleep(s.drain)
	}
	late := time.AfterFunc(s.grace, s.server.Stop)
	s.server.GracefulStop()
	late.Stop()
	stop()
	err := errors.Join(s.admin.Close(), group.Wait())
	s.log.Info("stopped")
	return err
}
