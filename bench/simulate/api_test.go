package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/stowage-scheduler/stowage/clients/connect"
)

// apiServer has pods and nodes, with resource versions and a history of changes. Calls are late, fail before or after they took effect,
// or take effect after the caller gave up; watches are late, end, and fail for a resource version that is too old.
//
// It is a kubernetes.Interface. What is neither pod nor node is client-go's fake, where nothing happens.
type apiServer struct {
	kubernetes.Interface

	mutex   sync.Mutex
	rng     *rand.Rand
	calm    bool // whether nothing fails any more
	version uint64
	pods    store
	nodes   store
	// bound is called with each binding that takes effect, under the lock.
	bound func(p *corev1.Pod)
	// deaf, if set, is what a watch never reports; for a fault put in on purpose.
	deaf func(runtime.Object) bool
	// faults counts what failed, and evictions.
	faults map[string]int
}

type object interface {
	runtime.Object
	metav1.Object
}

// store is the objects of a kind.
type store struct {
	objects map[string]object
	history []change
	forgot  uint64 // changes up to this version are forgotten
	changed chan struct{}
}

type change struct {
	version uint64
	kind    watch.EventType
	object  object
}

func newAPIServer(seed uint64) *apiServer {
	return &apiServer{
		Interface: fake.NewClientset(), rng: rand.New(rand.NewPCG(seed, 7)), version: 1, faults: make(map[string]int),
		pods:  store{objects: make(map[string]object), changed: make(chan struct{})},
		nodes: store{objects: make(map[string]object), changed: make(chan struct{})},
	}
}

// IsWatchListSemanticsUnSupported has informers list before they watch.
func (a *apiServer) IsWatchListSemanticsUnSupported() bool { return true }

func (a *apiServer) CoreV1() corev1client.CoreV1Interface { return coreV1{a.Interface.CoreV1(), a} }

type coreV1 struct {
	corev1client.CoreV1Interface
	server *apiServer
}

func (c coreV1) Pods(namespace string) corev1client.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.server}
}
func (c coreV1) Nodes() corev1client.NodeInterface { return nodes{c.CoreV1Interface.Nodes(), c.server} }

// set changes an object, or deletes it. The lock is held.
func (a *apiServer) set(s *store, kind watch.EventType, o object) {
	a.version++
	o.SetResourceVersion(strconv.FormatUint(a.version, 10))
	if kind == watch.Deleted {
		delete(s.objects, o.GetName())
	} else {
		s.objects[o.GetName()] = o
	}
	s.history = append(s.history, change{a.version, kind, o})
	close(s.changed)
	s.changed = make(chan struct{})
}

// chance returns true once in n times, unless nothing fails any more. The lock is held.
func (a *apiServer) chance(n int, fault string) bool {
	if a.calm || a.rng.IntN(n) != 0 {
		return false
	}
	a.faults[fault]++
	return true
}

// call makes a call: it takes a while, and may fail before it takes effect, after it, or take effect when its caller is gone.
func (a *apiServer) call(ctx context.Context, effect func() error) error {
	a.mutex.Lock()
	there, back := a.late(), a.late()
	before, lost, after := a.chance(25, "refused"), a.chance(40, "answer lost"), a.chance(60, "effect after the deadline")
	if after {
		there += 6 * time.Second
	}
	a.mutex.Unlock()
	done := make(chan error, 1)
	go func() {
		time.Sleep(there)
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if before {
			done <- apierrors.NewServiceUnavailable("etcd has no leader")
			return
		}
		done <- effect()
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(back):
		}
		if lost {
			return io.ErrUnexpectedEOF
		}
		return err
	}
}

// late is how long a message takes. The lock is held.
func (a *apiServer) late() time.Duration {
	d := time.Millisecond + time.Duration(a.rng.Int64N(int64(10*time.Millisecond)))
	if a.chance(30, "late") {
		d += time.Duration(a.rng.Int64N(int64(2 * time.Second)))
	}
	return d
}

// get returns a copy of an object. What a call sets is read only if it has succeeded: others may still take effect.
func get[O object](ctx context.Context, a *apiServer, s *store, name string) (none O, err error) {
	var found O
	if err := a.call(ctx, func() error {
		o, ok := s.objects[name]
		if !ok {
			return apierrors.NewNotFound(corev1.Resource("objects"), name)
		}
		found = o.DeepCopyObject().(O)
		return nil
	}); err != nil {
		return none, err
	}
	return found, nil
}

// list returns copies of all objects, and the version that they are of.
func list[O object](ctx context.Context, a *apiServer, s *store) ([]O, metav1.ListMeta, error) {
	var all []O
	var of metav1.ListMeta
	if err := a.call(ctx, func() error {
		for _, o := range s.objects {
			all = append(all, o.DeepCopyObject().(O))
		}
		of.ResourceVersion = strconv.FormatUint(a.version, 10)
		return nil
	}); err != nil {
		return nil, metav1.ListMeta{}, err
	}
	return all, of, nil
}

