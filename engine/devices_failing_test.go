package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestDeviceSearchFailsWithoutVictims has nodes on which a selector fails once their victims are gone: preemption ends with the errors, in
// the order of the nodes (pkg/scheduler/framework/preemption/preemption.go evaluate, v1.37).
func TestDeviceSearchFailsWithoutVictims(t *testing.T) {
	for nodes := 1; nodes <= 2; nodes++ {
		c := gpuCluster(nodes, 1)
		failures := []api.ExpressionFailure{{Type: "gpu", Message: "no such key: x"}}
		c.Devices.Expressions = []api.DeviceExpression{{Name: "broken", Text: "broken", Failures: failures}}
		var want []string
		for i := range c.Nodes {
			n := &c.Nodes[i]
			n.Allocatable = enginetest.Resources("cpu", 64000, "memory", 1<<40, "pods", 1)
			n.Pods = []api.Pod{{Name: fmt.Sprint("victim-", i), Template: &api.PodTemplate{Namespace: "default"}, TemplateIndex: -1}}
			want = append(want, fmt.Sprintf(
				`running "DynamicResources" filter plugin: claim default/gpus: selector #0 on device gpu.example/n%d/gpu-0: CEL runtime error: no such key: x`, i,
			))
		}
		text := "preemption: " + want[0]
		if nodes > 1 {
			text = "preemption: [" + strings.Join(want, ", ") + "]"
		}
		template := claimingDevices(1)
		template.Spec.Priority = 10
		template.Spec.ResourceClaims[0].Template.Requests[0].Exactly.Selectors = []api.DeviceSelector{{Expression: "broken"}}
		pod := &api.Pod{Name: "pod", Template: template, TemplateIndex: -1}
		p := filterOf(t, c, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}}).Preemption
		if p.Message != text || len(p.Rejections) > 0 || p.ClearsNomination {
			t.Errorf("%d nodes: %q, not %q; %v", nodes, p.Message, text, p.Rejections)
		}
	}
}
