package fill_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func resources(cpuMillis, memoryBytes int64) *stowagev1.Resources {
	return &stowagev1.Resources{CpuMillis: &cpuMillis, MemoryBytes: &memoryBytes}
}

// awkward are pods whose requests are more than the sum over their containers.
func awkward() []*stowagev1.PodTemplate {
	always := stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS
	return []*stowagev1.PodTemplate{
		{Namespace: "default", Spec: &stowagev1.PodSpec{
			InitContainers: []*stowagev1.Container{
				{Name: "first", Requests: resources(900, 1<<30)}, {Name: "sidecar", RestartPolicy: always, Requests: resources(50, 1<<20)},
			},
			Containers: []*stowagev1.Container{{Name: "main", Requests: resources(100, 3<<29)}}, Overhead: resources(7, 11),
		}},
		{Namespace: "default", Spec: &stowagev1.PodSpec{
			Containers: []*stowagev1.Container{{Name: "main", Requests: resources(100, 1<<20)}}, Requests: resources(333, 1<<21),
		}},
	}
}

// TestTheServerAddsUpTheSame holds that what pods take of nodes is what the server says is in use, in a cluster with sidecars,
// overhead, pod-level requests and a pod that is resized.
func TestTheServerAddsUpTheSame(t *testing.T) {
	c := bigcluster.New(40)
	first := uint32(len(c.PodTemplates))
	c.PodTemplates = append(c.PodTemplates, awkward()...)
	c.Nodes[3].PodCounts = append(c.Nodes[3].PodCounts,
		&stowagev1.PodCount{TemplateIndex: first, Count: 3}, &stowagev1.PodCount{TemplateIndex: first + 1, Count: 2})
	c.Nodes[4].Pods = append(c.Nodes[4].Pods, &stowagev1.Pod{
		Name: "resized", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: first},
		ResourceStatus: &stowagev1.PodResourceStatus{Containers: []*stowagev1.ContainerResourceStatus{
			{Name: "main", Allocated: resources(2000, 1<<32)},
		}},
	})
	got, err := fill.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, used := range inUse(t, c) {
		for node, want := range used {
			q := got.All[node].Requested[corev1.ResourceName(name)]
			if wanted := convert.Quantity(corev1.ResourceName(name), want); q.Cmp(wanted) != 0 {
				t.Errorf("%s of %s: got %s, want %s", name, c.Nodes[node].Name, q.String(), wanted.String())
			}
			compared++
		}
	}
	if compared != 3*len(c.Nodes) {
		t.Errorf("compared %d amounts", compared)
	}
}

// inUse asks the server for a pod that is larger than any node: it says what is in use of each resource on each node.
func inUse(t *testing.T, c *stowagev1.Cluster) map[string]map[uint32]int64 {
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	for _, n := range c.Nodes {
		n.Allocatable.Pods = new(int64(len(n.Pods)))
		for _, p := range n.PodCounts {
			*n.Allocatable.Pods += int64(p.Count)
		}
	}
	a, err := client.Filter(t.Context(), &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}}, Explain: true,
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
			Containers: []*stowagev1.Container{{Requests: resources(math.MaxInt64/4, math.MaxInt64/4)}},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[uint32]int64{}
	for _, s := range a.GetExplanation().GetResourceShortages() {
		if out[s.Resource] == nil {
			out[s.Resource] = map[uint32]int64{}
		}
		out[s.Resource][s.NodeIndex] = s.Used
	}
	return out
}

func TestPodsThatMove(t *testing.T) {
	c, err := compact.Cluster(bigcluster.StatedInFull(bigcluster.New(2)), compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := fill.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	after := before.Clone()
	p := c.Nodes[0].Pods[7]
	after.Move(&stowagev1.PodReference{
		Namespace: compact.Template(c, p).Namespace, Name: p.Name, NodeIndex: new(uint32(0)), Count: 1,
		Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: p.GetTemplateIndex()},
	}, []uint32{1})
	after.Move(&stowagev1.PodReference{NodeIndex: new(uint32(0)), Count: 1, Origin: &stowagev1.PodReference_QueueIndex{}}, nil)
	takes := convert.Occupies(compact.Template(c, p).Spec, nil)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		moved := takes[name]
		if name == corev1.ResourcePods {
			moved = convert.Quantity(name, 1)
		}
		for i, sign := range []int64{-1, 1} {
			want, change := before.All[i].Requested[name].DeepCopy(), moved.DeepCopy()
			change.Mul(sign)
			want.Add(change)
			if got := after.All[i].Requested[name]; got.Cmp(want) != 0 {
				t.Errorf("%s of node %d: got %s, want %s", name, i, got.String(), want.String())
			}
		}
	}
}

func TestPercent(t *testing.T) {
	n := fill.Node{
		Allocatable: convert.Quantities(resources(1000, 3)),
		Requested:   convert.Quantities(resources(570, 2)),
	}
	for name, want := range map[corev1.ResourceName]int{corev1.ResourceCPU: 57, corev1.ResourceMemory: 66} {
		if got, ok := n.Percent(name); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", name, got, ok, want)
		}
	}
	if _, ok := n.Percent(corev1.ResourcePods); ok {
		t.Error("a percentage of nothing")
	}
}
