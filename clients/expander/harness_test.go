package expander

import (
	"context"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
)

const patience = time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t testing.TB) *stowage.Client {
	t.Helper()
	client, stop, err := embedded.Dial(context.Background())
	must(t, err)
	t.Cleanup(func() { must(t, stop()) })
	return client
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse("110"),
	}
}

func node(name, zone, cpu, memory string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zone, corev1.LabelInstanceTypeStable: "c" + cpu,
		}},
		Status: corev1.NodeStatus{Allocatable: amounts(cpu, memory), Capacity: amounts(cpu, memory)},
	}
}

func pod(name, cpu, memory string) *corev1.Pod {
	requests := amounts(cpu, memory)
	delete(requests, corev1.ResourcePods)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "u", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: requests},
		}}},
	}
}

func pods(number int, cpu, memory string, change ...func(*corev1.Pod)) (out []*corev1.Pod) {
	for i := range number {
		p := pod("web-"+string(rune('a'+i)), cpu, memory)
		for _, c := range change {
			c(p)
		}
		out = append(out, p)
	}
	return out
}

func apart(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}},
	}}
}

// expansion is an option of Cluster Autoscaler, as it has it.
type expansion struct {
	group string
	count int
	node  *corev1.Node
	pods  []*corev1.Pod
}

// encoded encodes options as Cluster Autoscaler does from 1.35 on (expander/grpcplugin/grpc_client.go populateOptionsForGRPC).
func encoded(t testing.TB, options ...expansion) *grpcplugin.BestOptionsRequest {
	t.Helper()
	r := &grpcplugin.BestOptionsRequest{NodeBytesMap: map[string][]byte{}}
	for _, o := range options {
		to := &grpcplugin.Option{NodeGroupId: o.group, NodeCount: int32(o.count), Debug: o.group + " (max 10)"}
		for _, p := range o.pods {
			raw, err := p.Marshal()
			must(t, err)
			to.PodBytes = append(to.PodBytes, raw)
		}
		r.Options = append(r.Options, to)
		if o.node != nil {
			raw, err := o.node.Marshal()
			must(t, err)
			r.NodeBytesMap[o.group] = raw
		}
	}
	return r
}

// beside returns an Expander of a live cluster, and what starts it.
func beside(t testing.TB, client *stowage.Client, api kubernetes.Interface, o Options) (e *Expander, start func()) {
	t.Helper()
	cluster, err := live.New(api, client, live.Options{Log: quiet(), Selectors: cel.New()})
	must(t, err)
	o.Cluster, o.DaemonSets, o.Log = cluster, cluster.Informers().AppsV1().DaemonSets(), quiet()
	o.DaemonSets.Informer()
	e, err = New(client, o)
	must(t, err)
	return e, func() {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = cluster.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		eventually(t, "ready", e.Ready)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func groups(r *grpcplugin.BestOptionsResponse) (out []string) {
	for _, o := range r.GetOptions() {
		out = append(out, o.NodeGroupId)
	}
	return out
}
