package batch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// assumeFor is how long what is assumed and not held counts: so short that nothing may rest on it.
const assumeFor = 20 * time.Millisecond

// world is a scheduler of a cluster whose API server is faked, with a Stowage server that is not.
type world struct {
	t       *testing.T
	api     *fake.Clientset
	cluster *live.Cluster
	events  *events.FakeRecorder

	mutex sync.Mutex
	binds []string // "pod node", in the order of the requests
	// beforeBind and afterBind are called with each binding, beforeGet with each question about a pod; their error is the
	// answer, before anything or after it.
	beforeBind, afterBind, beforeGet func(pod string) error
	// found changes a pod that the API server returns.
	found func(*corev1.Pod)
	// changing is held while an object is read and written: an API server loses no change to another one.
	changing sync.Mutex
	// beforePatch is called before the status of a pod is changed.
	beforePatch func()
	// writes are the requests of evictions: "nominate pod node", "mark pod", "delete pod". beforeWrite
	// is called with each, and its error is the answer.
	writes      []string
	beforeWrite func(write string) error
	// graceful has deleted pods terminate until the test lets them go.
	graceful bool
	// beforePlace is called before the next call of Place; everyPlace with each one, and its error is the answer.
	beforePlace func()
	everyPlace  func(context.Context, *stowagev1.PlaceRequest) error
	// updateClaim is the reactor for updates of claims. It is set while the scheduler runs, when the fake API server may not be given a reactor.
	updateClaim atomic.Pointer[clienttesting.ReactionFunc]

	end, lose context.CancelFunc // the scheduler's contexts
	ended     chan struct{}      // closed when Run has returned
}

func start(t *testing.T, o batch.Options, objects ...runtime.Object) *world {
	t.Helper()
	return startAssuming(t, assumeFor, o, objects...)
}

func startAssuming(t *testing.T, assumeFor time.Duration, o batch.Options, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewClientset(objects...), events: events.NewFakeRecorder(100_000), ended: make(chan struct{})}
	w.api.Resources = []*metav1.APIResourceList{
		{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "deviceclasses"}, {Name: "resourceclaims"}}},
		{GroupVersion: "scheduling.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "podgroups"}}},
	}
	w.api.PrependReactor("update", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if react := w.updateClaim.Load(); react != nil {
			return (*react)(a)
		}
		return false, nil, nil
	})
	client, err := stowage.Dial([]string{servertest.Start(t).Address}, grpc.WithChainUnaryInterceptor(w.call))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	log := slog.New(slog.DiscardHandler)
	if w.cluster, err = live.New(w.api, client, live.Options{
		Log: log, AssumeFor: assumeFor, StartTimes: o.Preempt, PodGroups: true, Selectors: cel.New(),
	}); err != nil {
		t.Fatal(err)
	}
	o.SchedulerName, o.Events, o.Log = "stowage", w.events, log
	scheduler, err := batch.New(apiServer{w.api, w}, client, w.cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	watching, stop := context.WithCancel(context.Background())
	leading, lose := context.WithCancel(watching)
	ctx, end := context.WithCancel(leading)
	w.end, w.lose = end, lose
	var running sync.WaitGroup
	running.Go(func() { _ = w.cluster.Run(watching) })
	running.Go(func() { _ = scheduler.Run(ctx, leading); close(w.ended) })
	t.Cleanup(func() { end(); lose(); stop(); running.Wait() })
	return w
}

func (w *world) call(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	o ...grpc.CallOption) error {
	if method == stowagev1.PlacementService_Place_FullMethodName {
		w.mutex.Lock()
		before, every := w.beforePlace, w.everyPlace
		w.beforePlace = nil
		w.mutex.Unlock()
		if before != nil {
			before()
		}
		if every != nil {
			if err := every(ctx, req.(*stowagev1.PlaceRequest)); err != nil {
				return err
			}
		}
	}
	return invoke(ctx, method, req, reply, conn, o...)
}

// apiServer is the API server as the scheduler calls it. The fake one does not bind, and makes one call at a time.
type apiServer struct {
	kubernetes.Interface
	*world
}

