package extender

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an extender between a kube-scheduler that the test plays, an API server that is faked, and a Stowage server
// that is not.
type world struct {
	*Extender
	t      testing.TB
	api    *apiServer
	server *servertest.Server
	http   *httptest.Server
	reader *metric.ManualReader
}

// patience is how long anything may take that normally takes much less than a second.
const patience = time.Minute

func start(t testing.TB, o Options, objects ...runtime.Object) *world {
	t.Helper()
	return read(t, startUnread(t, o, live.Options{}, nil, objects...))
}

// read has a world's informers read everything.
func read(t testing.TB, w *world) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.cluster.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := w.cluster.WaitReady(waiting); err != nil {
		t.Fatal(err)
	}
	return w
}

// startUnread starts a world whose informers have not synced.
func startUnread(t testing.TB, o Options, lo live.Options, dial []grpc.DialOption, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: newAPIServer(objects...), server: servertest.Start(t), reader: metric.NewManualReader()}
	w.api.Resources = []*metav1.APIResourceList{
		{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "deviceclasses"}}},
	}
	client, err := stowage.Dial([]string{w.server.Address}, dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	lo.Log = o.Log
	o.Meter = metric.NewMeterProvider(metric.WithReader(w.reader))
	cluster, err := live.New(w.api, client, lo)
	if err != nil {
		t.Fatal(err)
	}
	if w.Extender, err = New(w.api, client, cluster, o); err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(w.Handler(Limits{Bytes: 16 << 20, Duration: patience}))
	t.Cleanup(w.http.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return w
}

// call is kube-scheduler's HTTPExtender.send (pkg/scheduler/extender.go, v1.37).
func call[R any](w *world, verb string, args any) (out R, code int) {
	w.t.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	code, text := w.post(verb, body)
	if code == http.StatusOK {
		if err := json.Unmarshal(text, &out); err != nil {
			w.t.Fatal(err)
		}
	}
	return out, code
}

func (w *world) post(verb string, body []byte) (code int, text []byte) {
	w.t.Helper()
	r, err := http.Post(w.http.URL+"/"+verb, "application/json", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err = io.ReadAll(r.Body); err != nil {
		w.t.Fatal(err)
	}
	return r.StatusCode, text
}

func (w *world) filter(p *corev1.Pod, nodes ...string) extenderv1.ExtenderFilterResult {
	w.t.Helper()
	out, code := call[extenderv1.ExtenderFilterResult](w, "filter", &extenderv1.ExtenderArgs{Pod: p, NodeNames: &nodes})
	if code != http.StatusOK || out.NodeNames == nil || out.Nodes != nil {
		w.t.Fatalf("filter answers %d with %+v", code, out)
	}
	return out
}

func (w *world) prioritize(p *corev1.Pod, nodes ...string) map[string]int64 {
	w.t.Helper()
	list, code := call[extenderv1.HostPriorityList](w, "prioritize", &extenderv1.ExtenderArgs{Pod: p, NodeNames: &nodes})
	if code != http.StatusOK || len(list) != len(nodes) {
		w.t.Fatalf("prioritize answers %d with %v", code, list)
	}
	out := map[string]int64{}
	for _, h := range list {
		out[h.Host] = h.Score
	}
	return out
}

// bindTo is the bind verb; it returns the error of the answer.
func (w *world) bindTo(p *corev1.Pod, node string) string {
	w.t.Helper()
	out, code := call[extenderv1.ExtenderBindingResult](w, "bind", &extenderv1.ExtenderBindingArgs{
		PodName: p.Name, PodNamespace: p.Namespace, PodUID: p.UID, Node: node,
	})
	if code != http.StatusOK {
		w.t.Fatalf("bind answers %d", code)
	}
	return out.Error
}

// count is the sum of a counter's values with an attribute.
func (w *world) count(name, key, value string) (sum int64) {
	w.t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.reader.Collect(context.Background(), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, p := range data.DataPoints {
					if v, ok := p.Attributes.Value(attributeKey(key)); key == "" || ok && v.AsString() == value {
						sum += p.Value
					}
				}
			}
		}
	}
	return sum
}

