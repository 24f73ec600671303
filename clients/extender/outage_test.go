package extender

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

func TestStowageGoesAwayAndComesBackWithNothing(t *testing.T) {
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"), on(makePod("web-1", "web"), "a"))
	web := apart(makePod("web-2", "web"), corev1.LabelHostname)
	if got := w.filter(web, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Fatalf("%+v", got)
	}
	w.server.Stop()
	got := w.filter(web, "a", "b")
	if !strings.Contains(got.Error, "Stowage does not answer") || len(*got.NodeNames) != 0 {
		t.Errorf("without Stowage: %+v", got)
	}
	if !w.Ready() {
		t.Error("not ready: kube-scheduler would hear of no reason")
	}
	w.server.Resume()
	eventually(t, "an answer", func() bool {
		got = w.filter(web, "a", "b")
		return got.Error == ""
	})
	if !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Errorf("%+v", got)
	}
}

func TestARestartOfStowageIsNotNoticed(t *testing.T) {
	web := apart(makePod("web-2", "web"), corev1.LabelHostname)
	w := read(t, startUnread(t, Options{}, live.Options{}, []grpc.DialOption{stowage.WithPatience(time.Hour)},
		makeNode("a", "z1"), makeNode("b", "z2"), on(makePod("web-1", "web"), "a")))
	check := func() {
		if got := w.filter(web, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
			t.Errorf("%+v", got)
		}
	}
	check()
	w.server.Stop()
	w.server.Resume() // between two requests
	check()
	w.server.Stop()
	var during sync.WaitGroup
	during.Go(check)
	eventually(t, "a call to Stowage", func() bool { return w.count("stowage.extender.evaluations", "by", "stowage") == 3 })
	w.server.Resume()
	during.Wait()
}

func TestBindsByOthersAreNoticed(t *testing.T) {
	log := &buffer{}
	web1, web2 := makePod("web-1", "web"), makePod("web-2", "web")
	w := start(t, Options{Log: slog.New(slog.NewTextHandler(log, nil)), OutcomeWait: time.Millisecond},
		makeNode("a", "z1"), web1, web2)
	w.filter(web1, "a")
	if err := w.bindTo(web1, "a"); err != "" {
		t.Fatal(err)
	}
	w.filter(web2, "a")
	w.api.events.Wait()
	s := &scheduler{w: w, decide: AtFilter}
	if !s.bind(web2, "a") {
		t.Fatal("not bound")
	}
	w.api.events.Wait()
	eventually(t, "a count", func() bool { return w.count("stowage.extender.foreign_binds", "", "") == 1 })
	eventually(t, "a line in the log, which comes after the count", func() bool {
		return strings.Contains(log.String(), "set bindVerb: bind")
	})
}

func TestFilterWaitsForTheLastBind(t *testing.T) {
	web1, web2 := apart(makePod("web-1", "web"), corev1.LabelHostname), apart(makePod("web-2", "web"), corev1.LabelHostname)
	w := start(t, Options{OutcomeWait: patience}, makeNode("a", "z1"), makeNode("b", "z1"), web1, web2)
	w.filter(web1, "a", "b")
	filtered := make(chan struct{})
	go func() {
		defer close(filtered)
		if got := w.filter(web2, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
			t.Errorf("the bind in between does not count: %+v", got)
		}
	}()
	select {
	case <-filtered:
		t.Error("the second pod is decided before the first is bound")
	case <-time.After(50 * time.Millisecond):
	}
	if err := w.bindTo(web1, "a"); err != "" {
		t.Error(err)
	}
	<-filtered
	w.api.events.Wait()
	if n := w.count("stowage.extender.evaluations", "by", "stowage"); n != 2 {
		t.Errorf("%d calls of Stowage about two pods", n)
	}
	// What never comes is waited for once.
	short := start(t, Options{OutcomeWait: 50 * time.Millisecond}, makeNode("a", "z1"))
	short.filter(web1, "a")
	for range 5 {
		short.filter(web2, "a")
	}
	if n := short.count("stowage.extender.outcomes", "in_time", "no"); n != 1 {
		t.Errorf("waited in vain %d times", n)
	}
}

// buffer is a log that is written concurrently.
type buffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.String()
}
