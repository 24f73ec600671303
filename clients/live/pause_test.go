package live

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// While the process does not run, its informers tell of nothing: here they never do, because they are not started.
func TestCatchingUpAfterAPause(t *testing.T) {
	bound := func(name, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}}
	}
	api := fake.NewClientset(bound("known", "a"), bound("new", "a"), bound("moved", "b"), bound("pending", ""))
	lists, away := 0, false
	api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists++
		return away, nil, errors.New("the API server is away")
	})
	c, err := New(api, nil, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c.update(func(m *model) {
		m.nodeSet(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
		m.nodeSet(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b"}})
		m.podSet(bound("known", "a"))
	})
	c.ready = true
	if err := c.Assume(nil, Assumption{Pod: bound("moved", ""), Node: "a"}); err != nil {
		t.Fatal(err)
	}
	catchUp := func(what string, wantLists int, fails bool) {
		t.Helper()
		if err := c.CatchUp(t.Context()); (err != nil) != fails || lists != wantLists {
			t.Errorf("%s: %v after %d readings, want %d", what, err, lists, wantLists)
		}
	}
	catchUp("at first", 0, false)
	catchUp("running", 0, false)
	pause := func() { c.pulse.last = time.Now().Add(-pauseLimit - time.Second) }
	pause()
	away = true
	catchUp("after a pause, without an API server", 1, true)
	catchUp("again", 2, true)
	away = false
	version := c.model.version
	catchUp("with one", 3, false)
	for name, want := range map[string]string{"known": "a", "new": "a", "moved": "b", "pending": ""} {
		if node, _ := c.NodeOf(types.UID(name)); node != want {
			t.Errorf("%s is on %q, want %q", name, node, want)
		}
	}
	// The API server is asked later about a pod that no event has confirmed: it may be gone.
	if _, assumed := c.NodeOf("new"); !assumed {
		t.Error("the API server is not asked about a pod that was read")
	}
	if c.model.version == version {
		t.Error("what was decided before counts as current")
	}
	catchUp("once it has", 3, false)
	// The pause may be of either clock, and a beat between does not hide it.
	c.pulse.last = time.Now().Round(0).Add(-time.Hour)
	c.pulse.beat(time.Now())
	catchUp("after another one", 4, false)
}

func TestElapsedIsWhatEitherClockShows(t *testing.T) {
	from := time.Now()
	to := from.Add(time.Second)
	if got := Elapsed(from, to); got != time.Second {
		t.Errorf("both: %v", got)
	}
	if got := Elapsed(from.Round(0).Add(-time.Hour), to); got < time.Hour {
		t.Errorf("the wall clock: %v", got)
	}
}
