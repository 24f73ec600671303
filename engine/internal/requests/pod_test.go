package requests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

func cpu(n int64) api.Resources { return api.Resources{{Resource: "cpu", Amount: n}} }

func TestPending(t *testing.T) {
	for name, test := range map[string]struct {
		spec            api.PodSpec
		want, defaulted api.Resources
	}{
		"containers add up": {
			spec:      api.PodSpec{Containers: []api.Container{{Requests: cpu(100)}, {Requests: cpu(200)}}},
			want:      cpu(300),
			defaulted: api.Resources{{Resource: "cpu", Amount: 300}, {Resource: "memory", Amount: 400 << 20}},
		},
		"the largest init container": {
			spec: api.PodSpec{
				Containers:     []api.Container{{Requests: cpu(100)}},
				InitContainers: []api.Container{{Requests: cpu(500)}, {Requests: cpu(300)}},
			},
			want:      cpu(500),
			defaulted: api.Resources{{Resource: "cpu", Amount: 500}, {Resource: "memory", Amount: 200 << 20}},
		},
		"sidecars run beside what follows them": {
			spec: api.PodSpec{
				Containers:     []api.Container{{Requests: cpu(100)}},
				InitContainers: []api.Container{{Requests: cpu(50), Sidecar: true}, {Requests: cpu(300)}},
			},
			want:      cpu(350),
			defaulted: api.Resources{{Resource: "cpu", Amount: 350}, {Resource: "memory", Amount: 400 << 20}},
		},
		"pod-level requests replace, and are not scored": {
			spec: api.PodSpec{
				Containers: []api.Container{{Requests: cpu(100)}},
				Requests:   cpu(700),
				Overhead:   cpu(10),
			},
			want:      cpu(710),
			defaulted: api.Resources{{Resource: "cpu", Amount: 110}, {Resource: "memory", Amount: 200 << 20}},
		},
		"an explicit zero stays": {
			spec:      api.PodSpec{Containers: []api.Container{{Requests: cpu(0)}}},
			want:      cpu(0),
			defaulted: api.Resources{{Resource: "cpu", Amount: 0}, {Resource: "memory", Amount: 200 << 20}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, requests.Pending(&test.spec)); diff != "" {
				t.Errorf("Pending (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.defaulted, requests.PendingDefaulted(&test.spec)); diff != "" {
				t.Errorf("PendingDefaulted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodLevelStatus says that pod-level amounts that are allocated count only where status.resources is there.
func TestPodLevelStatus(t *testing.T) {
	spec := api.PodSpec{Requests: cpu(1000), Containers: []api.Container{{Name: "a", Requests: cpu(1000)}}}
	for _, test := range []struct {
		status api.PodResourceStatus
		want   int64
	}{
		{api.PodResourceStatus{Allocated: cpu(12_000)}, 1000},
		{api.PodResourceStatus{Allocated: cpu(12_000), ResourcesPresent: true}, 12_000},
		{api.PodResourceStatus{Allocated: cpu(12_000), Actuated: cpu(13_000), ResourcesPresent: true}, 13_000},
		{api.PodResourceStatus{Allocated: cpu(500), ResourcesPresent: true, ResizeInfeasible: true}, 500},
	} {
		if got, _ := requests.Running(&spec, &test.status); cmp.Diff(cpu(test.want), got) != "" {
			t.Errorf("%+v: occupies %v, want %d", test.status, got, test.want)
		}
	}
}

func TestRunningWhileResized(t *testing.T) {
	spec := api.PodSpec{Containers: []api.Container{{Name: "a", Requests: cpu(100)}, {Name: "b", Requests: cpu(100)}}}
	status := &api.PodResourceStatus{Containers: []api.ContainerResourceStatus{
		{Name: "a", Allocated: cpu(300), Actuated: cpu(50)},
		{Name: "b", Allocated: cpu(50), Actuated: cpu(250)},
	}}
	if got, _ := requests.Running(&spec, status); cmp.Diff(cpu(350), got) != "" {
		t.Errorf("occupies %v: the largest of the sums of spec 200, allocated 350, actuated 300", got)
	}
	status.ResizeInfeasible = true
	status.Containers = []api.ContainerResourceStatus{{Name: "a", Allocated: cpu(20)}}
	if got, _ := requests.Running(&spec, status); cmp.Diff(cpu(20), got) != "" {
		t.Errorf("occupies %v: of an infeasible resize what the spec asks for is left out", got)
	}
}