// apiServer is client-go's fake, which binds pods as the real one does, and may notify its watchers late.
type apiServer struct {
	*fake.Clientset
	mutex sync.Mutex
	bound map[types.UID]string
	tried int
	// late is the delay of the events of a bind.
	late func() time.Duration
	// fail, if set, returns the error of a bind; done reports whether the pod is bound nevertheless.
	fail func() (err error, done bool)
	// look, if set, changes the pod that a get returns, or returns its error.
	look   func(*corev1.Pod) error
	events sync.WaitGroup
	// dial and sent, if set, return the error of a bind before and after it is sent.
	dial, sent func() error
	// waited, if set, is called when a client that binds has waited for its limit of requests.
	waited func()
}

func newAPIServer(objects ...runtime.Object) *apiServer {
	a := &apiServer{Clientset: fake.NewClientset(objects...), bound: map[types.UID]string{}, late: func() time.Duration { return 0 }}
	a.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		return true, b, a.bind(b)
	})
	a.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		get := action.(clienttesting.GetAction)
		o, err := a.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), get.GetNamespace(), get.GetName())
		if err != nil {
			return true, nil, err
		}
		p := o.(*corev1.Pod).DeepCopy()
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if node := a.bound[p.UID]; node != "" {
			p.Spec.NodeName = node
		}
		if a.look != nil {
			if err := a.look(p); err != nil {
				return true, nil, err
			}
		}
		return true, p, nil
	})
	return a
}

// CoreV1 returns the client of a Looking client.
func (a *apiServer) CoreV1() corev1client.CoreV1Interface { return coreV1{a.Clientset.CoreV1(), a} }

type coreV1 struct {
	corev1client.CoreV1Interface
	*apiServer
}

func (c coreV1) Pods(namespace string) corev1client.PodInterface {
	return podsOf{c.CoreV1Interface.Pods(namespace), c.apiServer}
}

type podsOf struct {
	corev1client.PodInterface
	*apiServer
}

func (p podsOf) Bind(ctx context.Context, b *corev1.Binding, o metav1.CreateOptions) error {
	if p.waited != nil {
		p.waited()
	}
	config := &rest.Config{}
	connect.Looking(config)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api", strings.NewReader(b.Target.Name))
	if err != nil {
		return err
	}
	if _, err := config.WrapTransport(sends{p.apiServer}).RoundTrip(request); err != nil {
		return err
	}
	return p.PodInterface.Bind(ctx, b, o)
}

type sends struct{ *apiServer }

func (s sends) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.dial != nil {
		if err := s.dial(); err != nil {
			return nil, err
		}
	}
	if _, err := io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	if s.sent != nil {
		if err := s.sent(); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusCreated}, nil
}

// bind is what pkg/registry/core/pod/storage/storage.go of v1.37 does.
func (a *apiServer) bind(b *corev1.Binding) error {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	o, err := a.Tracker().Get(pods, b.Namespace, b.Name)
	if err != nil {
		return err
	}
	p := o.(*corev1.Pod).DeepCopy()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.tried++
	var failing error
	if a.fail != nil {
		var done bool
		if failing, done = a.fail(); failing != nil && !done {
			return failing
		}
	}
	if p.UID != b.UID || a.bound[p.UID] != "" || p.Spec.NodeName != "" {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), b.Name, io.ErrUnexpectedEOF)
	}
	a.bound[p.UID] = b.Target.Name
	p.Spec.NodeName = b.Target.Name
	a.events.Go(func() {
		time.Sleep(a.late())
		_ = a.Tracker().Update(pods, p, p.Namespace)
	})
	return failing
}

func (a *apiServer) nodeOf(p *corev1.Pod) string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.bound[p.UID]
}

func (w *world) create(pods ...*corev1.Pod) {
	w.t.Helper()
	for _, p := range pods {
		if _, err := w.api.CoreV1().Pods(p.Namespace).Create(context.Background(), p, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func makeNode(name, zone string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zone,
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

func makePod(name, app string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("pod-" + name), Labels: map[string]string{"app": app},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		}}}},
	}
}

// apart makes a pod keep away from pods of its app.
func apart(p *corev1.Pod, topologyKey string) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
		}},
	}}
	return p
}

// together makes a pod require pods of an app.
func together(p *corev1.Pod, app, topologyKey string) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}},
	}}
	return p
}

func on(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}
