package oracle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Scheduler is a kube-scheduler that knows the cluster of one case.
type Scheduler struct {
	ctx    context.Context
	cancel context.CancelFunc

	scheduler *scheduler.Scheduler
	// schedulePod is the scheduler's own, which a Queue observes.
	schedulePod schedulePod
	framework   framework.Framework
	snapshot    *internalcache.Snapshot
	// filters are second instances of the profile's filter plugins, in its order, to be called one by one.
	filters []fwk.FilterPlugin
	weights map[string]int64
	// preemption is a second instance of DefaultPreemption, to be run in parts.
	preemption *defaultpreemption.DefaultPreemption

	index      map[string]uint32
	config     *scenario.Config
	candidates []string // names; nil for all
	assumed    int
	entries    map[types.UID]int   // of the assumed pods, in Queue
	members    map[string][]member // pending pods by group
	cycle      *groupCycle         // the one that runs
	whole      *Queue              // nil unless a whole kube-scheduler runs
	volumes    *volumebinding.VolumeBinding
	dynamic    reserver // DynamicResources
	devices    *deviceInformers
	bound      map[types.UID][]Binding // what pods have last assumed
	begun      int                     // how many assumed pods have a start time
	noteMutex  sync.Mutex              // what evicts pods runs in parallel

	// Nodes, Pods, Nominated, Namespaces, PodGroups, Queue, Storage and Devices are the case's objects as the API server stores them.
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
	Nominated  []*corev1.Pod
	Namespaces []*corev1.Namespace
	PodGroups  []*schedulingv1beta1.PodGroup
	Queue      []*corev1.Pod
	Storage    scenario.Storage
	Devices    scenario.Devices
}

type schedulePod = func(
	context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo,
) (scheduler.ScheduleResult, error)

func init() {
	// Batching remembers a decision for an equal pod that comes next; upstream turns it off too where it compares.
	if err := utilfeature.DefaultMutableFeatureGate.Set(string(features.OpportunisticBatching) + "=false"); err != nil {
		panic(err)
	}
	// The API server accepts pods that require any feature of nodes. kube-scheduler does not read these gates.
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.UserNamespacesHostNetworkSupport): true, string(features.VolumeBindMountOptions): true,
	}); err != nil {
		panic(err)
	}
	klog.SetLogger(logr.Discard())
}

// Options are what matters for large clusters only.
type Options struct {
	// PodsStored says that the pods on nodes are as the API server stores them (StoredPod): they are taken as they are.
	PodsStored bool
	// Parallelism is kube-scheduler's setting of that name; 1 if it is 0. No decision depends on it.
	Parallelism int32
}

// New makes a scheduler that knows the case's cluster. Close it.
func New(c *scenario.Case) (*Scheduler, error) { return NewWith(c, Options{}) }

// NewWith is New with options.
func NewWith(c *scenario.Case, o Options) (*Scheduler, error) { return newScheduler(c, o, nil) }

