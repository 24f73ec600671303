//go:build unix

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// FGD keeps the node with eight GPUs for the pods that need it; best fit takes it, as it has few cpus.
func TestWaysOfPacking(t *testing.T) {
	small, large := task{amounts: amounts{1000, 1024, 1}}, task{amounts: amounts{1000, 1024, 8}}
	other := small
	other.models = "X|Y"
	trace := &trace{
		machines: []machine{{amounts{8000, 8192, 8}, "G2"}, {amounts{96000, 8192, 1}, "T4"}},
		tasks:    []task{small, large},
	}
	for name, test := range map[string]struct {
		way   func([]task) (*packing, error)
		tasks []task
		at    []int
	}{
		"FGD":           {trace.gradient, []task{small, large}, []int{1, 0}},
		"best fit":      {trace.bestFit, []task{small, large}, []int{0, -1}},
		"another model": {trace.bestFit, []task{other}, []int{-1}},
		"jointly": {func(tasks []task) (*packing, error) {
			return trace.place(tasks, api.Kube137(), true, time.Minute)
		}, []task{small, large}, []int{1, 0}},
	} {
		got, err := test.way(test.tasks)
		if err != nil || !slices.Equal(got.at, test.at) {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
	for _, at := range [][]int{{0, 0}, {1, 1}, {0}} {
		if p, err := trace.checked([]task{small, large}, at, time.Now()); err == nil {
			t.Errorf("%v is taken for a placement: %+v", at, p)
		}
	}
}

// As many GPUs are requested as the load says, and the pods are in the order of their priorities.
func TestDrawnPods(t *testing.T) {
	trace := &trace{machines: []machine{{amounts{0, 0, 8}, ""}, {amounts{0, 0, 4}, ""}}, tasks: []task{
		{amounts: amounts{1, 1, 1}, priority: 3}, {amounts: amounts{1, 1, 1}, priority: 1},
	}}
	drawn := trace.draw(1.5, true, 7)
	falling := slices.IsSortedFunc(drawn, func(a, b task) int { return b.priority - a.priority })
	if len(drawn) != 18 || !falling || !slices.Equal(drawn, trace.draw(1.5, true, 7)) {
		t.Errorf("%v", drawn)
	}
	for _, next := range trace.draw(1, false, 7) {
		if next.priority != 0 {
			t.Errorf("%v has a priority", next)
		}
	}
	if bound := trace.bound(drawn); bound != 0 {
		t.Errorf("nodes without cpu have room for %d pods", bound)
	}
}
