package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage-scheduler/stowage/clients/batch"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// onNode is a pod that runs on a node since some minutes.
func onNode(p *corev1.Pod, node string, minutes int) *corev1.Pod {
	p.Spec.NodeName = node
	started := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(minutes) * time.Minute))
	p.Status.StartTime = &started
	return p
}

// of sets the CPUs of a pod.
func of(p *corev1.Pod, cpu string) *corev1.Pod {
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *node("", cpu).Status.Allocatable.Cpu()
	return p
}

// wrote waits until the API server has carried out some writes, and returns all of them in order.
func (w *world) wroteAll(n int) (writes []string) {
	w.t.Helper()
	eventually(w.t, func() error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if writes = slices.Clone(w.writes); len(writes) < n {
			return fmt.Errorf("%d writes, not %d: %q", len(writes), n, writes)
		}
		return nil
	})
	return writes
}

func (w *world) writing(before func(write string) error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.beforeWrite = before
}

func (w *world) gracefully() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.graceful = true
}

// leaves removes a pod that terminates.
func (w *world) leaves(name string) {
	w.t.Helper()
	if err := w.api.CoreV1().Pods("default").Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// says expects some words in the condition of a pod that waits, now.
func (w *world) says(name, words string) {
	w.t.Helper()
	if conditions := w.pod(name).Status.Conditions; len(conditions) != 1 || !strings.Contains(conditions[0].Message, words) {
		w.t.Errorf("%s does not say %q: %+v", name, words, conditions)
	}
}

// event waits for an event with some words.
func (w *world) event(words string) string {
	w.t.Helper()
	for timeout := time.After(time.Minute); ; {
		select {
		case e := <-w.events.Events:
			if strings.Contains(e, words) {
				return e
			}
		case <-timeout:
			w.t.Fatalf("no event says %q", words)
		}
	}
}

// The pod is nominated, then its victims are marked and deleted; it waits for them to be gone, takes no other victims, and is
// bound where it was nominated.
func TestAPodPreemptsAndWaitsForItsVictims(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "2"), node("b", "2"),
		onNode(pod("old"), "a", 9), onNode(pod("young"), "a", 1), onNode(of(pod("other"), "2"), "b", 1))
	w.gracefully()
	const message = "0/2 nodes are available: 2 Insufficient cpu. " +
		"preemption: found a potential placement for pod on node a, preempting 1 victims"
	w.writing(func(write string) error {
		if write == "mark young" { // once the victim terminates, the next attempt says something else
			w.says("urgent", message)
			w.because("urgent", corev1.PodReasonUnschedulable)
		}
		return nil
	})
	w.create(priority(pod("urgent"), 10))
	if got, want := w.wroteAll(3), []string{"nominate urgent a", "mark young", "delete young"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if e := w.event("FailedScheduling"); e != "Warning FailedScheduling "+message {
		t.Errorf("event %q", e)
	}
	if e := w.event("Preempted"); e != "Normal Preempted "+"Preempted by pod pod-urgent on node a" {
		t.Errorf("event %q", e)
	}
	if on := w.pod("urgent").Status.NominatedNodeName; on != "a" {
		t.Errorf("it is nominated to %q", on)
	}
	conditions := w.pod("young").Status.Conditions
	if len(conditions) != 1 || conditions[0].Type != corev1.DisruptionTarget || conditions[0].Status != corev1.ConditionTrue ||
		conditions[0].Reason != "PreemptionByScheduler" || conditions[0].Message != "stowage: preempting to accommodate a higher priority pod" {
		t.Errorf("the victim says %+v", conditions)
	}
	w.waits("urgent", "preemption: not eligible due to a terminating pod on the nominated node.")
	w.leaves("young")
	if on := w.bound("urgent")[0]; on != "a" {
		t.Errorf("it is on %s", on)
	}
	if got := w.wroteAll(3); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// The room that a victim leaves is kept for the pod that is nominated, also before an event shows the nomination: the pods
// behind it are not placed there.
func TestTheNominatedPodKeepsItsRoom(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "4"), onNode(of(pod("victim"), "3"), "a", 1))
	var first atomic.Bool
	w.writing(func(string) error {
		if !first.Swap(true) { // the nomination is not even sent
			w.create(priority(pod("low"), 1), priority(of(pod("equal"), "1"), 10))
			w.waits("low", "Insufficient cpu")
			w.waits("equal", "Insufficient cpu")
		}
		return nil
	})
	w.create(priority(of(pod("urgent"), "4"), 10))
	w.bound("urgent")
	for _, name := range []string{"low", "equal"} {
		if on := w.pod(name).Spec.NodeName; on != "" {
			t.Errorf("%s is on %s", name, on)
		}
	}
}

