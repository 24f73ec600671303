package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	library "sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"
)

// TestHandleOfARevertedTransaction undoes a preemption of a reverted transaction in the next one. The library accepts the handle, and
// counts the pod twice.
func TestHandleOfARevertedTransaction(t *testing.T) {
	running := pod("running", "a", "20")
	running.Spec.NodeName = node(0).Name
	o := &objects{nodes: []*corev1.Node{node(0)}, pods: []*corev1.Pod{running}}
	for _, of := range []struct {
		name  string
		of    func(*testing.T) (*side, error)
		valid bool
	}{
		{"library", func(t *testing.T) (*side, error) { t.Helper(); return newLibrary(t.Context(), o) }, true},
		{"Stowage", func(t *testing.T) (*side, error) { t.Helper(); return newStowage(t.Context(), o) }, false},
	} {
		s, err := of.of(t)
		if err != nil {
			t.Fatal(err)
		}
		var undo func() error
		transaction := func(do func() error) {
			t.Helper()
			err := s.Transaction(t.Context(), func() (library.TransactionResult, error) { return library.Revert, do() })
			if err != nil {
				t.Fatal(err)
			}
		}
		transaction(func() (err error) {
			undo, err = s.preempt(t.Context(), []*corev1.Pod{running})
			return err
		})
		transaction(func() error {
			if err := undo(); (err == nil) != of.valid {
				t.Errorf("%s: %v", of.name, err)
			}
			return nil
		})
	}
}

// TestPreemptedBeforeASnapshot preempts a pod in one snapshot of a live state. The library's next snapshot lacks the pod.
func TestPreemptedBeforeASnapshot(t *testing.T) {
	running := pod("running", "a", "20")
	running.Spec.NodeName = node(0).Name
	o := &objects{nodes: []*corev1.Node{node(0)}, pods: []*corev1.Pod{running}}
	theirs, err := libraryState(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := stowageState(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range []*live{theirs, ours} {
		var feasible int
		for range 2 {
			s, err := l.snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.everywhere(o); err != nil {
				t.Fatal(err)
			}
			nodes, _, err := s.CanSchedulePod(t.Context(), pod("large", "b", "20"), s.all)
			if err != nil {
				t.Fatal(err)
			}
			feasible = len(nodes)
			if _, err := s.preempt(t.Context(), []*corev1.Pod{running}); feasible == 0 && err != nil {
				t.Fatal(err)
			}
		}
		if want := 1 - i; feasible != want {
			t.Errorf("side %d: %d nodes are feasible in the second snapshot, want %d", i, feasible, want)
		}
	}
}
