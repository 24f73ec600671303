package kube_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
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

// TestAlike checks which pods can share an entry.
func TestAlike(t *testing.T) {
	template := func(namespace string) *stowagev1.Pod {
		return &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Namespace: namespace}}}
	}
	index := func(i uint32) *stowagev1.Pod {
		return &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: i}}
	}
	for what, change := range map[string]func(p *stowagev1.Pod){
		"a label":      func(p *stowagev1.Pod) { p.Labels = map[string]string{"a": "b"} },
		"unread":       func(p *stowagev1.Pod) { p.Unread = []*stowagev1.UnreadField{{}} },
		"nominated":    func(p *stowagev1.Pod) { p.NominatedNodeName = "n" },
		"terminating":  func(p *stowagev1.Pod) { p.Terminating = true },
		"index":        func(p *stowagev1.Pod) { p.Source = index(2).Source },
		"template":     func(p *stowagev1.Pod) { p.Source = template("other").Source },
		"nothing else": nil,
	} {
		for _, x := range []*stowagev1.Pod{template("n"), index(0)} {
			y := proto.Clone(x).(*stowagev1.Pod)
			y.Name = "q"
			if change != nil {
				change(y)
			}
			if kube.Alike(x, y) != (change == nil) || kube.Alike(y, x) != (change == nil) || !kube.Alike(y, y) {
				t.Errorf("%s: %v and %v", what, x, y)
			}
		}
	}
	nominated := template("n")
	nominated.NominatedNodeName = "n"
	if kube.Alike(nominated, proto.Clone(nominated).(*stowagev1.Pod)) {
		t.Error("nominated pods are alike")
	}
}

// TestQueueOfScheduler checks which pods the queue of a scheduler has, and that the others can still be requested.
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
		if _, err := s.Pending("volcano"); err != nil {
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
