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

// Options configure a Scheduler.
type Options struct {
	// SchedulerName is the spec.schedulerName of the pods to schedule. Required.
	SchedulerName string
	// MaxBatch is the approximate number of pods per call; more wait for the next call. 1,000 if 0.
	MaxBatch int
	// Binders is the number of concurrent bindings. 16 if 0.
	Binders int
	// Fresh is how long a decision tolerates changes outside its node, as kube-scheduler's decisions do. 1 s if 0.
	Fresh time.Duration
	// Profile is the profile to decide by, kube-scheduler's default if nil.
	Profile *stowagev1.Profile
	// TieBreak chooses one of several best nodes.
	TieBreak stowagev1.TieBreak
	// NoPreemption: the profile has no preemption, so messages do not mention it.
	NoPreemption bool
	// Preempt evicts pods of lower priority where kube-scheduler would. The cluster needs live.Options.StartTimes.
	Preempt bool
	// PreemptionPairs is the maximum number of pairs of a queue entry and a node for a call that includes preemption. 500,000 if 0.
	PreemptionPairs int
	// GroupMode is the default for PodGroups that do not specify a mode.
	GroupMode stowagev1.PodGroupMode
	// JointTime bounds the searches for joint placements between two batches of other pods. 500 ms if 0.
	JointTime time.Duration
	// MaxJointSteps bounds the steps that a PodGroup may request for its search. 65,536 if 0.
	MaxJointSteps uint32
	// AllocateDevices allocates devices for resource claims before their pods are bound. No other scheduler may allocate devices of the same
	// nodes. The cluster needs live.Options.Selectors.
	AllocateDevices bool
	// Bindings and Statuses are the clients for bindings and status updates, so that neither waits for other calls. New's client if
	// nil. Bindings checks before it sends (connect.Looking).
	Bindings, Statuses kubernetes.Interface
	// Evictions is the client for nominations and evictions. It checks before it sends, as Bindings does. New's client if nil.
	Evictions kubernetes.Interface
	// Events records events about pods. Required.
	Events events.EventRecorder
	// Lease reports whether the scheduler leads; nil if it always does.
	Lease Lease
	// Log, slog.Default if nil.
	Log *slog.Logger
	// Meter gets the metrics stowage.batch.*, none if nil.
	Meter metric.MeterProvider
}

// Lease is the leader lease. Term returns another number each time that the scheduler begins to lead, and 0 while another replica
// leads.
type Lease interface{ Term() uint64 }

// always is the Lease of a single scheduler.
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
	synced   cache.InformerSynced // whether pending has all pods
	bindings chan verdict         // decided pods to bind
	// evictions evict the victims of nominated pods.
	evictions chan func(context.Context)
	gangs     gangs
	reports   *reports // queue of status updates for pods without a node
}

// Limits of concurrent and of queued status updates.
const (
	reportsAtATime = 4
	reportsWaiting = 4096
)

// New returns a scheduler of a cluster that does not run yet.
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
	if o.PreemptionPairs == 0 {
		o.PreemptionPairs = preemptionPairs
	}
	if o.JointTime == 0 {
		o.JointTime = 500 * time.Millisecond
	}
	if o.MaxJointSteps == 0 {
		o.MaxJointSteps = 1 << 16
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
	if o.Evictions == nil {
		o.Evictions = api
	}
	if o.Lease == nil {
		o.Lease = always{}
	}
	s := &Scheduler{
		api: api, client: client, cluster: cluster, options: o, log: o.Log,
		pending: newPendingPods(), gangs: gangs{byKey: map[groupKey]*gang{}}, bindings: make(chan verdict, o.MaxBatch),
		evictions: make(chan func(context.Context), o.MaxBatch),
	}
	var err error
	if s.metrics, err = newMetrics(o.Meter, s.pending, o.Lease); err != nil {
		return nil, err
	}
	s.reports = newReports(reportsAtATime, reportsWaiting, func() { s.metrics.drop("status") })
	informer := cluster.Informers().CoreV1().Pods().Informer()
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

// Ready reports whether the informers have synced.
func (s *Scheduler) Ready() bool { return s.cluster.Ready() && s.synced() }

// preemptionsAtATime is the number of concurrent evictions, each for one pod or group.
const preemptionsAtATime = 16

// lastBindings is how long a stopping scheduler may take for decided bindings. With the rest of the shutdown it stays below the
// terminationGracePeriodSeconds of deploy/batch.
const lastBindings = 10 * time.Second

// Run schedules until the context ends, and then makes the decided bindings, so that the next leader finds them. It binds nothing
// once leading has ended, which may be at any time. It may be called once.
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
	for range preemptionsAtATime {
		binders.Go(func() {
			for evict := range s.evictions {
				evict(binding)
			}
		})
	}
	s.loop(ctx)
	close(s.bindings)
	close(s.evictions)
	binders.Wait()
	s.reports.wait()
	return context.Cause(ctx)
}

// catchUpAgain is the delay before the cluster is read again after an error.
const catchUpAgain = time.Second

// loop schedules due pods repeatedly. An epoch is a time in which nothing changed that decisions read.
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
			s.log.Error("cannot read the pods that were bound while this process was paused", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(catchUpAgain):
			}
			continue
		}
		pods, next := s.pending.take(time.Now(), epoch, s.options.MaxBatch)
		if len(pods) > 0 {
			s.round(ctx, pods, epoch)
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
