package batch

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/lease"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// flushTimeout bounds what a stopping process waits for its telemetry to be sent.
const flushTimeout = 5 * time.Second

// Run schedules with a valid configuration until the context ends. Every replica watches the cluster, so that it can take
// over at once; one schedules.
func Run(ctx context.Context, c *Config, log *slog.Logger) (err error) {
	api, err := c.Kubernetes.Client("stowage-batch")
	if err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, "stowage-batch", telemetry.Version())
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
	cluster, err := live.New(api, client, live.Options{Log: log, Meter: tel.Meter()})
	if err != nil {
		return err
	}
	o := Options{
		SchedulerName: c.SchedulerName, MaxBatch: c.MaxBatchPods, Binders: c.Binders, GroupMode: c.groupMode(),
		Log: log, Meter: tel.Meter(),
	}
	if o.Statuses, err = c.Kubernetes.Client("stowage-batch-status"); err != nil {
		return err
	}
	var lock *lease.Lock
	guard := func(*rest.Config) {}
	if c.LeaderElect {
		if lock, err = newLock(c); err != nil {
			return err
		}
		o.Lease = lock
		guard = func(config *rest.Config) { config.Dial = lock.Dial }
	}
	if o.Bindings, err = c.Kubernetes.Client("stowage-batch-binding", connect.Looking, guard); err != nil {
		return err
	}
	recording, err := c.Kubernetes.Client("stowage-batch-events")
	if err != nil {
		return err
	}
	var scheduler *Scheduler // before it runs there are no events
	broadcaster := events.NewBroadcaster(newEventSink(recording, func() { scheduler.metrics.drop("event") }))
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	o.Events = broadcaster.NewRecorder(scheme.Scheme, c.SchedulerName)
	if scheduler, err = New(api, client, cluster, o); err != nil {
		return err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", c.AdminAddress)
	if err != nil {
		return err
	}
	administered := &http.Server{
		Handler:           admin.Handler(admin.Settings{Metrics: tel.Gatherer(), Ready: scheduler.Ready, Pprof: c.Pprof}),
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}

	// What the scheduler needs goes on until the last pod has been bound.
	group, ctx := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return unlessDone(serving, cluster.Run(serving)) })
	group.Go(func() error {
		if err := administered.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		defer func() {
			stop()
			administered.Close()
		}()
		if !c.LeaderElect {
			return unlessDone(ctx, scheduler.Run(ctx, serving))
		}
		return lead(ctx, lock, log, scheduler.Run)
	})
	log.Info("started", "version", telemetry.Version(), "scheduler_name", c.SchedulerName,
		"admin_address", listener.Addr().String(), "stowage", c.StowageAddress)
	err = group.Wait()
	log.Info("stopped")
	return err
}

func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
