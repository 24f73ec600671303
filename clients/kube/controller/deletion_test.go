package controller_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// TestDeletionOrder: of two pods that differ in one criterion alone the first leaves first, whichever way the names and the later
// criteria say.
func TestDeletionOrder(t *testing.T) {
	now := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
	ready := func(since time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-since)),
			}}
		}
	}
	unready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	}
	created := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
	}
	cost := func(n string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: n} }
	}
	restarted := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
	}
	sidecar := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "s", RestartCount: n}}
		}
	}
	uid := func(id string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.UID = types.UID(id) } }
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	phase := func(is corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = is } }
	both := func(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	hour := time.Hour
	for name, test := range map[string]struct{ first, second func(*corev1.Pod) }{
		"without a node":          {both(on(""), ready(9000*hour)), ready(hour)},
		"pending":                 {both(phase(corev1.PodPending), ready(9000*hour)), ready(hour)},
		"unknown":                 {both(phase(corev1.PodUnknown), ready(9000*hour)), ready(hour)},
		"not ready":               {both(unready, cost("9")), both(ready(hour), cost("-9"))},
		"not known for how long":  {restarted(0), both(ready(hour), restarted(9))},
		"cheaper":                 {both(cost("-1"), on("few")), on("many")},
		"no number is no cost":    {both(cost("-1"), on("few")), both(cost("1e9"), on("many"))},
		"beside others":           {both(on("many"), ready(9000*hour)), both(on("few"), ready(hour))},
		"ready later":             {both(ready(hour), restarted(0)), both(ready(9*hour), restarted(9))},
		"ready at about one time": {both(ready(50*hour), uid("a")), both(ready(49*hour), uid("b"))},
		"more restarts":           {both(restarted(3), created(9*hour)), both(restarted(2), created(hour))},
		"more restarts of a sidecar": {
			both(sidecar(3), created(9*hour)), both(sidecar(2), created(hour)),
		},
		"no time of creation": {func(*corev1.Pod) {}, created(hour)},
		"created later":       {both(created(hour), uid("b")), both(created(9*hour), uid("a"))},
		"the lower name":      {func(*corev1.Pod) {}, func(*corev1.Pod) {}},
	} {
		pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
			p.Spec.NodeName, p.Status.Phase = "few", corev1.PodRunning
			change(p)
			return p
		}
		x, y := pod("x", test.first), pod("y", test.second)
		if name != "the lower name" {
			x.Name, y.Name = "y", "x"
		}
		related := []*corev1.Pod{
			x, y, pod("m1", on("many")), pod("m2", on("many")), pod("done", both(on("few"), phase(corev1.PodSucceeded))),
			pod("done too", both(on("few"), phase(corev1.PodFailed))),
		}
		for _, given := range [][]*corev1.Pod{{x, y}, {y, x}} {
			if got := controller.DeletionOrder(given, related, now); !slices.Equal(got, []*corev1.Pod{x, y}) {
				t.Errorf("%s: %s comes first", name, got[0].Name)
			}
		}
	}
}
