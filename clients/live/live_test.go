package live_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage-scheduler/stowage/clients/live"
)

func TestEventsReachTheServer(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"))
	web := makePod("web-2", "web", corev1.LabelTopologyZone)
	w.feasible(web, "a", "b")
	w.create(on(makePod("web-1", "web", corev1.LabelTopologyZone), "a"))
	w.soon(web, "b")
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), makeNode("c", "z3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(web, "b", "c")
	if err := w.api.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(web, "c")
	if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(web, "a", "c")
}

func TestAPodThatEndsCountsNoMore(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), on(makePod("web-1", "web", corev1.LabelHostname), "a"))
	web := makePod("web-2", "web", corev1.LabelHostname)
	w.feasible(web)
	ended := on(makePod("web-1", "web", corev1.LabelHostname), "a")
	ended.Status.Phase = corev1.PodSucceeded
	w.update(ended)
	w.soon(web, "a")
}

func TestAssumedPodsCount(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"))
	first, second := makePod("web-1", "web", corev1.LabelTopologyZone), makePod("web-2", "web", corev1.LabelTopologyZone)
	w.create(first)
	before, err := w.View()
	if err != nil {
		t.Fatal(err)
	}
	changed := w.Changed()
	if err := w.Assume(before, live.Assumption{Pod: first, Node: "a"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("an assumption is no change")
	}
	w.feasible(second, "b")
	if err := w.Assume(before, live.Assumption{Pod: second, Node: "b"}); !errors.Is(err, live.ErrChanged) {
		t.Errorf("assumed with a view that is not current: %v", err)
	}
	// Events that are late or come twice change nothing.
	late := first.DeepCopy()
	late.Annotations = map[string]string{"late": "yes"}
	w.update(late)
	w.feasible(second, "b")
	assumed, _ := w.View()
	bound := on(first, "a")
	bound.Labels[corev1.LabelTopologyZone] = "z1" // as the API server does
	w.update(bound)
	bound.Annotations = map[string]string{"again": "yes"}
	w.update(bound)
	w.create(on(makePod("db-1", "db", corev1.LabelTopologyZone), "b")) // the informer shows it after those
	var now *live.View
	eventually(t, "a change", func() bool { now, _ = w.View(); return now.Version() > assumed.Version() })
	if now.Version() != assumed.Version()+1 {
		t.Error("an event that confirms an assumption is a change")
	}
	if err := w.Assume(nil, live.Assumption{Pod: first, Node: "b"}); err == nil {
		t.Error("a pod that is bound was assumed elsewhere")
	}
	w.Forget(first.UID) // it is bound: nothing to forget
	w.feasible(second, "b")
}

func TestForgottenPodsDoNotCount(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"))
	first, second := makePod("web-1", "web", corev1.LabelHostname), makePod("web-2", "web", corev1.LabelHostname)
	if err := w.Assume(nil, live.Assumption{Pod: first, Node: "a"}); err != nil {
		t.Fatal(err)
	}
	w.feasible(second)
	w.Forget(first.UID)
	w.feasible(second, "a")
	if err := w.Assume(nil, live.Assumption{Pod: first, Node: "a"}, live.Assumption{Pod: second, Node: "nowhere"}); err == nil {
		t.Error("assumed on a node that is not there")
	}
	w.feasible(second, "a")
}

func TestOverdueAssumptionsAreRead(t *testing.T) {
	w := start(t, live.Options{AssumeFor: 50 * time.Millisecond}, makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z3"))
	var answers atomic.Bool
	w.api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return !answers.Load(), nil, errors.New("the API server is away")
	})
	pending, gone, bound := makePod("web-1", "web", corev1.LabelHostname), makePod("web-2", "web", corev1.LabelHostname), makePod("web-3", "web", corev1.LabelHostname)
	w.create(pending)
	if err := w.Assume(nil, live.Assumption{Pod: pending, Node: "a"}, live.Assumption{Pod: gone, Node: "b"}, live.Assumption{Pod: bound, Node: "c"}); err != nil {
		t.Fatal(err)
	}
	// The API server has the object, but the informer's watch lost the event.
	if err := w.api.Tracker().Add(on(bound, "c")); err != nil {
		t.Fatal(err)
	}
	other := makePod("web-4", "web", corev1.LabelHostname)
	w.feasible(other)
	answers.Store(true)
	w.soon(other, "a", "b")
	eventually(t, "an answer about the pod that is bound", func() bool { _, assumed := w.NodeOf(bound.UID); return !assumed })
	w.feasible(other, "a", "b")
}

// The watch was broken while a pod was deleted and created again: the informer updates the one to the other.
func TestAPodThatWasCreatedAgain(t *testing.T) {
	first := on(makePod("web-1", "web", corev1.LabelHostname), "a")
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"), first)
	other := makePod("web-2", "web", corev1.LabelHostname)
	w.feasible(other, "b")
	again := on(makePod("web-1", "web", corev1.LabelHostname), "b")
	again.UID = "again"
	if err := w.api.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), again, again.Namespace); err != nil {
		t.Fatal(err)
	}
	w.soon(other, "a")
}

