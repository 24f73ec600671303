package live

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

var (
	// ErrNotReady means that the informers have not synced yet.
	ErrNotReady = errors.New("the informers have not synced yet")
	// ErrChanged means that the cluster has changed since a view.
	ErrChanged = errors.New("the cluster has changed since the decision")
)

// Options configure a Cluster. The zero value has the defaults.
type Options struct {
	// Log, slog.Default if nil.
	Log *slog.Logger
	// Meter gets the metrics stowage.live.*, none if nil.
	Meter metric.MeterProvider
	// AssumeFor is how long a pod stays assumed without an event that resolves it, before the Cluster reads the pod from
	// the API server. DefaultAssumeFor if 0.
	AssumeFor time.Duration
	// StartTimes adds the name and the start time of each pod on a node to the snapshot. A caller that preempts needs them to
	// evict the same pods as kube-scheduler. Without StartTimes equal pods are counted, which makes a base five times smaller,
	// and a delta smaller still. Event texts may then count other pods of the same priority as victims than kube-scheduler does.
	StartTimes bool
	// PodGroups makes the Cluster watch PodGroups.
	PodGroups bool
	// Selectors evaluates the expressions of DeviceClasses and ResourceClaims. Without it the Cluster reads no devices.
	Selectors convert.Selectors
	// BindingTimeout is how long kube-scheduler waits for the binding conditions of devices, its default of 10 minutes if 0.
	BindingTimeout time.Duration
}

// DefaultAssumeFor is the default of Options.AssumeFor.
const DefaultAssumeFor = 30 * time.Second

// Cluster is a live cluster. See the package documentation.
type Cluster struct {
	api       kubernetes.Interface
	client    *stowage.Client
	log       *slog.Logger
	assumeFor time.Duration
	podGroups bool
	selectors convert.Selectors
	informers *Informers
	synced    []cache.InformerSynced
	expired   metric.Int64Counter
	pulse     pulse

	mutex   sync.Mutex
	model   *model
	ready   bool
	changed chan struct{} // closed by the next change
	view    *View         // nil after a change
	base    *base         // nil before the first view, and if a rebuild is due
}

// New returns a Cluster that does not watch yet. Handlers may be added to its informers before Run.
func New(api kubernetes.Interface, client *stowage.Client, o Options) (*Cluster, error) {
	c := &Cluster{api: api, client: client, log: o.Log, assumeFor: o.AssumeFor, podGroups: o.PodGroups, selectors: o.Selectors, changed: make(chan struct{})}
	if c.log == nil {
		c.log = slog.Default()
	}
	if c.assumeFor == 0 {
		c.assumeFor = DefaultAssumeFor
	}
	if o.Meter == nil {
		o.Meter = noop.NewMeterProvider()
	}
	c.model = newModel(c.log)
	c.model.startTimes, c.model.bindingTimeout = o.StartTimes, o.BindingTimeout
	c.informers = newInformers(api)
	if err := c.watch(); err != nil {
		return nil, err
	}
	return c, c.measure(o.Meter)
}

// trimmed drops the managedFields, which take much memory and which this process does not read. It copies the object: a fake
// API server may still hold the original.
func trimmed(o any) (any, error) {
	if m, err := meta.Accessor(o); err != nil || len(m.GetManagedFields()) == 0 {
		return o, nil //nolint:nilerr // other values have no managed fields
	}
	from := reflect.ValueOf(o).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	to.Interface().(metav1.Object).SetManagedFields(nil)
	return to.Interface(), nil
}

// Informers returns the Cluster's informers. The pod informer has every pod that has not ended, including pending pods.
func (c *Cluster) Informers() *Informers { return c.informers }

// settleEvery is the interval at which overdue assumptions are resolved.
const settleEvery = time.Second

