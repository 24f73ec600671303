package live

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage-scheduler/stowage/clients/cel"
	published "github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

// The informers are not started, so they report nothing, as during a pause.
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
	// An unconfirmed pod may be gone, so it is read from the API server later.
	if _, assumed := c.NodeOf("new"); !assumed {
		t.Error("the API server is not read for a pod that was found bound")
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

// Another scheduler may have allocated devices meanwhile.
func TestCatchingUpReadsClaims(t *testing.T) {
	claim := published.Claim("one", 1)
	api := fake.NewClientset(published.Allocated(published.Claim("one", 1), "a", nil, "gpu-0"), published.Claim("new", 1))
	c, err := New(api, nil, Options{Log: slog.New(slog.DiscardHandler), Selectors: cel.New()})
	if err != nil {
		t.Fatal(err)
	}
	c.update(func(m *model) {
		m.readDevices(c.selectors)
		m.resourceClaimSet(claim)
	})
	c.ready = true
	for _, paused := range []bool{false, true} {
		if paused {
			c.pulse.last = time.Now().Add(-pauseLimit - time.Second)
		}
		if err := c.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := c.ResourceClaim("default", "one"); (got.Status.Allocation != nil) != paused || (c.ResourceClaim("default", "new") != nil) != paused {
			t.Errorf("paused %v: %+v", paused, got)
		}
	}
	if !c.DevicesTaken(published.Allocated(published.Claim("other", 1), "a", nil, "gpu-0")) {
		t.Error("the device is free")
	}
}

// Reading all pods may take longer than any one call: each page has the whole time.
func TestEachPageOfARereadHasItsOwnTimeout(t *testing.T) {
	api := &pagedPods{Interface: fake.NewClientset(), pages: 3}
	c, err := New(api, nil, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c.pulse.last = time.Now().Add(-pauseLimit - time.Second)
	if err := c.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(api.deadlines) != api.pages {
		t.Fatalf("%d pages are read, want %d", len(api.deadlines), api.pages)
	}
	for i, d := range api.deadlines {
		if d.Before(api.requested[i].Add(catchUpTimeout-time.Second)) || i > 0 && !d.After(api.deadlines[i-1]) {
			t.Errorf("page %d is requested at %v, until %v", i, api.requested[i], d)
		}
	}
}

// pagedPods lists pods in empty pages.
type pagedPods struct {
	kubernetes.Interface
	corev1client.CoreV1Interface
	corev1client.PodInterface
	pages                int
	requested, deadlines []time.Time
}

func (p *pagedPods) CoreV1() corev1client.CoreV1Interface  { return p }
func (p *pagedPods) Pods(string) corev1client.PodInterface { return p }
func (p *pagedPods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	deadline, _ := ctx.Deadline()
	p.requested, p.deadlines = append(p.requested, time.Now()), append(p.deadlines, deadline)
	list := &corev1.PodList{}
	if len(p.requested) < p.pages {
		list.Continue = strconv.Itoa(len(p.requested))
	}
	if want := strconv.Itoa(len(p.requested) - 1); o.Continue != want && len(p.requested) > 1 {
		return nil, errors.New("page " + want + " is not requested")
	}
	return list, nil
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
