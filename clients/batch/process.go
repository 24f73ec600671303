package batch

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/lease"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/process"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	"github.com/stowage-scheduler/stowage/server/version"
)

// Run schedules with a valid configuration until the context ends. Every replica watches the cluster, so that it can take over
// immediately; only the leader schedules.
func (c *Config) Run(ctx context.Context, log *slog.Logger) (err error) {
	p, err := process.Start(ctx, "stowage-batch", &c.Settings, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	log = p.Log()
	api, err := c.Client("stowage-batch")
	if err != nil {
		return err
	}
	configured, err := c.scheduler()
	if err != nil {
		return err
	}
	reading := live.Options{Log: log, Meter: p.Meter(), StartTimes: c.Preempt, PodGroups: true, BindingTimeout: configured.BindingTimeout}
	if c.AllocateDevices {
		reading.Selectors = cel.New()
	}
	cluster, err := live.New(api, p.Stowage, reading)
	if err != nil {
		return err
	}
	o := Options{
		SchedulerName: c.SchedulerName, MaxBatch: c.MaxBatchPods, Binders: c.Binders, GroupMode: c.groupMode(),
		JointTime: c.JointTime, MaxJointSteps: c.MaxJointSteps,
		TieBreak: c.tieBreak(), Preempt: c.Preempt, AllocateDevices: c.AllocateDevices, Log: log, Meter: p.Meter(),
	}
	o.Profile, o.NoPreemption = schedulerconfig.Named(configured.Profile, c.SchedulerName), configured.NoPreemption()
	lock, err := c.clients(&o)
	if err != nil {
		return err
	}
	recording, err := c.Client("stowage-batch-events")
	if err != nil {
		return err
	}
	var scheduler *Scheduler // set before Run, which causes the first event
	broadcaster := events.NewBroadcaster(newEventSink(recording, func() { scheduler.metrics.drop("event") }))
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	o.Events = broadcaster.NewRecorder(scheme.Scheme, c.SchedulerName)
	if scheduler, err = New(api, p.Stowage, cluster, o); err != nil {
		return err
	}
	admin, err := p.ListenAdmin(ctx, scheduler.Ready)
	if err != nil {
		return err
	}
	log.Info("started", "version", version.Current(), "scheduler_name", c.SchedulerName,
		"admin_address", admin.Addr().String(), "stowage", c.StowageAddress)
	err = c.serve(ctx, scheduler, lock, admin)
	log.Info("stopped")
	return err
}

// clients sets the clients that write to the API server, and returns the lease, nil without leader election.
func (c *Config) clients(o *Options) (lock *lease.Lock, err error) {
	if o.Statuses, err = c.Client("stowage-batch-status"); err != nil {
		return nil, err
	}
	if !c.LeaderElect {
		return nil, c.fenced(o, connect.Looking)
	}
	if lock, err = newLock(c); err != nil {
		return nil, err
	}
	o.Lease = lock
	return lock, c.fenced(o, connect.Looking, func(config *rest.Config) {
		config.Dial = lease.Dialer(lock.Term, apiTimeout)
	})
}

// fenced sets the clients for requests that only a leader may send.
func (c *Config) fenced(o *Options, change ...func(*rest.Config)) (err error) {
	if o.Bindings, err = c.Client("stowage-batch-binding", change...); err == nil {
		o.Evictions, err = c.Client("stowage-batch-preemption", change...)
	}
	return err
}

// serve runs the scheduler. The cluster and the admin endpoints stay up until the last binding.
func (c *Config) serve(ctx context.Context, scheduler *Scheduler, lock *lease.Lock, admin *process.Admin) error {
	group, ctx := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return process.UnlessDone(serving, scheduler.cluster.Run(serving)) })
	group.Go(admin.Serve)
	group.Go(func() error {
		defer func() {
			stop()
			_ = admin.Close()
		}()
		if lock == nil {
			return process.UnlessDone(ctx, scheduler.Run(ctx, serving))
		}
		return lead(ctx, lock, scheduler.log, scheduler.Run)
	})
	return group.Wait()
}