// Run watches until the context ends. It may be called once.
func (c *Cluster) Run(ctx context.Context) error {
	if err := errors.Join(c.watchDevices(ctx), c.watchPodGroups(ctx), c.watchStorage(ctx)); err != nil {
		return err
	}
	c.informers.run(ctx)
	defer c.informers.wait()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return context.Cause(ctx)
	}
	c.mutex.Lock()
	c.ready = true
	c.model.changed = true
	c.publish()
	nodes, pods := c.model.size()
	c.mutex.Unlock()
	c.log.Info("informers synced", "nodes", nodes, "pods", pods)
	var beating sync.WaitGroup
	beating.Go(func() { c.beats(ctx) })
	defer beating.Wait()
	for tick := time.NewTicker(min(settleEvery, c.assumeFor)); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return context.Cause(ctx)
		case <-tick.C:
			c.settle(ctx)
			c.settleNominations(ctx)
		}
	}
}

// Ready reports whether the informers have synced.
func (c *Cluster) Ready() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ready
}

// WaitReady waits until the cluster is ready.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for {
		changed := c.Changed()
		if c.Ready() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Changed returns a channel that is closed by the next change of a field that decisions about nodes read. Call it before
// reading the state. PodDisruptionBudgets and start times, which only preemption reads, do not count.
func (c *Cluster) Changed() <-chan struct{} {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.changed
}

// update changes the model.
func (c *Cluster) update(change func(*model)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change(c.model)
	c.publish()
}

// publish announces a change of the model, if there is one.
func (c *Cluster) publish() {
	decided := c.model.deciding
	c.model.deciding = false
	if c.model.aside {
		c.model.aside = false
		c.view = nil
	}
	if !c.model.changed {
		return
	}
	c.model.changed = false
	c.model.version++
	if !decided {
		c.model.eventVersion = c.model.version
	}
	c.view = nil
	if c.ready {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// Assumption is a pod and the node chosen for it.
type Assumption struct {
	Pod  *corev1.Pod
	Node string
	// Held assumptions count until Extend or Forget, because their holder knows the outcome of the binding. Other assumptions
	// count for Options.AssumeFor.
	Held bool
	// Claims are the resource claims of the pod, allocated and reserved as the caller is about to write them.
	Claims []*resourcev1.ResourceClaim
}

// Assume counts pods on nodes, all or none. It returns ErrChanged if the decision may be outdated: if at is not nil and the
// cluster has changed since, if the informer has shown one of the pods on a node, or if a node is gone. Assuming a pod again
// moves it.
func (c *Cluster) Assume(at *View, pods ...Assumption) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case !c.ready:
		return ErrNotReady
	case at != nil && at.version != c.model.version:
		return ErrChanged
	}
	deadline := time.Now().Add(c.assumeFor)
	if err := c.model.assume(pods, deadline); err != nil {
		return err
	}
	c.publish()
	return nil
}

// Extend makes an assumption, held or not, count for Options.AssumeFor from now on. It reports whether the pod is assumed on
// that node.
func (c *Cluster) Extend(pod types.UID, node string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	p := c.model.pods[pod]
	if p == nil || !p.assumed || p.node != node {
		return false
	}
	p.until = time.Now().Add(c.assumeFor)
	return true
}

// NodeOf returns the node that a pod is bound to or assumed on, "" if there is none.
func (c *Cluster) NodeOf(pod types.UID) (node string, assumed bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	p := c.model.pods[pod]
	if p == nil {
		return "", false
	}
	return p.node, p.assumed
}

// HasNode reports whether the next view has a node.
func (c *Cluster) HasNode(name string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.model.nodes[name]
	return n != nil && n.message != nil
}

// Found applies the API server's state of an assumed pod, which then counts on its actual node. It does nothing if an event
// has resolved the assumption.
func (c *Cluster) Found(pod *corev1.Pod) {
	c.update(func(m *model) {
		if p := m.pods[pod.UID]; p != nil && p.assumed {
			m.podSet(pod)
		}
	})
}

// Forget removes an assumed pod. It does nothing if an event has shown the pod on a node, or if the pod is not assumed.
func (c *Cluster) Forget(pod types.UID) {
	c.update(func(m *model) { m.forget(pod) })
}