// Pods that preempt at the same time get a node each, in the order of their priority, and pods of lower priority in the same
// call are not placed where room is about to be made.
func TestPodsPreemptOneAfterTheOther(t *testing.T) {
	t.Parallel()
	o := batch.Options{Preempt: true}
	w := start(t, o, node("a", "3"), node("b", "3"),
		onNode(of(pod("on-a"), "2"), "a", 5), onNode(of(pod("on-b"), "2"), "b", 1),
		priority(of(pod("first"), "3"), 30), priority(of(pod("second"), "3"), 20), priority(of(pod("third"), "3"), 10),
		pod("low-1"), pod("low-2"))
	if got := w.bound("first", "second"); got[0] != "b" || got[1] != "a" {
		t.Errorf("they are on %q", got)
	}
	w.waits("third", "No preemption victims found")
	w.waits("low-1", "Insufficient cpu")
	w.waits("low-2", "Insufficient cpu")
	writes := w.wroteAll(6)
	slices.Sort(writes)
	want := []string{"delete on-a", "delete on-b", "mark on-a", "mark on-b", "nominate first b", "nominate second a"}
	if !slices.Equal(writes, want) {
		t.Errorf("%q, want %q", writes, want)
	}
}

// A large call does not include preemption. Smaller calls then include it for the pods that may preempt.
func TestPodsPreemptInALargeCall(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true, PreemptionPairs: 2}, node("a", "2"), node("b", "2"),
		onNode(of(pod("on-a"), "2"), "a", 5), onNode(of(pod("on-b"), "1"), "b", 1),
		priority(of(pod("huge"), "9"), 40), priority(of(pod("first"), "2"), 30), priority(of(pod("huger"), "10"), 20),
		priority(of(pod("second"), "2"), 10), pod("low"), of(pod("low-2"), "2"))
	w.bound("first", "second")
	for _, name := range []string{"huge", "huger", "low", "low-2"} {
		w.waits(name, "Insufficient cpu")
	}
	writes := w.wroteAll(6)
	slices.Sort(writes)
	want := []string{"delete on-a", "delete on-b", "mark on-a", "mark on-b", "nominate first b", "nominate second a"}
	if !slices.Equal(writes, want) {
		t.Errorf("%q, want %q", writes, want)
	}
}

// A pod that is nominated to a node and has a lower priority is nominated no longer.
func TestLowerNominationsAreCleared(t *testing.T) {
	t.Parallel()
	middle := priority(of(pod("middle"), "2"), 5)
	middle.Status.NominatedNodeName = "a"
	foreign := priority(of(pod("foreign"), "2"), 5)
	foreign.Spec.SchedulerName, foreign.Status.NominatedNodeName = "default-scheduler", "a"
	leaving := onNode(of(pod("leaving"), "2"), "a", 1)
	leaving.DeletionTimestamp = new(metav1.Now())
	leaving.Finalizers = []string{"example.com/slow"}
	leaving.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler",
	}}
	staying := onNode(pod("staying"), "a", 1)
	w := start(t, batch.Options{Preempt: true}, node("a", "3"), leaving, staying, middle, foreign)
	w.waits("middle", "not eligible due to a terminating pod on the nominated node")
	w.create(priority(of(pod("urgent"), "3"), 10))
	if got, want := w.wroteAll(2), []string{"nominate urgent a", "clear middle"}; !slices.Equal(got[:2], want) {
		t.Errorf("%q, want %q", got, want)
	}
	if on := w.pod("foreign").Status.NominatedNodeName; on != "a" {
		t.Errorf("the pod of another scheduler is nominated to %q", on)
	}
}

