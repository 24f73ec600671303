package live_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster with an API server that is faked and a Stowage server that is not.
type world struct {
	*live.Cluster
	t      *testing.T
	api    *fake.Clientset
	client *stowage.Client
	server *servertest.Server
	reader *metric.ManualReader
}

// patience is how long anything may take that normally takes much less than a second.
const patience = time.Minute

func start(t *testing.T, o live.Options, objects ...runtime.Object) *world {
	t.Helper()
	return startWith(t, o, nil, objects...)
}

// startWith is start with a change of the API server before the cluster reads it.
func startWith(t *testing.T, o live.Options, change func(*fake.Clientset), objects ...runtime.Object) *world {
	t.Helper()
	return startDialled(t, o, nil, change, objects...)
}

func startDialled(t *testing.T, o live.Options, dial []grpc.DialOption, change func(*fake.Clientset), objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewClientset(objects...), server: servertest.Start(t), reader: metric.NewManualReader()}
	if change != nil {
		change(w.api)
	}
	o.Meter = metric.NewMeterProvider(metric.WithReader(w.reader))
	var err error
	if w.client, err = stowage.Dial([]string{w.server.Address}, dial...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.client.Close() })
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if w.Cluster, err = live.New(w.api, w.client, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := w.WaitReady(waiting); err != nil {
		t.Fatal(err)
	}
	return w
}

// nodes are the names of the nodes that can take a pod now.
func (w *world) nodes(pod *corev1.Pod) ([]string, error) { return w.nodesWithout(pod) }

func (w *world) nodesWithout(pod *corev1.Pod, gone ...types.UID) (names []string, err error) {
	w.t.Helper()
	converted, err := w.PendingPod(pod)
	if err != nil {
		return nil, err
	}
	err = w.AskWithout(w.t.Context(), gone, func(ctx context.Context, v *live.View) error {
		answer, err := w.client.Filter(ctx, &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, IncludeNodeNames: true,
		}, Pod: converted})
		names = answer.GetFeasibleNodes().GetNames()
		for i, index := range answer.GetFeasibleNodes().GetIndexes() {
			if v.NodeName(index) != names[i] {
				w.t.Errorf("the view has node %d as %q, the server as %q", index, v.NodeName(index), names[i])
			}
		}
		return err
	})
	return names, err
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
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
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// makePod is a pod that must not share a domain with others of the same app.
func makePod(name, app, topologyKey string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pod-" + name), Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			}}},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
				}},
			}},
		},
	}
}

func on(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}