func (a apiServer) CoreV1() corev1client.CoreV1Interface {
	return coreV1{a.Interface.CoreV1(), a.world}
}

type coreV1 struct {
	corev1client.CoreV1Interface
	*world
}

func (c coreV1) Pods(namespace string) corev1client.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.world}
}

type pods struct {
	corev1client.PodInterface
	*world
}

func (p pods) Bind(ctx context.Context, binding *corev1.Binding, _ metav1.CreateOptions) error {
	if err := ctx.Err(); err != nil {
		return err // as the client does
	}
	if err := looked(ctx); err != nil {
		return err
	}
	w := p.world
	w.mutex.Lock()
	w.binds = append(w.binds, binding.Name+" "+binding.Target.Name)
	before, after := w.beforeBind, w.afterBind
	w.mutex.Unlock()
	for {
		err := run(before, binding.Name)
		if err == nil {
			break
		}
		if !apierrors.IsTooManyRequests(err) {
			return err
		}
		if err := looked(ctx); err != nil { // before it sends again, as client-go does
			return err
		}
	}
	if err := w.bind(binding); err != nil {
		return err
	}
	return run(after, binding.Name)
}

func (w *world) bind(binding *corev1.Binding) error {
	w.changing.Lock()
	defer w.changing.Unlock()
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	o, err := w.api.Tracker().Get(resource, binding.Namespace, binding.Name)
	if err != nil {
		return err
	}
	found := o.(*corev1.Pod).DeepCopy()
	if found.UID != binding.UID || found.Spec.NodeName != "" {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), found.Name, errors.New("it is another one or has a node"))
	}
	found.Spec.NodeName = binding.Target.Name
	// As PodTopologyLabels does, so that the event changes nothing.
	if node, err := w.api.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", binding.Target.Name); err == nil {
		if found.Labels == nil {
			found.Labels = map[string]string{}
		}
		found.Labels[corev1.LabelTopologyZone] = node.(*corev1.Node).Labels[corev1.LabelTopologyZone]
	}
	return w.api.Tracker().Update(resource, found, found.Namespace)
}

// looked is what a client that is Looking finds before it sends.
func looked(ctx context.Context) error {
	config := &rest.Config{}
	connect.Looking(config)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api", strings.NewReader("bind"))
	if err != nil {
		return err
	}
	_, err = config.WrapTransport(sends{}).RoundTrip(request)
	return err
}

type sends struct{}

func (sends) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.ReadAll(r.Body)
	return &http.Response{StatusCode: http.StatusTooManyRequests}, err // the only answer after which it is sent again
}

func (p pods) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Pod, error) {
	p.world.mutex.Lock()
	before, found := p.world.beforeGet, p.world.found
	p.world.mutex.Unlock()
	if err := run(before, name); err != nil {
		return nil, err
	}
	pod, err := p.PodInterface.Get(ctx, name, o)
	if err == nil && found != nil {
		found(pod)
	}
	return pod, err
}

func (p pods) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, o metav1.PatchOptions,
	sub ...string) (*corev1.Pod, error) {
	p.world.mutex.Lock()
	before := p.world.beforePatch
	p.world.mutex.Unlock()
	if before != nil {
		before()
	}
	var says struct {
		Status struct {
			NominatedNodeName *string
			Conditions        []corev1.PodCondition
		}
	}
	if err := json.Unmarshal(patch, &says); err != nil {
		return nil, err
	}
	switch status := says.Status; {
	case status.NominatedNodeName != nil:
		if err := p.wrote(ctx, "nominate "+name+" "+*status.NominatedNodeName); err != nil {
			return nil, err
		}
	case bytes.Contains(patch, []byte(`"nominatedNodeName":null`)):
		if err := p.wrote(ctx, "clear "+name); err != nil {
			return nil, err
		}
	case len(status.Conditions) == 1 && status.Conditions[0].Type == corev1.DisruptionTarget:
		if err := p.wrote(ctx, "mark "+name); err != nil {
			return nil, err
		}
	}
	p.world.changing.Lock()
	defer p.world.changing.Unlock()
	return p.PodInterface.Patch(ctx, name, kind, patch, o, sub...)
}