// If all victims terminate already, kube-scheduler leaves the other nominations alone.
func TestLowerNominationsStayWithoutAnEviction(t *testing.T) {
	t.Parallel()
	low := priority(of(pod("low"), "9"), 5)
	low.Status.NominatedNodeName, low.Spec.PreemptionPolicy = "a", new(corev1.PreemptNever)
	leaving := onNode(pod("leaving"), "a", 1)
	leaving.DeletionTimestamp = new(metav1.Now())
	leaving.Finalizers = []string{"example.com/slow"}
	w := start(t, batch.Options{Preempt: true}, node("a", "1"), leaving)
	w.create(low, priority(pod("urgent"), 10))
	w.wroteAll(1)
	if got, want := w.ends(), []string{"nominate urgent a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What fails before the nomination is written evicts nothing, and the pod is tried again.
func TestWithoutANominationNothingIsEvicted(t *testing.T) {
	t.Parallel()
	gone := apierrors.NewNotFound(corev1.Resource("pods"), "urgent")
	for name, failure := range map[string]error{
		"forbidden": forbidden, "a conflict that stays": conflict, "not found": gone, "an internal error, once": internal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, batch.Options{Preempt: true}, node("a", "1"), onNode(pod("victim"), "a", 1))
			var tries atomic.Int32
			refuse := int32(1)
			if errors.Is(failure, conflict) {
				refuse = 4
			}
			read, done := context.WithCancel(t.Context()) // what the first attempt says
			defer done()
			w.writing(func(write string) error {
				if !strings.HasPrefix(write, "nominate") {
					if tries.Load() <= refuse {
						t.Errorf("%s without a nomination", write)
					}
					return nil
				}
				if tries.Add(1) <= refuse {
					return failure
				}
				<-read.Done()
				return nil
			})
			w.create(priority(pod("urgent"), 10))
			if errors.Is(failure, forbidden) {
				w.waits("urgent", "cannot be nominated to a: ")
				w.because("urgent", corev1.PodReasonSchedulerError)
			}
			done()
			w.bound("urgent")
			if got, want := w.wroteAll(3), []string{"nominate urgent a", "mark victim", "delete victim"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A victim that cannot be evicted stays; the pod is tried again and stays nominated.
func TestAVictimThatCannotBeEvicted(t *testing.T) {
	t.Parallel()
	for name, verb := range map[string]string{"its condition is refused": "mark", "its deletion is refused": "delete"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, batch.Options{Preempt: true}, node("a", "2"), onNode(pod("one"), "a", 2), onNode(pod("two"), "a", 1))
			var refused atomic.Int32
			w.writing(func(write string) error {
				if write == verb+" two" && refused.Add(1) == 1 {
					return forbidden
				}
				return nil
			})
			w.create(priority(of(pod("urgent"), "2"), 10))
			w.bound("urgent")
			writes := w.wroteAll(5)
			for _, once := range []string{"delete one", "delete two"} {
				if n := len(slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return w != once })); n != 1 {
					t.Errorf("%s: %d times: %q", once, n, writes)
				}
			}
		})
	}
}

// A victim that is gone, or another pod of its name, is not deleted, and is no error.
func TestAVictimThatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "1"), onNode(pod("victim"), "a", 1))
	w.writing(func(write string) error {
		if write == "mark victim" {
			w.leaves("victim")
			return apierrors.NewNotFound(corev1.Resource("pods"), "victim")
		}
		return nil
	})
	w.create(priority(pod("urgent"), 10))
	w.bound("urgent")
	if got := w.wroteAll(1); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestAnotherPodOfAVictimsNameIsNotDeleted(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "1"), node("b", "0"), onNode(pod("victim"), "a", 1))
	var once atomic.Bool
	w.writing(func(write string) error {
		if write == "delete victim" && !once.Swap(true) {
			w.leaves("victim")
			next := onNode(pod("victim"), "b", 0)
			next.UID = "another"
			w.create(next)
		}
		return nil
	})
	w.create(priority(pod("urgent"), 10))
	w.bound("urgent")
	if w.pod("victim").UID != "another" {
		t.Error("it is deleted")
	}
}

