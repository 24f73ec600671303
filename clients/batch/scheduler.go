package batch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options says what a Scheduler does.
type Options struct {
	// SchedulerName is the spec.schedulerName of the pods that are scheduled. Required.
	SchedulerName string
	// MaxBatch is about how many pods are placed by one call; more wait for the next. 1,000 if 0.
	MaxBatch int
	// Binders is how many bindings are made at a time. 16 if 0.
	Binders int
	// Fresh is how long a decision holds whatever happens elsewhere than on its node, as long as kube-scheduler's may. 1 s if 0.
	Fresh time.Duration
	// Profile is how Stowage decides, kube-scheduler's default if nil.
	Profile *stowagev1.Profile
	// GroupMode is how groups are placed.
	GroupMode stowagev1.PodGroupMode
	// Bindings and Statuses are the clients by which pods are bound and their status is changed, so that neither waits for
	// the other or for what else is asked. New's if nil. Bindings looks before it sends (connect.Looking).
	Bindings, Statuses kubernetes.Interface
	// Events gets what happens to pods. Required.
	Events events.EventRecorder
	// Lease says whether the scheduler may bind, nil if it always may.
	Lease Lease
	// Log, slog.Default if nil.
	Log *slog.Logger
	// Meter gets the metrics stowage.batch.*, none if nil.
	Meter metric.MeterProvider
}

// Lease is what a scheduler leads by. Term is another number each time that it begins to lead, and 0 while it does not.
type Lease interface{ Term() uint64 }

// always is the Lease of the only scheduler.
type always struct{}

func (always) Term() uint64 { return 1 }

// Scheduler schedules the pods of one scheduler name.
type Scheduler struct {
	api      kubernetes.Interface
	client   stowagev1.PlacementServiceClient
	cluster  *live.Cluster
	options  Options
	log      *slog.Logger
	metrics  *metrics
	pods     cache.Indexer // every pod that has not ended
	pending  *pendingPods
	synced   cache.InformerSynced // whether pending has been told of all pods
	bindings chan verdict         // what is to be bound
	gangs    gangs
	reports  *reports // queue of status updates for pods without a node
}

// How many pods are told at a time why they wait, and how many of those may wait to be told.
const (
	reportsAtATime = 4
	reportsWaiting = 4096
)

// New makes a scheduler of a cluster that does not run yet.
func New(api kubernetes.Interface, client *stowage.Client, cluster *live.Cluster, o Options) (*Scheduler, error) {
	if o.MaxBatch == 0 {
		o.MaxBatch = 1000
	}
	if o.Binders == 0 {
		o.Binders = 16
	}
	if o.Fresh == 0 {
		o.Fresh = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Meter == nil {
		o.Meter = noop.NewMeterProvider()
	}
	if o.Bindings == nil {
		o.Bindings = api
	}
	if o.Statuses == nil {
		o.Statuses = api
	}
	if o.Lease == nil {
		o.Lease = always{}
	}
	s := &Scheduler{
		api: api, client: client, cluster: cluster, options: o, log: o.Log,
		pending: newPendingPods(), gangs: gangs{byKey: map[groupKey]*gang{}}, bindings: make(chan verdict, o.MaxBatch),
	}
	var err error
	if s.metrics, err = newMetrics(o.Meter, s.pending); err != nil {
		return nil, err
	}
	s.reports = newReports(reportsAtATime, reportsWaiting, func() { s.metrics.drop("status") })
	informer := cluster.Informers().Core().V1().Pods().Informer()
	s.pods = informer.GetIndexer()
	if err := informer.AddIndexers(cache.Indexers{groupIndex: indexByGroup}); err != nil {
		return nil, err
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.see,
		UpdateFunc: func(_, o any) { s.see(o) },
		DeleteFunc: s.gone,
	})
	if err != nil {
		return nil, err
	}
	s.synced = registration.HasSynced
	return s, nil
}

func (s *Scheduler) see(o any) {
	p, ok := o.(*corev1.Pod)
	if !ok || p.Spec.SchedulerName != s.options.SchedulerName {
		return
	}
	if p.Spec.NodeName != "" || p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0 {
		s.pending.remove(p.UID)
		s.reports.drop(p.UID)
		return
	}
	s.pending.put(p, time.Now())
}

func (s *Scheduler) gone(o any) {
	if unseen, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unseen.Obj
	}
	if p, ok := o.(*corev1.Pod); ok {
		s.pending.remove(p.UID)
		s.reports.drop(p.UID)
	}
}

// Ready tells whether the scheduler knows the whole cluster.
func (s *Scheduler) Ready() bool { return s.cluster.Ready() && s.synced() }

// lastBindings is how long bindings are made that have been decided when the scheduler is to end. With what comes after it
// stays below the terminationGracePeriodSeconds of deploy/batch.
const lastBindings = 10 * time.Second

// Run schedules until the context ends, and then makes the bindings that have been decided, so that whoever takes over finds
// them. It binds nothing once leading has ended, which may be at any time. It may be called once.
func (s *Scheduler) Run(ctx, leading context.Context) error {
	if err := s.cluster.WaitReady(ctx); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		return context.Cause(ctx)
	}
	s.log.Info("scheduling", "schedulerName", s.options.SchedulerName)
	binding, end := context.WithCancel(leading)
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastBindings, end) })()
	var binders sync.WaitGroup
	for range s.options.Binders {
		binders.Go(func() {
			for v := range s.bindings {
				s.metrics.took(binding, "bind_queue", v.decided)
				s.bind(binding, v)
			}
		})
	}
	s.loop(ctx)
	close(s.bindings)
	binders.Wait()
	s.reports.wait()
	return context.Cause(ctx)
}

// catchUpAgain is how soon the cluster is read again if that failed.
const catchUpAgain = time.Second

// loop schedules what is due, over and over. An epoch is a time in which nothing changed that decisions read.
func (s *Scheduler) loop(ctx context.Context) {
	changed, epoch := s.cluster.Changed(), uint64(0)
	for ctx.Err() == nil {
		select {
		case <-changed:
			changed = s.cluster.Changed()
			epoch++
		default:
		}
		if err := s.cluster.CatchUp(ctx); err != nil {
			s.log.Error("cannot read what was bound while this process did not run", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(catchUpAgain):
			}
			continue
		}
		pods, next := s.pending.take(time.Now(), epoch, s.options.MaxBatch)
		if len(pods) > 0 {
			s.schedule(ctx, pods, epoch)
			continue
		}
		var alarm <-chan time.Time
		if !next.IsZero() {
			alarm = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-s.pending.more:
		case <-alarm:
		}
	}
}