// newScheduler makes a scheduler that decides only, or one that acts on an API server.
func newScheduler(c *scenario.Case, o Options, api *apiServer) (*Scheduler, error) {
	if on := utilfeature.DefaultFeatureGate.Enabled(features.TopologyAwareWorkloadScheduling); on != c.Grouped() {
		return nil, fmt.Errorf("case %s: the feature gates of pod groups are not held", c.Name)
	}
	profile, err := profileOf(c)
	if err != nil {
		return nil, err
	}
	s := &Scheduler{index: make(map[string]uint32, len(c.Nodes)), candidates: c.Candidates, config: &c.Config}
	if err := s.admit(c, o); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	if err := s.start(c, profile, o, api); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the scheduler's goroutines.
func (s *Scheduler) Close() {
	s.cancel()
	if s.scheduler != nil {
		s.scheduler.SchedulingQueue.Close()
	}
}

func (s *Scheduler) admit(c *scenario.Case, o Options) error {
	for i, q := range c.Queue {
		if q.Pod == nil || q.Count < 1 {
			return &InvalidError{Object: fmt.Sprintf("queue[%d]", i), Errs: field.ErrorList{field.Required(field.NewPath("pod"), "with a count")}}
		}
	}
	for i, n := range c.Nodes {
		node, err := admitNode(n)
		if err != nil {
			return err
		}
		s.Nodes = append(s.Nodes, node)
		s.index[n.Name] = uint32(i)
	}
	if s.Pods = c.Pods; !o.PodsStored {
		s.Pods = make([]*corev1.Pod, len(c.Pods))
		for i, p := range c.Pods {
			var err error
			if s.Pods[i], err = StoredPod(p); err != nil {
				return err
			}
		}
	}
	for _, p := range s.Pods {
		if _, ok := s.index[p.Spec.NodeName]; !ok {
			// kube-scheduler would count it on a node that it waits for, Stowage as pending again.
			path := field.NewPath("spec", "nodeName")
			return &InvalidError{Object: "pod " + p.Namespace + "/" + p.Name, Errs: field.ErrorList{field.NotFound(path, p.Spec.NodeName)}}
		}
	}
	for _, n := range c.Namespaces {
		namespace, err := admitNamespace(n)
		if err != nil {
			return err
		}
		s.Namespaces = append(s.Namespaces, namespace)
	}
	for _, q := range c.Queue {
		pod, err := StoredPod(q.Pod)
		if err != nil {
			return err
		}
		s.Queue = append(s.Queue, pod)
	}
	var err error
	if s.Storage, err = storedStorage(&c.Storage); err != nil {
		return err
	}
	if s.Devices, err = storedDevices(&c.Devices); err != nil {
		return err
	}
	return errors.Join(s.admitNominated(c), s.admitGroups(c))
}

func (s *Scheduler) start(c *scenario.Case, profile *config.KubeSchedulerProfile, o Options, api *apiServer) error {
	client, record := client, events.EventRecorderLogger(silent{})
	options := []scheduler.Option{}
	if api != nil {
		client, record = api.client, api
		options = append(options, scheduler.WithClock(&api.clock))
	}
	factory, err := s.informers(c, client, api)
	if err != nil {
		return err
	}
	unlock, err := setGates(&c.Config)
	if err != nil {
		return err
	}
	defer unlock()

	s.snapshot = internalcache.NewEmptySnapshot()
	var everyNode int32 = 100
	var complete config.KubeSchedulerProfile
	s.scheduler, err = scheduler.New(s.ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return record },
		append(options,
			scheduler.WithProfiles(*profile),
			scheduler.WithPercentageOfNodesToScore(&everyNode),
			scheduler.WithParallelism(max(1, o.Parallelism)),
			scheduler.WithNodeInfoSnapshot(s.snapshot),
			scheduler.WithFrameworkOutOfTreeRegistry(s.registry()),
			scheduler.WithBuildFrameworkCapturer(func(p config.KubeSchedulerProfile) { complete = p }),
		)...,
	)
	if err != nil {
		return fmt.Errorf("starting kube-scheduler: %w", err)
	}
	s.schedulePod = s.scheduler.SchedulePod
	s.framework = s.scheduler.Profiles[profile.SchedulerName]
	if err := errors.Join(s.devices.fill(&s.Devices), s.createClaims(c)); err != nil {
		return err
	}
	s.findDynamic()
	if err := s.single(&complete); err != nil {
		return err
	}
	if err := s.fill(); err != nil || api != nil {
		return err
	}
	s.nominate()
	if err := s.fillGroups(c); err != nil {
		return err
	}
	return s.refresh()
}

// single makes the filter plugins once more, and learns the weights.
func (s *Scheduler) single(profile *config.KubeSchedulerProfile) error {
	registry := plugins.NewInTreeRegistry()
	enabled := s.framework.ListPlugins()
	for _, p := range enabled.Filter.Enabled {
		if p.Name == names.DynamicResources {
			s.filters = append(s.filters, s.dynamic)
			continue
		}
		plugin, err := registry[p.Name](s.ctx, argsOf(profile, p.Name), s.framework)
		if err != nil {
			return err
		}
		if binding, ok := plugin.(*volumebinding.VolumeBinding); ok {
			s.observeBinding(binding)
		}
		s.filters = append(s.filters, plugin.(fwk.FilterPlugin))
	}
	preempts, err := registry[names.DefaultPreemption](s.ctx, argsOf(profile, names.DefaultPreemption), s.framework)
	if err != nil {
		return err
	}
	s.preemption = preempts.(*defaultpreemption.DefaultPreemption)
	s.preemption.Evaluator.Handler = &notingHandle{s.preemption.Evaluator.Handler, s}
	s.weights = make(map[string]int64)
	for _, p := range enabled.Score.Enabled {
		s.weights[p.Name] = int64(p.Weight)
	}
	return nil
}

