package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a scheduler of a cluster whose API server is faked, with a Stowage server that is not.
type world struct {
	t      *testing.T
	api    *fake.Clientset
	events *events.FakeRecorder

	mutex sync.Mutex
	binds []string // "pod node", in the order in which the API server was asked
	// beforeBind and afterBind are called with each binding; their error is the answer, before anything or after it.
	beforeBind, afterBind func(pod string) error
}

func start(t *testing.T, o batch.Options, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewClientset(objects...), events: events.NewFakeRecorder(1000)}
	w.api.PrependReactor("create", "pods", w.bind)
	client, err := stowage.Dial([]string{servertest.Start(t).Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	log := slog.New(slog.DiscardHandler)
	cluster, err := live.New(w.api, client, live.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	o.SchedulerName, o.Events, o.Log = "stowage", w.events, log
	scheduler, err := batch.New(w.api, client, cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = cluster.Run(ctx) })
	running.Go(func() { _ = scheduler.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

// bind is the API server's binding subresource.
func (w *world) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	w.mutex.Lock()
	w.binds = append(w.binds, binding.Name+" "+binding.Target.Name)
	before, after := w.beforeBind, w.afterBind
	w.mutex.Unlock()
	if before != nil {
		if err := before(binding.Name); err != nil {
			return true, nil, err
		}
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	o, err := w.api.Tracker().Get(pods, binding.Namespace, binding.Name)
	if err != nil {
		return true, nil, err
	}
	p := o.(*corev1.Pod).DeepCopy()
	if p.UID != binding.UID || p.Spec.NodeName != "" {
		return true, nil, apierrors.NewConflict(corev1.Resource("pods"), p.Name, errors.New("it is another one or has a node"))
	}
	p.Spec.NodeName = binding.Target.Name
	if err := w.api.Tracker().Update(pods, p, p.Namespace); err != nil {
		return true, nil, err
	}
	if after != nil {
		if err := after(binding.Name); err != nil {
			return true, nil, err
		}
	}
	return true, binding, nil
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

// waits waits until a pod says that it waits, for a reason that contains some words.
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

func eventually(t *testing.T, holds func() error) {
	t.Helper()
	var err error
	for range 2000 {
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
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
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

func member(p *corev1.Pod, group, minimum string) *corev1.Pod {
	p.Labels = map[string]string{batch.GroupNameLabel: group}
	if minimum != "" {
		p.Labels[batch.MinAvailableLabel] = minimum
	}
	return p
}
