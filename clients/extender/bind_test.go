package extender

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestBind(t *testing.T) {
	web1, web2 := apart(makePod("web-1", "web"), corev1.LabelTopologyZone), apart(makePod("web-2", "web"), corev1.LabelTopologyZone)
	w := start(t, Options{OutcomeWait: time.Minute}, makeNode("a", "z1"), makeNode("b", "z2"), web1, web2)
	w.api.late = func() time.Duration { return time.Second }
	if got := w.filter(web1, "a", "b"); len(*got.NodeNames) != 2 {
		t.Fatalf("%+v", got)
	}
	if err := w.bindTo(web1, "a"); err != "" || w.api.nodeOf(web1) != "a" {
		t.Fatalf("bound to %q: %s", w.api.nodeOf(web1), err)
	}
	if got := w.filter(web2, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Errorf("the pod that was bound does not count: %+v", got)
	}
	// kube-scheduler may say what does not hold any more.
	if err := w.bindTo(web2, "a"); !strings.Contains(err, "is no longer feasible: "+refusedByAntiAffinity) {
		t.Errorf("bound in violation: %q", err)
	}
	if err := w.bindTo(web2, "nowhere"); !strings.Contains(err, "does not exist") {
		t.Errorf("bound to nowhere: %q", err)
	}
	if err := w.bindTo(web2, "b"); err != "" {
		t.Error(err)
	}
	gone := makePod("gone", "web")
	if err := w.bindTo(gone, "b"); !strings.Contains(err, "not found") {
		t.Errorf("an unknown pod: %q", err)
	}
	other := web1.DeepCopy()
	other.UID = "another"
	if err := w.bindTo(other, "b"); !strings.Contains(err, "was replaced: its uid is") {
		t.Errorf("a pod with another uid: %q", err)
	}
	w.api.events.Wait()
}

func TestBindsThatFail(t *testing.T) {
	unavailable := apierrors.NewInternalError(errors.New("etcd is away"))
	// What goes wrong in its storage, the API server says in the words of a conflict (assignPod in
	// pkg/registry/core/pod/storage/storage.go, v1.37).
	conflict := apierrors.NewConflict(corev1.Resource("pods/binding"), "web-1", errors.New("etcdserver: request timed out"))
	away := func(*corev1.Pod) error { return unavailable }
	const forgotten, waiting = "", "waiting for its outcome"
	for _, c := range []struct {
		name  string
		err   error
		done  bool
		look  func(*corev1.Pod) error // what the API server says of the pod
		bound bool                    // by what the extender says
		again string                  // what filter says of the same pod afterwards; unless forgotten, it goes on counting
	}{
		{"refused", apierrors.NewForbidden(corev1.Resource("pods"), "web-1", errors.New("quota")), false, away, false, forgotten},
		{"done all the same", unavailable, true, nil, true, "already bound to node a"},
		{"not known", unavailable, false, nil, false, waiting},
		{"a conflict, done all the same", conflict, true, nil, true, "already bound to node a"},
		{"a conflict, not done yet", conflict, false, nil, false, waiting},
		{"a conflict, and then no response", conflict, false, away, false, "reading the outcome of the last bind"},
		{
			"a request timeout", apierrors.NewGenericServerResponse(http.StatusRequestTimeout, "create", corev1.Resource("pods/binding"),
				"web-1", "", 0, true), false, nil, false, waiting,
		},
		{"too many requests", apierrors.NewTooManyRequests("later", 1), false, nil, false, waiting},
		{
			"gone", conflict, false, func(*corev1.Pod) error { return apierrors.NewNotFound(corev1.Resource("pods"), "web-1") },
			false, forgotten,
		},
		{
			"being deleted", conflict, false, func(p *corev1.Pod) error { p.DeletionTimestamp = new(metav1.Now()); return nil },
			false, forgotten,
		},
		{"another pod by now", conflict, false, func(p *corev1.Pod) error { p.UID = "another"; return nil }, false, forgotten},
		{"on another node", conflict, false, func(p *corev1.Pod) error { p.Spec.NodeName = "b"; return nil }, false, forgotten},
	} {
		t.Run(c.name, func(t *testing.T) {
			web1, web2 := apart(makePod("web-1", "web"), corev1.LabelTopologyZone),
				apart(makePod("web-2", "web"), corev1.LabelTopologyZone)
			w := read(t, startUnread(t, Options{UnclearFor: time.Hour}, live.Options{AssumeFor: time.Hour}, nil, makeNode("a", "z1"),
				makeNode("b", "z2"), web1, web2))
			answered := make(chan struct{})
			w.api.late = func() time.Duration { <-answered; return 0 }
			w.api.fail, w.api.look = func() (error, bool) { return c.err, c.done }, c.look
			w.filter(web1, "a", "b")
			err := w.bindTo(web1, "a")
			close(answered) // an event before that leaves the decision there, as the bind is on its way
			if (err == "") != c.bound {
				t.Errorf("bind: %q", err)
			}
			if got := w.filter(web2, "a", "b"); slices.Contains(*got.NodeNames, "a") != (c.again == forgotten) {
				t.Errorf("another pod: %+v", got)
			}
			if c.done {
				w.api.events.Wait()
				eventually(t, "the informer shows it", func() bool { return w.decisions.get(web1.UID) == nil })
			}
			if got := w.filter(web1, "a", "b"); !strings.Contains(got.Error, c.again) || c.again == forgotten && got.Error != "" {
				t.Errorf("the same pod: %+v", got)
			}
			w.api.events.Wait()
		})
	}
}

