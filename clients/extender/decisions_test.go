package extender

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestAPodThatIsBeingBoundIsNotDecidedAgain(t *testing.T) {
	web1, web2 := apart(makePod("web-1", "web"), corev1.LabelHostname), apart(makePod("web-2", "web"), corev1.LabelHostname)
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z1"), web1, web2)
	binding, finish := make(chan struct{}), make(chan struct{})
	w.api.fail = func() (error, bool) { close(binding); <-finish; return nil, false }
	w.filter(web1, "a", "b")
	bound := make(chan string)
	go func() { bound <- w.bindTo(web1, "a") }()
	<-binding
	if got := w.filter(web1, "a", "b"); !strings.Contains(got.Error, "is being bound") {
		t.Errorf("the same pod: %+v", got)
	}
	if got := w.filter(web2, "a", "b"); len(*got.NodeNames) != 1 {
		t.Errorf("the pod that is being bound does not count: %+v", got)
	}
	close(finish)
	if err := <-bound; err != "" {
		t.Error(err)
	}
	w.api.events.Wait()
}

func TestDecisionsAreForgotten(t *testing.T) {
	d := newDecisions(time.Minute)
	for i := range 3 * rememberedDecisions {
		add := &decision{pod: makePod(fmt.Sprint(i), "web")}
		switch i % 3 {
		case 0:
			add.unclear = time.Now().Add(-2 * time.Minute)
		case 1:
			add.unclear = time.Now()
		}
		d.add(add)
	}
	recent := 0
	for _, kept := range d.byPod {
		if time.Since(kept.unclear) < time.Minute {
			recent++
		}
	}
	if recent != rememberedDecisions || len(d.byPod) > rememberedDecisions+1 || len(d.order) != len(d.byPod) {
		t.Errorf("%d decisions are remembered, of these %d about binds that may yet be done", len(d.byPod), recent)
	}
}

func TestOneThatStopsWaitingStopsTheOthers(t *testing.T) {
	d := newDecisions(time.Minute)
	d.add(&decision{pod: makePod("web-1", "web"), open: true})
	ended := make(chan bool)
	go func() { ended <- d.wait(t.Context(), "other", time.Hour) }()
	d.wait(t.Context(), "another", 50*time.Millisecond)
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("it is still waiting")
	}
}
