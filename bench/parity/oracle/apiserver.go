package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// apiServer is the environment of a scheduler that acts: an API server for its writes, an informer of pods that delivers the events,
// a recorder, and the clock of its queue. Writes succeed. The pods change, and the scheduler gets the events, once the writes are
// delivered.
type apiServer struct {
	client kubernetes.Interface
	clock  microseconds
	pods   *handedInformer
	// bound gets a value when a binding cycle has ended well.
	bound chan struct{}

	lock     sync.Mutex
	writes   []write
	versions int
	placed   int
}

// write is a request that changes a pod.
type write struct {
	method, key string // key is the informer's
	body        []byte
}

func newAPIServer() (*apiServer, error) {
	a := &apiServer{bound: make(chan struct{}, 1000)}
	a.clock.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	client, err := kubernetes.NewForConfig(restConfig(a))
	a.client = client
	return a, err
}

// RoundTrip takes a write down: a binding (POST), a patch of the status, a deletion.
func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	at := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/podgroups/") {
		return agreed(r), nil // its condition, which kube-scheduler writes only once it is true
	}
	if r.Method == http.MethodGet || len(at) < 3 || at[1] != "pods" {
		return nil, fmt.Errorf("the scheduler asks for %s %s", r.Method, r.URL.Path)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	a.writes = append(a.writes, write{method: r.Method, key: at[0] + "/" + at[2], body: body})
	return agreed(r), nil
}

// take returns the writes since the last call.
func (a *apiServer) take() []write {
	a.lock.Lock()
	defer a.lock.Unlock()
	out := a.writes
	a.writes = nil
	return out
}

// Eventf sees the event with which binding ends (pkg/scheduler/schedule_one.go finishBinding, v1.37).
func (a *apiServer) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	if reason == "Scheduled" {
		a.bound <- struct{}{}
	}
}

// WithLogger is of the interface.
func (a *apiServer) WithLogger(klog.Logger) events.EventRecorderLogger { return a }

// handedInformer is an informer that is never started: its events are handed to the handlers one by one.
type handedInformer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

// AddEventHandler is of the interface.
func (i *handedInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return i.SharedIndexInformer.AddEventHandler(h)
}

// AddEventHandlerWithOptions is of the interface.
func (i *handedInformer) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, o cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
}

// hold makes the factory's informer of pods, before any other use of it, with the pods that are on nodes.
func (a *apiServer) hold(factory informers.SharedInformerFactory, pods []*corev1.Pod) error {
	factory.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		a.pods = &handedInformer{SharedIndexInformer: coreinformers.NewPodInformer(client, metav1.NamespaceAll, resync, indexers)}
		return a.pods
	})
	var errs []error
	for _, p := range pods {
		errs = append(errs, a.pods.GetIndexer().Add(p))
	}
	return errors.Join(errs...)
}

// create stores a pod and delivers the event to the scheduler.
func (a *apiServer) create(pod *corev1.Pod) error {
	if _, found, err := a.pods.GetIndexer().Get(pod); found || err != nil {
		errs := field.ErrorList{field.Duplicate(field.NewPath("metadata", "name"), pod.Name)}
		return errors.Join(err, &InvalidError{Object: "pod " + pod.Namespace + "/" + pod.Name, Errs: errs})
	}
	pod.ResourceVersion = a.version()
	if err := a.pods.GetIndexer().Add(pod); err != nil {
		return err
	}
	for _, h := range a.pods.handlers {
		h.OnAdd(pod, true)
	}
	return nil
}

func (a *apiServer) get(key string) (*corev1.Pod, error) {
	pod, found, err := a.pods.GetIndexer().GetByKey(key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("there is no pod %s", key)
	}
	return pod.(*corev1.Pod), nil
}

// patch applies a patch of a status and delivers the event to the scheduler.
func (a *apiServer) patch(key string, patch []byte) error {
	old, err := a.get(key)
	if err != nil {
		return err
	}
	current, err := json.Marshal(old)
	if err != nil {
		return err
	}
	patched, err := strategicpatch.StrategicMergePatch(current, patch, &corev1.Pod{})
	if err != nil {
		return err
	}
	pod := new(corev1.Pod)
	if err := json.Unmarshal(patched, pod); err != nil {
		return err
	}
	return a.update(old, pod)
}

// farOff is the start time of the first pod of the queue: after all others. The start times of placed pods give them the contract's
// order of importance on their node, the order of placing. kube-scheduler would use the time at which it compares them.
var farOff = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// bind puts a pod on its node and delivers the event to the scheduler.
func (a *apiServer) bind(key, node string) error {
	old, err := a.get(key)
	if err != nil {
		return err
	}
	pod := old.DeepCopy()
	pod.Spec.NodeName = node
	pod.Status.StartTime = &metav1.Time{Time: farOff.Add(time.Duration(a.placed) * time.Second)}
	a.placed++
	return a.update(old, pod)
}

func (a *apiServer) update(old, pod *corev1.Pod) error {
	pod.ResourceVersion = a.version()
	if err := a.pods.GetIndexer().Update(pod); err != nil {
		return err
	}
	for _, h := range a.pods.handlers {
		h.OnUpdate(old, pod)
	}
	return nil
}

// remove deletes a pod and delivers the event to the scheduler.
func (a *apiServer) remove(key string) error {
	pod, err := a.get(key)
	if err != nil {
		return err
	}
	if err := a.pods.GetIndexer().Delete(pod); err != nil {
		return err
	}
	for _, h := range a.pods.handlers {
		h.OnDelete(pod)
	}
	return nil
}

func (a *apiServer) version() string {
	a.versions++
	return strconv.Itoa(a.versions)
}

// microseconds is a clock that moves one microsecond each time it is read.
type microseconds struct {
	clock.RealClock
	lock sync.Mutex
	now  time.Time
}

// Now is of the interface.
func (c *microseconds) Now() time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

// Since is of the interface.
func (c *microseconds) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// pass moves the clock to a whole second, after every backoff that has begun and every stay among the unschedulable pods.
func (c *microseconds) pass() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.now = c.now.Truncate(time.Second).Add(10 * time.Minute)
}
