package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/batch"
)

// sized is a pod of a size; the fake nodes have 32 CPUs.
func sized(name, cpu, schedulerName string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			SchedulerName: schedulerName,
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1.0", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
			}}},
		},
	}
}

func create(t *testing.T, s *stack.Stack, pods ...*corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		_, err := s.Client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
		must(t, err)
	}
}

func get(t *testing.T, s *stack.Stack, name string) *corev1.Pod {
	t.Helper()
	p, err := s.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return p
}

// bound waits until pods have nodes.
func bound(t *testing.T, s *stack.Stack, names ...string) {
	t.Helper()
	eventually(t, patience, func() error {
		for _, name := range names {
			if p := get(t, s, name); p.Spec.NodeName == "" {
				return fmt.Errorf("%s is not bound: %+v", name, condition(p))
			}
		}
		return nil
	})
}

// waits returns when a pod's condition and an event about it say that it has no node, with some words.
func waits(t *testing.T, s *stack.Stack, name, words string) {
	t.Helper()
	eventually(t, patience, func() error {
		p := get(t, s, name)
		if c := condition(p); c == nil || c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, words) {
			return fmt.Errorf("%s does not say %q: %+v", name, words, c)
		}
		notes := ""
		for _, e := range failures(t, s, p) {
			notes += e + "\n"
		}
		if !strings.Contains(notes, words) {
			return fmt.Errorf("no event of %s says %q: %q", name, words, notes)
		}
		return nil
	})
}

// failures are the notes of the events that say why a pod has no node.
func failures(t *testing.T, s *stack.Stack, p *corev1.Pod) (notes []string) {
	t.Helper()
	events, err := s.Client.EventsV1().Events(p.Namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, e := range events.Items {
		if e.Regarding.UID == p.UID && e.Reason == "FailedScheduling" {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// TestGroups has a group bound as a whole once there is room for it, and not before.
func TestGroups(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartBatch(t.Context()))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 2, 2))
	member := func(i int) *corev1.Pod {
		p := sized(fmt.Sprintf("training-%d", i), "20", stack.BatchPods)
		p.Labels[batch.GroupNameLabel], p.Labels[batch.MinAvailableLabel] = "training", "3"
		return p
	}
	create(t, s, member(0), member(1))
	waits(t, s, "training-1", "pod group training has 2 of at least 3 pods")
	create(t, s, member(2))
	for i := range 3 {
		waits(t, s, fmt.Sprintf("training-%d", i), "0/2 nodes are available")
	}
	for i := range 3 {
		if on := get(t, s, fmt.Sprintf("training-%d", i)).Spec.NodeName; on != "" {
			t.Errorf("training-%d is on %s, and the group does not fit", i, on)
		}
	}
	create(t, s, sized("alone", "20", stack.BatchPods))
	bound(t, s, "alone")
	_, err := s.Client.CoreV1().Nodes().Create(t.Context(), controlplane.FakeNode(2, 2), metav1.CreateOptions{})
	must(t, err)
	waits(t, s, "training-0", "0/3 nodes are available")
	if on := get(t, s, "training-0").Spec.NodeName; on != "" {
		t.Errorf("training-0 is on %s, and there is room for two", on)
	}
	_, err = s.Client.CoreV1().Nodes().Create(t.Context(), controlplane.FakeNode(3, 2), metav1.CreateOptions{})
	must(t, err)
	bound(t, s, "training-0", "training-1", "training-2")
}

// metric is the value of a metric with some attribute, "0" if there is none.
func metric(t *testing.T, url, name, attribute string) string {
	t.Helper()
	r, err := http.Get(url)
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, attribute) {
			return strings.TrimSpace(line[strings.LastIndexByte(strings.TrimSpace(line), ' ')+1:])
		}
	}
	return "0"
}

// TestEventsAreNotRepeated changes the cluster again and again while a pod cannot be placed.
func TestEventsAreNotRepeated(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartBatch(t.Context()))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 1, 1))
	create(t, s, sized("first", "1", stack.BatchPods))
	bound(t, s, "first") // the node is known
	create(t, s, sized("huge", "100", stack.BatchPods))
	waits(t, s, "huge", "0/1 nodes are available: 1 Insufficient cpu.")
	tries := func() string {
		return metric(t, s.BatchMetrics, "stowage_batch_attempts_total", `result="unschedulable"`)
	}
	for i := range 3 {
		before := tries()
		create(t, s, sized(fmt.Sprintf("small-%d", i), "1", stack.BatchPods))
		bound(t, s, fmt.Sprintf("small-%d", i))
		eventually(t, patience, func() error {
			if tries() == before {
				return errors.New("the pod that cannot be placed is not tried again")
			}
			return nil
		})
	}
	if notes := failures(t, s, get(t, s, "huge")); len(notes) != 1 {
		t.Errorf("%d events: %q", len(notes), notes)
	}
}

// leader returns the holder of the batch scheduler's lease, "" if it has none.
func leader(t *testing.T, s *stack.Stack) string {
	t.Helper()
	lease, err := s.Client.CoordinationV1().Leases(stack.Namespace).Get(t.Context(), "stowage-batch", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && lease.Spec.HolderIdentity == nil {
		return ""
	}
	must(t, err)
	return *lease.Spec.HolderIdentity
}

// TestTakeover terminates the leading replica with SIGTERM in the middle of a burst. Another replica must get the lease and
// continue, and no pod may be placed by both.
func TestTakeover(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartBatch(t.Context()))
	first := ""
	eventually(t, patience, func() error {
		if first = leader(t, s); first == "" {
			return errors.New("no replica leads")
		}
		return nil
	})
	_, _, err := s.NewBatch(t.Context(), "stowage-batch-2")
	must(t, err)
	begin := time.Time{}
	inBurst(t, s, stack.BatchPods, func() {
		begin = time.Now()
		s.Batch.Stop()
		eventually(t, patience, func() error {
			if now := leader(t, s); now == "" || now == first {
				return fmt.Errorf("%q leads, and %q was ended", now, first)
			}
			return nil
		})
	})
	t.Logf("the burst ended %.1f s after the leader was asked to end", time.Since(begin).Seconds())
}

// TestAway creates pods while Stowage is away: they say so, and are bound once it is back.
func TestAway(t *testing.T) {
	s := start(t)
	for _, k := range schedulers[1:] {
		k.start(t, s)
	}
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 3, 3))
	for _, k := range schedulers[1:] {
		create(t, s, sized("before-"+k.pods, "1", k.pods))
		bound(t, s, "before-"+k.pods)
	}
	s.Server.Kill()
	for _, k := range schedulers[1:] {
		create(t, s, sized("during-"+k.pods, "1", k.pods))
		eventually(t, patience, func() error {
			p := get(t, s, "during-"+k.pods)
			notes := failures(t, s, p)
			if len(notes) == 0 || condition(p) == nil {
				return errors.New("nothing says why the pod waits")
			}
			t.Logf("%s: %s", k.name, notes[0])
			return nil
		})
	}
	must(t, s.Server.Start(t.Context()))
	for _, k := range schedulers[1:] {
		bound(t, s, "during-"+k.pods)
	}
}
