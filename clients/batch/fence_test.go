package batch_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
)

// term is a lease whose term is set by hand.
type term struct{ atomic.Uint64 }

func (l *term) Term() uint64 { return l.Load() }

// apart is a pod that must not share a node with others of its app.
func apart(p *corev1.Pod, app string) *corev1.Pod {
	p.Labels = map[string]string{"app": app}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}},
	}}
	return p
}

// elsewhere has another scheduler put a pod on a node, and waits until the cluster shows it.
func (w *world) elsewhere(p *corev1.Pod, node string) {
	w.t.Helper()
	p.Spec.NodeName = node
	w.create(p)
	w.decided(p)
}

// A leader hangs while bindings wait, another takes over and places a pod of the same app, and the first wakes: what it has
// decided before is not sent, neither while it does not lead nor when it leads again.
func TestALeaderThatHungBindsNothingFromBefore(t *testing.T) {
	for name, again := range map[string]bool{"it leads no more": false, "it leads again": true} {
		t.Run(name, func(t *testing.T) {
			var lease term
			lease.Store(1)
			w := start(t, batch.Options{Binders: 1, Lease: &lease}, node("a", "8"), node("b", "8"))
			release := w.block("first")
			first, second := pod("first"), apart(pod("second"), "web")
			w.create(first)
			w.requested(1)
			w.create(second)
			before := w.decided(second)
			lease.Store(0)
			release()
			w.bound("first") // what was on its way
			w.elsewhere(apart(pod("theirs"), "web"), before)
			if !again {
				w.expire("a") // some time
				w.lose()
				<-w.ended
				if on := w.pod("second").Spec.NodeName; on != "" {
					t.Errorf("it bound a pod to %s after its lease was over", on)
				}
				return
			}
			lease.Store(2)
			if on := w.bound("second")[0]; on == before {
				t.Error("a pod was bound beside one of the same app")
			}
			for _, b := range w.requested(2) {
				if b == "second "+before {
					t.Error("what was decided before was sent")
				}
			}
		})
	}
}

// A decision of an earlier term of the lease is not sent, even if no event shows that the cluster has changed.
func TestDecisionsOfAnotherTermAreRepeated(t *testing.T) {
	var lease term
	lease.Store(1)
	w := start(t, batch.Options{Binders: 1, Lease: &lease}, node("a", "8"))
	release := w.block("first")
	second := pod("second")
	w.create(pod("first"))
	w.requested(1)
	w.create(second)
	w.decided(second)
	var calls atomic.Int32
	w.mutex.Lock()
	w.beforePlace = func() { calls.Add(1) }
	w.mutex.Unlock()
	lease.Store(2)
	release()
	w.bound("first", "second")
	if calls.Load() != 1 {
		t.Error("it was bound without another decision")
	}
}

// The cluster changes while a decision waits to be bound: on its node, or elsewhere for longer than a decision is fresh.
func TestAWaitingDecisionIsRepeatedAfterAChange(t *testing.T) {
	for name, elsewhere := range map[string]bool{"on its node": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			o := batch.Options{Binders: 1}
			if elsewhere {
				o.Fresh = 1
			}
			w := start(t, o, node("a", "2"), node("b", "2"), node("c", "0"))
			release := w.block("first")
			first, second := pod("first"), pod("second")
			w.create(first)
			w.requested(1)
			w.create(second)
			before := w.decided(second)
			var calls atomic.Int32
			w.mutex.Lock()
			w.beforePlace = func() { calls.Add(1) }
			w.mutex.Unlock()
			foreign := pod("foreign")
			if on := before; elsewhere {
				w.elsewhere(foreign, "c")
			} else {
				foreign.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *node("", "2").Status.Allocatable.Cpu()
				w.elsewhere(foreign, on)
			}
			release()
			on := w.bound("second")[0]
			if calls.Load() != 1 {
				t.Error("it was bound without another decision")
			}
			if !elsewhere && on == before {
				t.Errorf("it was bound to %s, which is full", on)
			}
		})
	}
}

// Bindings do not wait for the status changes and events of pods without a node, however slow these are.
func TestBindingsDoNotWaitForWhatIsSaidOfOthers(t *testing.T) {
	w := start(t, batch.Options{Binders: 1}, node("a", "8"))
	blocked := make(chan struct{})
	w.mutex.Lock()
	w.beforePatch = func() { <-blocked }
	w.mutex.Unlock()
	for name := range strings.FieldsSeq("h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 h11 h12 h13 h14 h15 h16 h17 h18 h19 h20") {
		huge := priority(pod(name), 10)
		huge.Spec.NodeSelector = map[string]string{"no": "where"}
		w.create(huge)
	}
	w.create(pod("good-1"), pod("good-2"))
	w.bound("good-1", "good-2")
	close(blocked)
	w.waits("h1", "node(s) didn't match Pod's node affinity/selector")
	w.waits("h20", "node(s) didn't match Pod's node affinity/selector")
	w.because("h20", corev1.PodReasonUnschedulable)
}

