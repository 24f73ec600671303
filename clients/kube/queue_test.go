package kube_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// TestQueueOrder holds the queue against PrioritySort, with priorities of pods and of PriorityClasses.
func TestQueueOrder(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	pod := func(name string, priority int32, created int64) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Priority: &priority}}
		if created > 0 {
			p.CreationTimestamp = metav1.Time{Time: time.Unix(created, 0)}
		}
		return p
	}
	add := func(pods ...*corev1.Pod) {
		for _, p := range pods {
			if err := b.AddPod(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	classed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "classed"}, Spec: corev1.PodSpec{PriorityClassName: "high"}}
	add(pod("low", 0, 0), pod("younger", 5, 200), pod("older", 5, 100), pod("new", 5, 0), pod("newer", 5, 0), pod("negative", -1, 1), classed)
	if err := b.AddPriorityClass(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(s.Queue), []string{"classed", "older", "younger", "new", "newer", "low", "negative"}; !slices.Equal(got, want) {
		t.Errorf("queue %v, want %v", got, want)
	}
}

// TestQueueOfScheduler checks which pods the queue of a scheduler has, and that the others can still be asked for.
func TestQueueOfScheduler(t *testing.T) {
	for _, test := range []struct {
		name          string
		queue, others []string
	}{
		{"", []string{"unnamed", "default"}, []string{"volcano"}},
		{"volcano", []string{"volcano"}, []string{"unnamed", "default"}},
		{"default-scheduler", []string{"unnamed", "default"}, []string{"volcano"}},
		{kube.AnyScheduler, []string{"unnamed", "default", "volcano"}, nil},
	} {
		b := kube.NewBuilder(kube.Options{SchedulerName: test.name})
		for name, scheduler := range map[string]string{"unnamed": "", "default": "default-scheduler", "volcano": "volcano"} {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{SchedulerName: scheduler}}
			if err := b.AddPod(p); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		queue, others := names(s.Queue), names(s.Others)
		for _, list := range [][]string{queue, others, test.queue, test.others} {
			slices.Sort(list)
		}
		if !slices.Equal(queue, test.queue) || !slices.Equal(others, test.others) {
			t.Errorf("scheduler %q: queue %v, others %v, want %v and %v", test.name, queue, others, test.queue, test.others)
		}
		if _, _, err := s.Pending("volcano"); err != nil {
			t.Errorf("scheduler %q: %v", test.name, err)
		}
	}
}

func names(entries []kube.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Pods.Pod.Name)
	}
	return out
}