// A leader that hangs in the middle of a preemption deletes no pod after its lease is over.
func TestALeaderThatHungEvictsNothing(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{
		"before the nomination": "nominate urgent a", "before the condition": "mark victim", "before the deletion": "delete victim",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lease term
			lease.Store(1)
			w := start(t, batch.Options{Preempt: true, Lease: &lease}, node("a", "1"), onNode(pod("victim"), "a", 1))
			hung := make(chan struct{})
			var once atomic.Bool
			w.writing(func(write string) error {
				if write == at && !once.Swap(true) {
					lease.Store(0)
					close(hung)
					return errors.New("the connection has failed") // as when it was not sent
				}
				if lease.Load() == 0 {
					t.Errorf("%s after the lease was over", write)
				}
				return nil
			})
			w.create(priority(pod("urgent"), 10))
			<-hung
			w.expire("a") // some time
			if p := w.pod("victim"); p.DeletionTimestamp != nil {
				t.Error("the victim is deleted")
			}
			lease.Store(2)
			w.bound("urgent")
			writes := w.wroteAll(1)
			if n := len(slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return w != "delete victim" })); n != 1 {
				t.Errorf("the victim is deleted %d times: %q", n, writes)
			}
		})
	}
}

// ends stops the scheduler once all evictions have ended, and returns all writes.
func (w *world) ends() []string {
	w.end()
	<-w.ended
	return w.wroteAll(0)
}

// A pod that is gone before its victims are needs no room.
func TestNoVictimsForAPodThatIsGone(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "1"), onNode(pod("victim"), "a", 1))
	gone := make(chan struct{})
	w.writing(func(write string) error {
		if write == "mark victim" {
			w.leaves("urgent")
			w.create(of(pod("next"), "2")) // the scheduler sees one event after the other
			w.waits("next", "Insufficient cpu")
			close(gone)
		}
		return nil
	})
	w.create(priority(pod("urgent"), 10))
	<-gone
	if got, want := w.ends(), []string{"nominate urgent a", "mark victim"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A pod evicts nothing for a nomination that ends, for a pod of higher priority, while it is being written.
func TestAPodStopsForOneOfHigherPriority(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "2"), onNode(pod("old"), "a", 9), onNode(pod("young"), "a", 1))
	w.gracefully()
	done := make(chan struct{})
	w.writing(func(write string) error {
		if write == "nominate low a" {
			w.create(priority(of(pod("high"), "2"), 20))
			w.wroteAll(6)
			close(done)
		}
		return nil
	})
	w.create(priority(pod("low"), 10))
	<-done
	writes := w.ends()
	slices.Sort(writes)
	want := []string{"clear low", "delete old", "delete young", "mark old", "mark young", "nominate high a", "nominate low a"}
	if !slices.Equal(writes, want) {
		t.Errorf("%q, want %q", writes, want)
	}
}

// A pod that preempted and cannot preempt any more loses its nomination.
func TestANominationEndsWithoutCandidates(t *testing.T) {
	t.Parallel()
	urgent := priority(pod("urgent"), 10)
	urgent.Status.NominatedNodeName = "a"
	w := start(t, batch.Options{Preempt: true}, node("a", "1"), priority(onNode(pod("equal"), "a", 1), 10), urgent)
	w.waits("urgent", "No preemption victims found for incoming pod")
	eventually(t, func() error {
		if on := w.pod("urgent").Status.NominatedNodeName; on != "" {
			return fmt.Errorf("it is nominated to %s", on)
		}
		return nil
	})
}

func TestWithoutPreemption(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{}, node("a", "1"), onNode(pod("victim"), "a", 1))
	w.create(priority(pod("urgent"), 10))
	w.waits("urgent", "preempting 1 victims; this scheduler evicts no pods")
	if p := w.pod("urgent"); p.Status.NominatedNodeName != "" {
		t.Errorf("it is nominated to %s", p.Status.NominatedNodeName)
	}
}

