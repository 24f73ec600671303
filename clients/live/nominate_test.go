package live_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
)

// A nomination that was written and that no event shows ends when the API server says that there is none.
func TestANominationThatNoEventShowsIsReadFromTheAPIServer(t *testing.T) {
	w := start(t, live.Options{AssumeFor: 20 * time.Millisecond}, makeNode("a", "z"))
	large := makePod("large", "large", "zone")
	large.Spec.Containers[0].Resources.Requests["cpu"] = *makeNode("", "").Status.Allocatable.Cpu()
	small := makePod("small", "small", "zone")
	w.create(large)
	w.Nominate(large, "a")
	w.feasible(small)
	time.Sleep(50 * time.Millisecond)
	w.feasible(small) // it is still being written
	w.Nominated(large.UID)
	w.soon(small, "a")

	w.Nominate(large, "a")
	w.feasible(small)
	w.Withdraw(large)
	w.feasible(small, "a")

	w.Nominate(large, "a")
	w.Nominated(large.UID)
	if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "large", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(small, "a")
}
