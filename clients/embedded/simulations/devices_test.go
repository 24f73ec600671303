package simulations_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
	"github.com/stowage-scheduler/stowage/clients/simulate"
)

// TestDevicesOfOneCall expects that devices pass from pod to pod within a call, and a doubt about the pods with claims of later calls.
func TestDevicesOfOneCall(t *testing.T) {
	b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler, Selectors: cel.New(), WholeDevices: true})
	must(t, b.AddNode(node("a", "z1", "8")))
	must(t, b.AddDeviceClass(devices.NewClass()))
	must(t, b.AddResourceSlice(devices.Slice("a", "old", 1)))
	var pods []*corev1.Pod
	for _, name := range []string{"one", "two", "three"} {
		must(t, b.AddResourceClaim(devices.Claim(name, 1)))
		pods = append(pods, devices.Use(pod(name, name, "1"), name))
		pods[len(pods)-1].Namespace = "default"
	}
	cluster, err := b.Build()
	must(t, err)
	s, err := simulate.New(t.Context(), dial(t), cluster, simulate.Options{})
	must(t, err)
	first, err := s.Schedule(t.Context(), pods[:2], simulate.ScheduleOptions{})
	must(t, err)
	if first[0].Node != "a" || first[1].Node != "" || len(first[0].Doubts) > 0 {
		t.Errorf("%+v", first)
	}
	later, err := s.Schedule(t.Context(), pods[2:], simulate.ScheduleOptions{})
	must(t, err)
	if len(later[0].Doubts) != 1 {
		t.Errorf("%+v", later)
	}
}