func (s *Scheduler) fill() error {
	logger := logr.Discard()
	for _, n := range s.Nodes {
		s.scheduler.Cache.AddNode(logger, n)
	}
	for _, p := range s.Pods {
		if err := s.scheduler.Cache.AddPod(logger, p); err != nil {
			return err
		}
	}
	return nil
}

// refresh brings the snapshot up to the cache's state and limits it to the candidates.
func (s *Scheduler) refresh() error { return s.refreshFrom(s.scheduler.Cache) }

func (s *Scheduler) refreshFrom(cache internalcache.Cache) error {
	s.snapshot.ForgetPlacement()
	if err := cache.UpdateSnapshot(logr.Discard(), s.snapshot); err != nil {
		return err
	}
	return s.limit()
}

// limit limits the snapshot to the candidates.
func (s *Scheduler) limit() error {
	s.snapshot.ForgetPlacement()
	if s.candidates == nil {
		return nil
	}
	placement := &fwk.Placement{}
	for _, name := range s.candidates {
		info, err := s.snapshot.Get(name)
		if err != nil {
			return err
		}
		placement.Nodes = append(placement.Nodes, info)
	}
	return s.snapshot.AssumePlacement(placement)
}

// client is the scheduler's client of the API server. Only the eviction of victims uses it.
var client kubernetes.Interface = kubernetes.NewForConfigOrDie(restConfig(agreeable{}))

func restConfig(transport http.RoundTripper) *rest.Config {
	return &rest.Config{Host: "http://127.0.0.1:0", Transport: transport, QPS: -1}
}

// agreeable is an API server that answers every request with success, and does nothing.
type agreeable struct{}

func (agreeable) RoundTrip(r *http.Request) (*http.Response, error) { return agreed(r), nil }

func agreed(r *http.Request) *http.Response {
	body := `{"kind":"Pod","apiVersion":"v1"}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// inNamespace returns the object with the namespace that one without gets.
func inNamespace(o runtime.Object) metav1.Object {
	out := o.DeepCopyObject().(metav1.Object)
	if out.GetNamespace() == "" {
		out.SetNamespace(metav1.NamespaceDefault)
	}
	return out
}

// informers returns listers that hold the case's objects. They are never started. An API server holds the pods itself.
func (s *Scheduler) informers(
	c *scenario.Case, client kubernetes.Interface, api *apiServer,
) (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	s.devices = holdDevices(factory)
	var errs []error
	core, apps := factory.Core().V1(), factory.Apps().V1()
	if api != nil {
		errs = append(errs, api.hold(factory, s.Pods))
	} else {
		for _, o := range s.nominated() {
			errs = append(errs, core.Pods().Informer().GetIndexer().Add(o))
		}
		for _, o := range s.Queue {
			// Preemption looks the pod up. It takes the place of one of the same name that is nominated.
			errs = append(errs, core.Pods().Informer().GetIndexer().Add(o))
		}
	}
	errs = append(errs, addBudgets(factory, c.PodDisruptionBudgets), addStorage(factory, &s.Storage))
	for _, o := range s.Namespaces {
		errs = append(errs, core.Namespaces().Informer().GetIndexer().Add(o))
	}
	for _, o := range c.Services {
		errs = append(errs, core.Services().Informer().GetIndexer().Add(inNamespace(o)))
	}
	for _, o := range c.ReplicationControllers {
		errs = append(errs, core.ReplicationControllers().Informer().GetIndexer().Add(inNamespace(o)))
	}
	for _, o := range c.ReplicaSets {
		errs = append(errs, apps.ReplicaSets().Informer().GetIndexer().Add(inNamespace(o)))
	}
	for _, o := range c.StatefulSets {
		errs = append(errs, apps.StatefulSets().Informer().GetIndexer().Add(inNamespace(o)))
	}
	return factory, errors.Join(errs...)
}