func TestPodsThatWouldBeGone(t *testing.T) {
	first, own := on(makePod("web-1", "web", corev1.LabelHostname), "a"), on(makePod("web-2", "web", corev1.LabelHostname), "b")
	own.Labels["statefulset.kubernetes.io/pod-name"] = "web-2" // not counted together with others
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"), first, own)
	third := makePod("web-3", "web", corev1.LabelHostname)
	for _, c := range []struct {
		gone []*corev1.Pod
		want []string
	}{{nil, nil}, {[]*corev1.Pod{first}, []string{"a"}}, {[]*corev1.Pod{own}, []string{"b"}}, {[]*corev1.Pod{first, own, own, third}, []string{"a", "b"}}} {
		var uids []string
		for _, p := range c.gone {
			uids = append(uids, string(p.UID))
		}
		got, err := w.nodesWithout(third, podUIDs(c.gone)...)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("without %v: %v, %v, want %v", uids, got, err, c.want)
		}
	}
	w.feasible(third)
}

// Nodes newer than the base keep their indexes when AskWithout removes pods from them.
func TestPodsThatWouldBeGoneFromNewNodes(t *testing.T) {
	w := start(t, live.Options{}, makeNode("m", "z1"))
	web := makePod("web", "web", corev1.LabelHostname)
	w.feasible(web, "m")
	for _, name := range []string{"x", "a", "y"} {
		if _, err := w.api.CoreV1().Nodes().Create(t.Context(), makeNode(name, "z1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.soon(web, "a", "m", "x", "y")
	for _, name := range []string{"a", "m", "x", "y"} {
		w.create(on(makePod("web-"+name, "web", corev1.LabelHostname), name))
	}
	w.soon(web)
	for _, gone := range [][]string{{"a"}, {"x"}, {"m"}, {"x", "a"}, {"y", "m", "a"}} {
		var uids []types.UID
		for _, name := range gone {
			uids = append(uids, types.UID("pod-web-"+name))
		}
		got, err := w.nodesWithout(web, uids...)
		slices.Sort(got)
		slices.Sort(gone)
		if err != nil || !slices.Equal(got, gone) {
			t.Errorf("without the pods of %v: %v, %v", gone, got, err)
		}
	}
}

func TestTheServerRestartsEmpty(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"), on(makePod("web-1", "web", corev1.LabelHostname), "a"))
	web := makePod("web-2", "web", corev1.LabelHostname)
	w.feasible(web, "b")
	w.server.Stop()
	if err := w.Ask(t.Context(), func(ctx context.Context, v *live.View) error { return filter(ctx, w, v, web) }); err == nil {
		t.Error("no error without a server")
	}
	w.server.Resume()
	w.soon(web, "b")
}

func TestNotReadyBeforeEverythingIsRead(t *testing.T) {
	w := start(t, live.Options{})
	unread, err := live.New(w.api, w.client, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unread.Ask(t.Context(), func(context.Context, *live.View) error { t.Error("called"); return nil }); !errors.Is(err, live.ErrNotReady) {
		t.Error(err)
	}
	if err := unread.Assume(nil); !errors.Is(err, live.ErrNotReady) || unread.Ready() {
		t.Error(err)
	}
}

func TestRefusedObjectsStopNoCaller(t *testing.T) {
	long := corev1.ResourceName(corev1.ResourceHugePagesPrefix + strings.Repeat("x", 400)) // than the server accepts
	one := resource.MustParse("1")
	wrong := makeNode("huge", "z1")
	wrong.Status.Allocatable[long] = one
	negative := makeNode("negative", "z2")
	negative.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("-1")
	pod := on(makePod("web-1", "web", corev1.LabelTopologyZone), "a")
	pod.Spec.Containers[0].Resources.Requests[long] = one
	odd := on(makePod("web-2", "web", corev1.LabelTopologyZone), "negative")
	odd.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("-1")
	resized := on(makePod("web-3", "web", corev1.LabelTopologyZone), "b")
	resized.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResources: corev1.ResourceList{long: one},
		Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{long: one}}}}
	w := start(t, live.Options{}, makeNode("a", "z3"), makeNode("b", "z4"), makeNode("c", "z5"), makeNode("d", "z1"), makeNode("e", "z2"), wrong, negative, pod, odd, resized)
	// What the pods on a and b take is not known, so these accept no pods. All pods count for affinity: z2, z3 and z4 are taken,
	// z1 has room beside the node that is refused.
	free := makePod("free", "db", corev1.LabelTopologyZone)
	w.feasible(free, "c", "d", "e")
	v, err := w.View()
	if err != nil {
		t.Fatal(err)
	}
	for node, refused := range map[string]bool{"huge": true, "negative": true, "a": true, "b": true, "c": false} {
		if (v.Refused(node) != "") != refused {
			t.Errorf("%s is refused: %q", node, v.Refused(node))
		}
	}
	w.feasible(makePod("web-9", "web", corev1.LabelTopologyZone), "c", "d")
	// A node that is mended is taken.
	mended := makeNode("huge", "z1")
	if _, err := w.api.CoreV1().Nodes().Update(t.Context(), mended, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(free, "c", "d", "e", "huge")
	// What is refused as part of a difference is left out as well.
	late := on(makePod("web-4", "web", corev1.LabelTopologyZone), "c")
	late.Spec.Containers[0].Resources.Requests[long] = one
	w.create(late)
	w.soon(makePod("web-9", "web", corev1.LabelTopologyZone), "d", "huge")
	// A pod that is refused itself says so, and no one else pays.
	_, err = w.nodes(late)
	if err == nil {
		t.Error("no error for a pod that asks for what the server refuses")
	}
	w.feasible(free, "d", "e", "huge")
}