// TestABindThatIsDoneLate lets the API server answer a bind with a conflict, show the pod as pending, and only then carry
// out the bind.
func TestABindThatIsDoneLate(t *testing.T) {
	web1, web2 := apart(makePod("web-1", "web"), corev1.LabelTopologyZone), apart(makePod("web-2", "web"), corev1.LabelTopologyZone)
	w := read(t, startUnread(t, Options{UnclearFor: time.Hour}, live.Options{AssumeFor: time.Hour}, nil, makeNode("a", "z1"),
		makeNode("b", "z2"), web1, web2))
	unheard := make(chan struct{})
	w.api.late = func() time.Duration { <-unheard; return 0 }
	w.api.fail = func() (error, bool) {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), web1.Name, errors.New("etcdserver: request timed out")), false
	}
	w.filter(web1, "a", "b")
	if err := w.bindTo(web1, "a"); err == "" {
		t.Error("bound, it is said")
	}
	w.api.fail = nil
	if !(&scheduler{w: w, decide: AtFilter}).bind(web1, "a") {
		t.Fatal("not done")
	}
	if got := w.filter(web2, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Errorf("another pod: %+v", got)
	}
	if got := w.filter(web1, "a", "b"); !strings.Contains(got.Error, "is already bound to node a") {
		t.Errorf("the same pod: %+v", got)
	}
	close(unheard)
	w.api.events.Wait()
}

func TestABindThatWasDoneBefore(t *testing.T) {
	web := makePod("web-1", "web")
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"), web)
	w.api.late = func() time.Duration { return 100 * time.Millisecond }
	w.filter(web, "a", "b")
	for range 2 { // kube-scheduler did not hear the first answer
		if err := w.bindTo(web, "a"); err != "" {
			t.Error(err)
		}
	}
	eventually(t, "the informer shows it", func() bool { _, assumed := w.cluster.NodeOf(web.UID); return !assumed })
	if err := w.bindTo(web, "a"); err != "" {
		t.Error(err)
	}
	if err := w.bindTo(web, "b"); !strings.Contains(err, "is already bound to node a") {
		t.Errorf("bound to another node: %q", err)
	}
	w.api.events.Wait()
}

// TestAPodThatTurnsOutToBeBoundWhileItIsChecked delivers the event of a bind while the extender checks with Stowage whether
// the node can still take the pod. That happens if kube-scheduler lost an earlier answer, or if another scheduler bound the
// pod.
func TestAPodThatTurnsOutToBeBoundWhileItIsChecked(t *testing.T) {
	for node, want := range map[string]string{"a": "", "b": "is on node b by now"} {
		web := makePod("web-1", "web")
		var w *world
		delayed := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
			o ...grpc.CallOption) error {
			if method == stowagev1.PlacementService_Score_FullMethodName {
				if _, err := w.api.CoreV1().Pods(web.Namespace).Update(ctx, on(web, node), metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
				eventually(t, "the informer shows it", func() bool { on, assumed := w.cluster.NodeOf(web.UID); return on == node && !assumed })
			}
			return invoke(ctx, method, req, reply, conn, o...)
		}
		w = read(t, startUnread(t, Options{}, live.Options{}, []grpc.DialOption{grpc.WithChainUnaryInterceptor(delayed)},
			makeNode("a", "z1"), makeNode("b", "z2"), web))
		if err := w.bindTo(web, "a"); !strings.Contains(err, want) || want == "" && err != "" {
			t.Errorf("on node %s by now: %q", node, err)
		}
	}
}

// TestABindOfWhichTheAnswerIsLost calls bind again for a pod that is bound already, before a watch shows it.
func TestABindOfWhichTheAnswerIsLost(t *testing.T) {
	web1, web2 := apart(makePod("web-1", "web"), corev1.LabelTopologyZone), apart(makePod("web-2", "web"), corev1.LabelTopologyZone)
	huge := makePod("huge", "huge")
	huge.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("40")
	w := read(t, startUnread(t, Options{}, live.Options{AssumeFor: time.Hour}, nil, makeNode("a", "z1"), makeNode("b", "z2"), web1,
		web2, huge))
	unheard := make(chan struct{})
	w.api.late = func() time.Duration { <-unheard; return 0 }
	w.filter(web1, "a", "b")
	if err := w.bindTo(web1, "a"); err != "" {
		t.Error(err)
	}
	if got := w.filter(web1, "a", "b"); !strings.Contains(got.Error, "is already bound to node a") {
		t.Errorf("the same pod: %+v", got)
	}
	if got := w.filter(web2, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Errorf("another pod: %+v", got)
	}
	// The API server is not read for pods without a bind.
	before := len(w.api.Actions())
	for range 2 {
		w.filter(huge, "a", "b")
		w.filter(web2, "a", "b")
	}
	for _, a := range w.api.Actions()[before:] { // an informer may begin to watch
		if a.Matches("get", "pods") {
			t.Errorf("the request reached the API server: %+v", a)
		}
	}
	close(unheard)
	w.api.events.Wait()
}