// A group evicts what it needs as a whole or nothing, and keeps its room, the free room too, until its victims are gone.
func TestAGroupPreempts(t *testing.T) {
	t.Parallel()
	gang := func(names ...string) (out []*corev1.Pod) {
		for _, name := range names {
			out = append(out, priority(of(member(pod(name), "3"), "2"), 1000))
		}
		return out
	}
	w := start(t, batch.Options{Preempt: true}, node("a", "2"), node("b", "2"), node("free", "2"),
		onNode(of(pod("a-1"), "2"), "a", 1), onNode(pod("b-1"), "b", 1), onNode(pod("b-2"), "b", 1))
	w.gracefully()
	w.create(gang("g-1", "g-2")...)
	w.waits("g-1", "pod group g has 2 of at least 3 pods")
	if writes := w.wroteAll(0); len(writes) > 0 {
		t.Errorf("a group that is not complete: %q", writes)
	}
	var once sync.Once
	w.writing(func(write string) error {
		if strings.HasPrefix(write, "mark") {
			once.Do(func() { // once the victims terminate, the next attempt says something else
				for _, name := range []string{"g-1", "g-2", "g-3"} {
					w.says(name, "pod group preemption: found a placement for podgroup, preempting 3 victims")
				}
			})
		}
		return nil
	})
	w.create(gang("g-3")...)
	writes := w.wroteAll(9)
	slices.Sort(writes)
	deleted := slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return !strings.HasPrefix(w, "delete") })
	if want := []string{"delete a-1", "delete b-1", "delete b-2"}; !slices.Equal(deleted, want) {
		t.Errorf("%q", writes)
	}
	w.create(pod("small")) // it would fit on the free node
	w.waits("small", "Insufficient cpu")
	for _, name := range []string{"a-1", "b-1", "b-2"} {
		w.leaves(name)
	}
	on := w.bound("g-1", "g-2", "g-3")
	slices.Sort(on)
	if !slices.Equal(on, []string{"a", "b", "free"}) {
		t.Errorf("the group is on %q", on)
	}
	if got := w.wroteAll(9); len(got) != 9 {
		t.Errorf("%q", got)
	}
}

func TestAGroupThatWouldNotFitEvictsNothing(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "2"), node("b", "2"), onNode(of(pod("a-1"), "2"), "a", 1),
		priority(onNode(of(pod("b-1"), "2"), "b", 1), 1000))
	for _, name := range []string{"g-1", "g-2"} {
		w.create(priority(of(member(pod(name), "2"), "2"), 1000))
	}
	w.waits("g-1", "Insufficient cpu")
	w.waits("g-2", "Insufficient cpu")
	w.create(of(pod("huge"), "9"))
	w.waits("huge", "Insufficient cpu")
	if writes := w.wroteAll(0); len(writes) > 0 {
		t.Errorf("%q", writes)
	}
}

// loses waits until a pod is nominated no longer.
func (w *world) loses(name string) {
	w.t.Helper()
	eventually(w.t, func() error {
		if on := w.pod(name).Status.NominatedNodeName; on != "" {
			return fmt.Errorf("%s is nominated to %s", name, on)
		}
		return nil
	})
}

// A nomination ends with the preemption that it is for: otherwise it would keep its room forever.
func TestNominationsThatNothingElseEnds(t *testing.T) {
	t.Parallel()
	gated := priority(member(pod("gated"), "2"), 10)
	unread := priority(pod("unread"), 10)
	unread.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: new("c")}}
	for name, p := range map[string]*corev1.Pod{
		"its group is not complete":  gated,
		"the pod cannot be decided":  unread,
		"a group above no pod":       of(member(pod("low"), "1"), "9"),
		"a group without candidates": priority(of(member(pod("huge"), "1"), "9"), 10),
		"no victims by a preemption": priority(of(member(pod("waits"), "1"), "2"), 10),
	} {
		t.Run(name, func(t *testing.T) {
			p.Status.NominatedNodeName = "a"
			leaving := onNode(pod("leaving"), "a", 1) // by no preemption
			leaving.DeletionTimestamp = new(metav1.Now())
			leaving.Finalizers = []string{"example.com/slow"}
			w := start(t, batch.Options{Preempt: true}, node("a", "1"), leaving, p)
			w.loses(p.Name)
		})
	}
}

// Members that are nominated already lose that if another one cannot be nominated.
func TestAGroupIsNominatedAsAWhole(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "2"), onNode(of(pod("victim"), "2"), "a", 1))
	var first string
	w.writing(func(write string) error {
		if name, ok := strings.CutPrefix(write, "nominate "); ok {
			if first == "" {
				first, _, _ = strings.Cut(name, " ")
			} else if !strings.HasPrefix(name, first) {
				return forbidden
			}
		}
		return nil
	})
	w.create(priority(member(pod("g-1"), "2"), 10), priority(member(pod("g-2"), "2"), 10))
	if got := w.wroteAll(2)[1]; got != "clear "+first {
		t.Errorf("%q after the nomination of %s", got, first)
	}
	for _, write := range w.ends() {
		if strings.HasPrefix(write, "delete") {
			t.Error(write)
		}
	}
}

