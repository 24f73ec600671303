package batch_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
)

func TestPodsAreBoundAndTheRestSaysWhyItWaits(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "2"), pod("one"), pod("two"), priority(pod("urgent"), 10))
	w.bound("urgent")
	waiting := "two"
	eventually(t, func() error {
		for _, name := range []string{"one", "two"} {
			if w.pod(name).Spec.NodeName == "" {
				waiting = name
			}
		}
		if len(w.pod(waiting).Status.Conditions) == 0 {
			return errors.New("nobody waits")
		}
		return nil
	})
	w.waits(waiting, "0/1 nodes are available: 1 Insufficient cpu.")
	event := ""
	for !strings.Contains(event, "FailedScheduling") {
		event = <-w.events.Events
	}
	if want := "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."; event != want {
		t.Errorf("event %q, want %q", event, want)
	}
	// Another node is a reason to try again.
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("b", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := w.bound(waiting); got[0] != "b" {
		t.Error(got)
	}
}

func TestOnlyItsOwnPodsAreScheduled(t *testing.T) {
	foreign := pod("foreign")
	foreign.Spec.SchedulerName = "default-scheduler"
	gated := pod("gated")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
	w := start(t, batch.Options{}, node("a", "8"), foreign, gated, pod("own"))
	w.bound("own")
	for _, name := range []string{"foreign", "gated"} {
		if p := w.pod(name); p.Spec.NodeName != "" || len(p.Status.Conditions) > 0 {
			t.Errorf("%s: %q %v", name, p.Spec.NodeName, p.Status.Conditions)
		}
	}
}

func TestAGroupIsBoundAsAWholeOrNotAtAll(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "2"))
	w.create(member(pod("g-1"), "g", "3"))
	w.waits("g-1", "pod group g has 1 of at least 3 pods")
	w.create(member(pod("g-2"), "g", "3"), member(pod("g-3"), "g", "3"), member(pod("g-4"), "g", "3"))
	for _, name := range []string{"g-1", "g-2", "g-3", "g-4"} {
		w.waits(name, "Insufficient cpu")
	}
	w.create(pod("single"))
	w.bound("single")
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("b", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Three of the four fit now, which is enough; one bound earlier counts for the fourth.
	eventually(t, func() error {
		n := 0
		for i := range 4 {
			if w.pod(fmt.Sprintf("g-%d", i+1)).Spec.NodeName != "" {
				n++
			}
		}
		if n != 3 {
			return fmt.Errorf("%d pods of the group are bound", n)
		}
		return nil
	})
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("c", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound("g-1", "g-2", "g-3", "g-4")
}

func TestAPodThatCannotBeDecidedDoesNotStopTheOthers(t *testing.T) {
	claims := pod("claims")
	claims.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	refused := pod("refused")
	refused.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 0, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}
	minimum := member(pod("minimum"), "g", "many")
	w := start(t, batch.Options{}, node("a", "8"), claims, refused, minimum, pod("good"))
	w.bound("good")
	w.waits("claims", `volume "data" needs a claim to be bound`)
	w.waits("refused", "spec.topology_spread_constraints[0].max_skew: is 0")
	w.waits("minimum", `Invalid value: "many"`)
}

func TestABindingWhoseAnswerWasLostIsNotMadeTwice(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "8"), node("b", "8"))
	lost := 0
	w.mutex.Lock()
	w.afterBind = func(string) error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if lost++; lost == 1 {
			return apierrors.NewInternalError(errors.New("connection reset"))
		}
		return nil
	}
	w.mutex.Unlock()
	w.create(pod("p"))
	on := w.bound("p")[0]
	eventually(t, func() error {
		if event := <-w.events.Events; !strings.Contains(event, "Scheduled Successfully assigned default/p to "+on) {
			return errors.New(event)
		}
		return nil
	})
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, b := range w.binds {
		if b != "p "+on {
			t.Errorf("bound %q, and it is on %s", w.binds, on)
		}
	}
	if len(w.binds) < 2 {
		t.Error("the binding was not tried again")
	}
}

// A pod whose binding takes long counts on its node: nothing else is put there.
func TestPodsThatAreBeingBoundCount(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "1"), node("b", "1"))
	var released atomic.Bool
	w.mutex.Lock()
	w.beforeBind = func(pod string) error {
		if pod == "slow" && !released.Load() {
			return apierrors.NewInternalError(errors.New("not yet"))
		}
		return nil
	}
	w.mutex.Unlock()
	w.create(pod("slow"))
	eventually(t, func() error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if len(w.binds) == 0 {
			return errors.New("slow is not being bound")
		}
		return nil
	})
	w.create(pod("second"), pod("third"))
	eventually(t, func() error {
		n := 0
		for _, name := range []string{"second", "third"} {
			if w.pod(name).Spec.NodeName != "" {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%d are bound", n)
		}
		return nil
	})
	time.Sleep(50 * time.Millisecond)
	released.Store(true)
	slow := w.bound("slow")[0]
	for _, name := range []string{"second", "third"} {
		if w.pod(name).Spec.NodeName == slow {
			t.Errorf("%s is on %s as well", name, slow)
		}
	}
}
