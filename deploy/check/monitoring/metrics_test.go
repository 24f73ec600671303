package monitoring

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/expander"
	"github.com/stowage-scheduler/stowage/clients/extender"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/instruments"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// rare are the labels of metrics that count what does not happen here.
var rare = map[string][]string{
	"stowage_batch_dropped_total":     {"what"},
	"stowage_extender_outcomes_total": {"in_time"},
}

// metrics are the series of Stowage's processes, each with its labels. All processes run: a server is called, a batch scheduler binds
// and evicts pods, an extender and an expander serve requests.
func metrics(t *testing.T) map[string]map[string]bool {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "stowage", "v0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.WithoutCancel(t.Context())) })
	w := &work{t: t, telemetry: tel, meter: touching{tel.Meter()}, api: apiServer()}
	w.serve()
	if w.client, err = stowage.Dial([]string{servertest.Start(t).Address}, grpc.WithStatsHandler(tel.ClientHandler())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.client.Close() })
	w.schedule()
	w.extend()
	w.expand()
	return w.series()
}

// work is what gives the metrics their series.
type work struct {
	t         *testing.T
	telemetry *telemetry.Telemetry
	meter     metric.MeterProvider
	client    *stowage.Client
	api       *fake.Clientset
}

// touching has counters and histograms exist without what they count.
type touching struct{ metric.MeterProvider }

func (p touching) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return touchingMeter{p.MeterProvider.Meter(name, o...)}
}

type touchingMeter struct{ metric.Meter }

func (m touchingMeter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c, err := m.Meter.Int64Counter(name, o...)
	if err == nil {
		c.Add(context.Background(), 0)
	}
	return c, err
}

// serve measures calls, decisions and admission as a server does.
func (w *work) serve() {
	ctx := w.t.Context()
	tel := w.telemetry
	tel.Decisions.Record(ctx, instruments.Decision{
		Method: "Place", Decode: 1, Engine: 1, Encode: 1, Nodes: 1, Feasible: 1, Scanned: 1,
	})
	tel.Decisions.CacheHit(ctx, "Filter", 1, 1)
	tel.Admission.Waited(ctx, time.Millisecond)
	tel.Admission.Refused(ctx, admission.Reason(0))
	if err := tel.Admission.Watch(admission.New(admission.Settings{Seats: 1})); err != nil {
		w.t.Fatal(err)
	}
	if err := tel.WatchLog(func() int64 { return 1 }); err != nil {
		w.t.Fatal(err)
	}
	if err := tel.WatchSnapshots(func() instruments.Snapshots { return instruments.Snapshots{} }); err != nil {
		w.t.Fatal(err)
	}
	if err := tel.WatchMemory(func() []telemetry.Memory { return []telemetry.Memory{{Kind: "unread"}} }); err != nil {
		w.t.Fatal(err)
	}
	if err := tel.WatchConnections(func() (open, refused int64) { return 1, 1 }); err != nil {
		w.t.Fatal(err)
	}
	server := grpc.NewServer(grpc.StatsHandler(tel.StatsHandler()))
	stowagev1.RegisterPlacementServiceServer(server, stowagev1.UnimplementedPlacementServiceServer{})
	listener := loopback.Listen(w.t, "127.0.0.1:0")
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(server.Stop)
	client, err := stowage.Dial([]string{listener.Addr().String()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}); status.Code(err) != codes.Unimplemented {
		w.t.Fatal(err)
	}
}

// schedule has a batch scheduler bind a pod, leave one, and evict one for another.
func (w *work) schedule() {
	cluster := w.watch(true)
	scheduler, err := batch.New(w.api, w.client, cluster, batch.Options{
		SchedulerName: "stowage", Preempt: true, Events: events.NewFakeRecorder(1000),
		Log: slog.New(slog.DiscardHandler), Meter: w.meter,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.run(cluster.Run)
	w.run(func(ctx context.Context) error { return scheduler.Run(ctx, ctx) })
	w.until(func(series map[string]map[string]bool) bool {
		return series["stowage_batch_pod_duration_seconds_bucket"] != nil && series["stowage_batch_preemptions_total"]["result"]
	})
}

// extend has an extender evaluate pods and bind one.
func (w *work) extend() {
	cluster := w.watch(false)
	e, err := extender.New(w.api, w.client, cluster, extender.Options{
		Decide: "bind", Log: slog.New(slog.DiscardHandler), Meter: w.meter,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(e.Handler(extender.Limits{Bytes: 1 << 20, Duration: time.Minute}))
	w.t.Cleanup(server.Close)
	w.run(cluster.Run)
	if err := cluster.WaitReady(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	for _, request := range [][2]string{
		{"filter", `{"pod": {"metadata": {"name": "new", "namespace": "default", "uid": "new"}}, "nodenames": ["a"]}`},
		{"bind", `{"podName": "new", "podNamespace": "default", "podUID": "new", "node": "a"}`},
	} {
		answer, err := http.Post(server.URL+"/"+request[0], "application/json", strings.NewReader(request[1]))
		if err != nil {
			w.t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

// expand asks an expander for the best of no options.
func (w *work) expand() {
	e, err := expander.New(w.client, expander.Options{Log: slog.New(slog.DiscardHandler), Meter: w.meter})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := e.BestOptions(w.t.Context(), &grpcplugin.BestOptionsRequest{}); err == nil {
		w.t.Fatal("no options have a best one")
	}
}

func (w *work) watch(startTimes bool) *live.Cluster {
	cluster, err := live.New(w.api, w.client, live.Options{
		Log: slog.New(slog.DiscardHandler), Meter: w.meter, StartTimes: startTimes,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return cluster
}

// run runs something until the test ends.
func (w *work) run(what func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = what(ctx) })
	w.t.Cleanup(func() { stop(); running.Wait() })
}

func (w *work) until(done func(map[string]map[string]bool) bool) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		series := w.series()
		if done(series) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the work is not done: %v", series)
		}
	}
}

// series gathers what Prometheus would store, each with its labels.
func (w *work) series() map[string]map[string]bool {
	families, err := w.telemetry.Gatherer().Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for _, f := range families {
		names := []string{f.GetName()}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			names = []string{f.GetName() + "_bucket", f.GetName() + "_sum", f.GetName() + "_count"}
		}
		for _, name := range names {
			out[name] = map[string]bool{"le": strings.HasSuffix(name, "_bucket")}
			for _, label := range rare[name] {
				out[name][label] = true
			}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					out[name][l.GetName()] = true
				}
			}
		}
	}
	return out
}

// apiServer is one with a full node, and pods that wait for it.
func apiServer() *fake.Clientset {
	victim, urgent, fresh := pod("victim", "3", 0), pod("urgent", "3", 1000), pod("new", "100m", 0)
	victim.Spec.NodeName, victim.Status.Phase = "a", corev1.PodRunning
	fresh.Spec.SchedulerName = "kube-scheduler-stowage"
	amounts := corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Allocatable: amounts}}
	api := fake.NewClientset(node, victim, urgent, fresh, pod("small", "500m", 0), pod("large", "64", 0))
	api.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		o, err := api.Tracker().Get(pods, b.Namespace, b.Name)
		if err != nil {
			return true, nil, err
		}
		bound := o.(*corev1.Pod).DeepCopy()
		bound.Spec.NodeName = b.Target.Name
		return true, b, api.Tracker().Update(pods, bound, b.Namespace)
	})
	return api
}

func pod(name, cpu string, priority int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{
			SchedulerName: "stowage", Priority: &priority,
			Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)},
			}}},
		},
	}
}