// Pods of a PodGroup that run count towards its minimum, and of its victims only those go that are where it is placed.
func TestAPodGroupPreemptsInItsDomain(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]int{"none runs": 0, "one runs": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			large, small := node("large", "4"), node("small", "2")
			large.Labels, small.Labels = map[string]string{"rack": "1"}, map[string]string{"rack": "2"}
			objects := []runtime.Object{large, small}
			group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}}
			group.Spec.Priority = new(int32(10))
			group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(2 + running)}
			group.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
				Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}},
			}
			objects = append(objects, group, onNode(of(pod("old"), "4"), "large", 9), onNode(of(pod("young"), "2"), "small", 1))
			for range running {
				idle := node("idle", "2")
				idle.Labels = large.Labels
				objects = append(objects, idle, priority(onNode(of(inPodGroup(pod("runs")), "2"), "idle", 9), 10))
			}
			for _, name := range []string{"g-1", "g-2"} {
				objects = append(objects, priority(of(inPodGroup(pod(name)), "2"), 10))
			}
			w := start(t, batch.Options{Preempt: true}, objects...)
			for _, on := range w.bound("g-1", "g-2") {
				if on != "large" {
					t.Errorf("on %s", on)
				}
			}
			for _, write := range w.ends() {
				if write == "delete young" {
					t.Error(write)
				}
			}
		})
	}
}

// A group of kube-scheduler whose pods leave all together does so on all nodes, also where none of the victims is needed.
func TestAGroupIsEvictedAsAWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode *schedulingv1beta1.DisruptionMode
		want []string
	}{
		"as a whole": {
			&schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}, []string{"delete v-1", "delete v-2"},
		},
		"one by one": {nil, []string{"delete v-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}}
			group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
			group.Spec.DisruptionMode = c.mode
			w := start(t, batch.Options{Preempt: true}, group, node("a", "2"), node("b", "1"),
				onNode(of(inPodGroup(pod("v-1")), "2"), "a", 1), onNode(inPodGroup(pod("v-2")), "b", 1),
				priority(of(member(pod("p-1"), "1"), "2"), 10))
			if on := w.bound("p-1")[0]; on != "a" {
				t.Errorf("on %s", on)
			}
			var deleted []string
			for _, write := range w.ends() {
				if strings.HasPrefix(write, "delete") {
					deleted = append(deleted, write)
				}
			}
			if slices.Sort(deleted); !slices.Equal(deleted, c.want) {
				t.Errorf("%q, want %q", deleted, c.want)
			}
		})
	}
}

// A group costs no calls but its own, and those behind it are decided with its nominations.
func TestAGroupPreemptsWithOneAnswer(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true}, node("a", "1"), onNode(pod("victim"), "a", 1))
	w.gracefully()
	var calls atomic.Int32
	w.mutex.Lock()
	w.everyPlace = func(context.Context, *stowagev1.PlaceRequest) error { calls.Add(1); return nil }
	w.mutex.Unlock()
	w.writing(func(write string) error {
		if n := calls.Load(); strings.HasPrefix(write, "nominate") && n != 1 {
			t.Errorf("%d calls", n)
		}
		return nil
	})
	w.create(priority(member(pod("g-1"), "1"), 10))
	w.waits("g-1", "ongoing preemption on nominated nodes")
	w.leaves("victim")
	w.bound("g-1")
	if got, want := w.ends(), []string{"nominate g-1 a", "mark victim", "delete victim"}; !slices.Equal(got[:3], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A group that is placed as a whole evicts nothing.
func TestAJointGroupEvictsNothing(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Preempt: true, GroupMode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}, node("a", "1"),
		onNode(pod("victim"), "a", 1), priority(member(pod("g-1"), "1"), 10), pod("behind"))
	w.waits("g-1", "pod group default/g")
	w.waits("behind", "Insufficient cpu")
	if writes := w.ends(); len(writes) > 0 {
		t.Errorf("%q", writes)
	}
}