// watching returns the changes of a kind after a version.
func (a *apiServer) watching(ctx context.Context, s *store, o metav1.ListOptions) (watch.Interface, error) {
	after, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := a.call(ctx, func() error {
		if after < s.forgot {
			return apierrors.NewResourceExpired("too old resource version")
		}
		return nil
	}); err != nil {
		return nil, err
	}
	w := &watcher{events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(a, s, after)
	return w, nil
}

type watcher struct {
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func (w *watcher) Stop()                          { w.once.Do(func() { close(w.stopped) }) }
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

func (w *watcher) run(a *apiServer, s *store, after uint64) {
	defer close(w.events)
	tell := func(e watch.Event) bool {
		select {
		case w.events <- e:
			return true
		case <-w.stopped:
			return false
		}
	}
	for {
		a.mutex.Lock()
		i, _ := slices.BinarySearchFunc(s.history, after+1, func(c change, v uint64) int { return int(c.version) - int(v) })
		next := slices.Clone(s.history[i:])
		changed, late := s.changed, a.late()
		ends, expired := a.chance(40, "watch ended"), a.chance(60, "410 Gone")
		if expired {
			s.forgot = a.version
		}
		a.mutex.Unlock()
		switch {
		case expired:
			tell(watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("too old resource version").ErrStatus})
			return
		case ends:
			return
		}
		if len(next) == 0 {
			select {
			case <-changed:
			case <-w.stopped:
				return
			}
			continue
		}
		select {
		case <-time.After(late):
		case <-w.stopped:
			return
		}
		for _, c := range next {
			after = c.version
			if a.deaf != nil && a.deaf(c.object) {
				continue
			}
			if !tell(watch.Event{Type: c.kind, Object: c.object.DeepCopyObject()}) {
				return
			}
		}
	}
}

type nodes struct {
	corev1client.NodeInterface
	server *apiServer
}

func (n nodes) List(ctx context.Context, _ metav1.ListOptions) (*corev1.NodeList, error) {
	all, of, err := list[*corev1.Node](ctx, n.server, &n.server.nodes)
	out := &corev1.NodeList{ListMeta: of}
	for _, o := range all {
		out.Items = append(out.Items, *o)
	}
	return out, err
}

func (n nodes) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return n.server.watching(ctx, &n.server.nodes, o)
}

type pods struct {
	corev1client.PodInterface
	server *apiServer
}

func (p pods) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return get[*corev1.Pod](ctx, p.server, &p.server.pods, name)
}

func (p pods) List(ctx context.Context, _ metav1.ListOptions) (*corev1.PodList, error) {
	all, of, err := list[*corev1.Pod](ctx, p.server, &p.server.pods)
	out := &corev1.PodList{ListMeta: of}
	for _, o := range all {
		out.Items = append(out.Items, *o)
	}
	return out, err
}

func (p pods) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return p.server.watching(ctx, &p.server.pods, o)
}

// changing changes a pod that is there.
func (p pods) changing(ctx context.Context, name string, change func(*corev1.Pod) error) error {
	return p.server.call(ctx, func() error {
		o, ok := p.server.pods.objects[name]
		if !ok {
			return apierrors.NewNotFound(corev1.Resource("pods"), name)
		}
		found := o.DeepCopyObject().(*corev1.Pod)
		if err := change(found); err != nil {
			return err
		}
		p.server.set(&p.server.pods, watch.Modified, found)
		return nil
	})
}

func (p pods) Bind(ctx context.Context, b *corev1.Binding, _ metav1.CreateOptions) error {
	if err := looked(ctx); err != nil {
		return err
	}
	return p.changing(ctx, b.Name, func(found *corev1.Pod) error {
		if found.UID != b.UID || found.Spec.NodeName != "" || found.DeletionTimestamp != nil {
			return apierrors.NewConflict(corev1.Resource("pods/binding"), b.Name, errors.New("it is another one, has a node or terminates"))
		}
		found.Spec.NodeName = b.Target.Name
		if n, ok := p.server.nodes.objects[b.Target.Name]; ok { // as PodTopologyLabels does
			if zone := n.GetLabels()[corev1.LabelTopologyZone]; zone != "" {
				if found.Labels == nil {
					found.Labels = make(map[string]string)
				}
				found.Labels[corev1.LabelTopologyZone] = zone
			}
		}
		p.server.bound(found)
		return nil
	})
}

func (p pods) Patch(ctx context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	if err := looked(ctx); err != nil {
		return nil, err
	}
	var after *corev1.Pod
	if err := p.changing(ctx, name, func(found *corev1.Pod) error {
		before, err := json.Marshal(found)
		if err != nil {
			return err
		}
		patched, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
		if err != nil {
			return err
		}
		var next corev1.Pod
		if err := json.Unmarshal(patched, &next); err != nil {
			return err
		}
		if next.UID != found.UID {
			return apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("Precondition failed: UID"))
		}
		*found = next
		after = found.DeepCopy()
		return nil
	}); err != nil {
		return nil, err
	}
	return after, nil
}

func (p pods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := looked(ctx); err != nil {
		return err
	}
	return p.server.call(ctx, func() error {
		found, ok := p.server.pods.objects[name]
		switch {
		case !ok:
			return apierrors.NewNotFound(corev1.Resource("pods"), name)
		case o.Preconditions != nil && o.Preconditions.UID != nil && *o.Preconditions.UID != found.GetUID():
			return apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("Precondition failed: UID"))
		}
		p.server.faults["evicted"]++
		p.server.terminate(found.(*corev1.Pod))
		return nil
	})
}

// terminate deletes a pod: at once if it has no node, otherwise after a grace period. The lock is held.
func (a *apiServer) terminate(p *corev1.Pod) {
	if p.DeletionTimestamp != nil {
		return
	}
	next := p.DeepCopy()
	if p.Spec.NodeName == "" {
		a.set(&a.pods, watch.Deleted, next)
		return
	}
	next.DeletionTimestamp = new(metav1.Now())
	a.set(&a.pods, watch.Modified, next)
	grace := time.Duration(a.rng.Int64N(int64(3 * time.Second)))
	go func() {
		time.Sleep(grace)
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if o, ok := a.pods.objects[p.Name]; ok && o.GetUID() == p.UID {
			a.set(&a.pods, watch.Deleted, o.DeepCopyObject().(object))
		}
	}()
}

// looked is what a client that is Looking finds before it sends.
func looked(ctx context.Context) error {
	config := &rest.Config{}
	connect.Looking(config)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api", strings.NewReader("write"))
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