// The members of a group wait to be bound, and the node of one is filled by another scheduler: none is bound without enough
// of the others.
func TestAGroupWithAnOutdatedDecisionIsDecidedAgain(t *testing.T) {
	w := start(t, batch.Options{Binders: 1}, node("a", "1"), node("b", "1"), node("c", "1"))
	release := w.block("first")
	first, g1, g2 := pod("first"), member(pod("g-1"), "2"), member(pod("g-2"), "2")
	w.create(first)
	w.requested(1)
	w.create(g1, g2)
	w.decided(g1)
	w.elsewhere(pod("foreign"), w.decided(g2))
	release()
	w.bound("first")
	for _, name := range []string{"g-1", "g-2"} {
		w.waits(name, "Insufficient cpu")
		if on := w.pod(name).Spec.NodeName; on != "" {
			t.Errorf("%s is bound to %s without the other", name, on)
		}
	}
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("d", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound("g-1", "g-2")
}

// The API server has too much to do for the first member, and its node is filled before it is sent again.
func TestAMemberThatIsNotSentAgainTakesItsGroupBack(t *testing.T) {
	w := start(t, batch.Options{Binders: 1}, node("a", "1"), node("b", "1"))
	g1, g2 := member(pod("g-1"), "2"), member(pod("g-2"), "2")
	var tried atomic.Bool
	w.bad(func(name string) error {
		if tried.Swap(true) {
			return nil
		}
		w.elsewhere(pod("foreign"), w.decided(map[string]*corev1.Pod{"g-1": g1, "g-2": g2}[name]))
		return apierrors.NewTooManyRequests("later", 0)
	}, nil, nil)
	w.create(g1, g2)
	for _, name := range []string{"g-1", "g-2"} {
		w.waits(name, "Insufficient cpu")
		if on := w.pod(name).Spec.NodeName; on != "" {
			t.Errorf("%s is bound to %s without the other", name, on)
		}
	}
}

// Once enough members of a group are bound, an outdated decision about another member is made again for that member only.
func TestAMemberIsDecidedAgainAloneIfEnoughAreBound(t *testing.T) {
	w := start(t, batch.Options{Binders: 1}, node("a", "1"), node("b", "1"), node("c", "1"))
	release := w.block("g-1", "g-2")
	g1, g2, g3 := member(pod("g-1"), "1"), member(pod("g-2"), "1"), member(pod("g-3"), "1")
	w.create(g1)
	w.requested(1)
	w.create(g2, g3)
	on := w.decided(g2)
	foreign := w.decided(g3)
	w.elsewhere(pod("foreign"), foreign)
	release()
	if got := w.bound("g-1", "g-2"); got[1] != on {
		t.Errorf("g-2 is on %s, want %s as decided", got[1], on)
	}
	w.waits("g-3", "Insufficient cpu")
}

// A pod that finds a node on a later attempt is bound before its earlier status, and the status of other pods, has been written,
// however slow that is.
func TestAPodIsTriedAgainBeforeItIsSaidWhyItHadNoNode(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "0"))
	blocked := make(chan struct{})
	w.mutex.Lock()
	var patches atomic.Int32
	w.beforePatch = func() { patches.Add(1); <-blocked }
	w.mutex.Unlock()
	release := sync.OnceFunc(func() { close(blocked) })
	t.Cleanup(release)
	var wait []string
	for i := range 20 {
		name := fmt.Sprintf("p-%02d", i)
		wait = append(wait, name)
		w.create(pod(name))
	}
	eventually(t, func() error {
		if n := patches.Load(); n < 4 {
			return fmt.Errorf("%d patches", n)
		}
		return nil
	})
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("b", "100"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		n := 0
		for _, name := range wait {
			if w.pod(name).Spec.NodeName != "" {
				n++
			}
		}
		if n < len(wait)-4 {
			return fmt.Errorf("%d are bound", n)
		}
		return nil
	})
	if n := patches.Load(); n != 4 {
		t.Errorf("the status of %d pods is changed, want 4", n)
	}
	release()
	w.bound(wait...)
}
