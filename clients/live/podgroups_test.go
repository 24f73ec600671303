package live

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// The status of a PodGroup is written for every attempt: if that counted, no call would end before the next change.
func TestTheStatusOfAPodGroupChangesNothing(t *testing.T) {
	c, err := New(fake.NewClientset(), nil, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	group := func(change func(*schedulingv1beta1.PodGroup)) *schedulingv1beta1.PodGroup {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "one"}}
		g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}
		change(g)
		return g
	}
	for _, step := range []struct {
		name    string
		changes bool
		change  func(*schedulingv1beta1.PodGroup)
	}{
		{"a new group", true, func(*schedulingv1beta1.PodGroup) {}},
		{"its status", false, func(g *schedulingv1beta1.PodGroup) {
			g.ResourceVersion, g.Labels = "2", map[string]string{"team": "a"}
			g.Status.Conditions = []metav1.Condition{{Type: "PodGroupScheduled", Status: metav1.ConditionFalse}}
		}},
		{"its minimum, in one generation", true, func(g *schedulingv1beta1.PodGroup) { g.Spec.SchedulingPolicy.Gang.MinCount = 1 }},
		{"an annotation", true, func(g *schedulingv1beta1.PodGroup) {
			g.Spec.SchedulingPolicy.Gang.MinCount = 1
			g.Annotations = map[string]string{convert.PodGroupModeAnnotation: "joint"}
		}},
		{"another group of the name", true, func(g *schedulingv1beta1.PodGroup) {
			g.UID, g.Spec.SchedulingPolicy.Gang.MinCount = "two", 1
			g.Annotations = map[string]string{convert.PodGroupModeAnnotation: "joint"}
		}},
	} {
		before, now := c.model.version, group(step.change)
		c.update(func(m *model) { m.podGroupSet(now) })
		if changes := c.model.version != before; changes != step.changes {
			t.Errorf("%s: changes the cluster: %t", step.name, changes)
		}
		if c.PodGroup("default", "g") != now {
			t.Errorf("%s: the group is outdated", step.name)
		}
	}
}

// An API server may have the group version, and not the resource: its feature gate is off.
func TestAVersionWithoutPodGroups(t *testing.T) {
	api := fake.NewClientset()
	api.Resources = []*metav1.APIResourceList{
		{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "resourceclaims"}}},
		{GroupVersion: "scheduling.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "others"}}},
	}
	missing := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the server could not find the requested resource")
	}
	api.PrependReactor("list", "podgroups", missing)
	api.PrependReactor("list", "deviceclasses", missing)
	c, err := New(api, nil, Options{Log: slog.New(slog.DiscardHandler), PodGroups: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	waiting, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if err := c.WaitReady(waiting); err != nil {
		t.Error("it waits for a resource that is not there: ", err)
	}
}