// wrote records a write that only a leader may make, and returns what the API server answers to it.
func (w *world) wrote(ctx context.Context, what string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := looked(ctx); err != nil {
		return err
	}
	w.mutex.Lock()
	before := w.beforeWrite
	w.mutex.Unlock()
	err := run(before, what)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err == nil {
		w.writes = append(w.writes, what)
	}
	return err
}

func (p pods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := p.wrote(ctx, "delete "+name); err != nil {
		return err
	}
	p.world.changing.Lock()
	defer p.world.changing.Unlock()
	found, err := p.PodInterface.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if o.Preconditions == nil || *o.Preconditions.UID != found.UID {
		return apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("Precondition failed: UID"))
	}
	p.world.mutex.Lock()
	graceful := p.world.graceful
	p.world.mutex.Unlock()
	if !graceful {
		return p.PodInterface.Delete(ctx, name, o)
	}
	found.DeletionTimestamp = new(metav1.Now())
	return p.api.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), found, found.Namespace)
}

func run(f func(string) error, pod string) error {
	if f == nil {
		return nil
	}
	return f(pod)
}

// bad sets the outcome of calls; nil for none.
func (w *world) bad(beforeBind, afterBind, beforeGet func(pod string) error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.beforeBind, w.afterBind, w.beforeGet = beforeBind, afterBind, beforeGet
}

func (w *world) create(pods ...*corev1.Pod) {
	w.t.Helper()
	for _, p := range pods {
		if _, err := w.api.CoreV1().Pods(p.Namespace).Create(w.t.Context(), p, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	p, err := w.api.CoreV1().Pods("default").Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// bound waits until pods have nodes, and returns those.
func (w *world) bound(names ...string) []string {
	w.t.Helper()
	var out []string
	eventually(w.t, func() error {
		out = nil
		for _, name := range names {
			p := w.pod(name)
			if p.Spec.NodeName == "" {
				return fmt.Errorf("%s has no node: %+v", name, p.Status.Conditions)
			}
			out = append(out, p.Spec.NodeName)
		}
		return nil
	})
	return out
}

// waits returns when a pod says that it waits, for a reason that contains some words.
func (w *world) waits(name, words string) {
	w.t.Helper()
	eventually(w.t, func() error {
		for _, c := range w.pod(name).Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("%s does not say %q: %+v", name, words, w.pod(name).Status.Conditions)
	})
}

// because expects a reason in the condition of a pod that waits.
func (w *world) because(name, reason string) {
	w.t.Helper()
	for _, c := range w.pod(name).Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason != reason {
			w.t.Errorf("%s waits for the reason %s, want %s: %s", name, c.Reason, reason, c.Message)
		}
	}
}

// expire waits until every assumption of before would have expired that is not held.
func (w *world) expire(node string) {
	w.t.Helper()
	for range 2 { // the second is made after the first has been looked at
		marker := pod("marker")
		if err := w.cluster.Assume(nil, live.Assumption{Pod: marker, Node: node}); err != nil {
			w.t.Fatal(err)
		}
		eventually(w.t, func() error {
			if on, _ := w.cluster.NodeOf(marker.UID); on != "" {
				return errors.New("it counts")
			}
			return nil
		})
	}
}

func eventually(t *testing.T, holds func() error) {
	t.Helper()
	var err error
	for range 6000 {
		if err = holds(); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(err)
}

func node(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: "zone-" + name,
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// pod requests 1 CPU.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pod-" + name)},
		Spec: corev1.PodSpec{
			SchedulerName: "stowage",
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
}

func priority(p *corev1.Pod, priority int32) *corev1.Pod {
	p.Spec.Priority = &priority
	return p
}

func member(p *corev1.Pod, minimum string) *corev1.Pod {
	p.Labels = map[string]string{batch.GroupNameLabel: "g"}
	if minimum != "" {
		p.Labels[batch.MinAvailableLabel] = minimum
	}
	return p
}
