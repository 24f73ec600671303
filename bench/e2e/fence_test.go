package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// TestPausedScheduler has the kube-scheduler of an extender hang until its lease was not renewed for long, and expects that
// the extender does not bind for it, and binds again for its successor.
func TestPausedScheduler(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartExtender(t.Context()))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 2, 1))
	create(t, s, sized("first", "1", stack.ExtenderPods))
	bound(t, s, "first")

	s.Extended.Pause()
	create(t, s, sized("second", "1", stack.ExtenderPods))
	eventually(t, patience, func() error {
		lease, err := s.Client.CoordinationV1().Leases(stack.Namespace).Get(t.Context(), "kube-scheduler-stowage", metav1.GetOptions{})
		if err == nil && time.Since(lease.Spec.RenewTime.Time) < 11*time.Second {
			err = errors.New("the lease was renewed not long ago")
		}
		return err
	})
	p := get(t, s, "second")
	body, err := json.Marshal(&extenderv1.ExtenderBindingArgs{
		PodName: p.Name, PodNamespace: p.Namespace, PodUID: p.UID, Node: "node-00000",
	})
	must(t, err)
	r, err := http.Post(s.ExtenderURL+"/bind", "application/json", bytes.NewReader(body))
	must(t, err)
	defer r.Body.Close()
	var result extenderv1.ExtenderBindingResult
	must(t, json.NewDecoder(r.Body).Decode(&result))
	if !strings.Contains(result.Error, "is not held by kube-scheduler on this host: it was last renewed at") {
		t.Errorf("bind answers %q", result.Error)
	}
	if n := metric(t, s.ExtenderMetrics, "stowage_extender_binds_total", `result="fenced"`); n != "1" {
		t.Errorf("%s binds are counted as fenced", n)
	}

	s.Extended.Kill()
	must(t, s.Extended.Start(t.Context()))
	bound(t, s, "second")
}
