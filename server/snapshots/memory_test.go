package snapshots_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

func selector(app int) *stowagev1.LabelSelector {
	return &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("app-", app)}}
}

// template is a pod template of an app; the number selects its kind of constraint.
func template(app int) *stowagev1.PodTemplate {
	term := &stowagev1.PodAffinityTerm{LabelSelector: selector(app), TopologyKey: "zone"}
	spec := &stowagev1.PodSpec{Containers: []*stowagev1.Container{{
		Requests: &stowagev1.Resources{CpuMillis: proto.Int64(int64(10 + app)), MemoryBytes: proto.Int64(int64(1+app) << 20)},
	}}}
	switch app % 5 {
	case 1:
		term.TopologyKey = "hostname"
		spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{term}}}
	case 2:
		spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{
			Preferred: []*stowagev1.WeightedPodAffinityTerm{{Weight: int32(1 + app%100), Term: term}},
		}}
	case 3:
		spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: "zone", LabelSelector: selector(app),
			WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY,
		}}
	case 4:
		spec.Affinity = &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{term}}}
	}
	return &stowagev1.PodTemplate{Labels: map[string]string{"app": fmt.Sprint("app-", app), "release": "v1"}, Spec: spec}
}

func node(i int) *stowagev1.Node {
	name := fmt.Sprintf("node-%06d", i)
	n := &stowagev1.Node{
		Name:   name,
		Labels: map[string]string{"hostname": name, "zone": fmt.Sprint("z", i%3), "pool": fmt.Sprint("pool-", i%20)},
		Allocatable: &stowagev1.Resources{
			CpuMillis: proto.Int64(16000), MemoryBytes: proto.Int64(64 << 30), Pods: proto.Int64(110),
		},
	}
	for j := range 10 {
		n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{TemplateIndex: uint32((i*7 + j*13) % 100), Count: uint32(1 + j%3)})
	}
	return n
}

func stated(nodes int) *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	for i := range 100 {
		c.PodTemplates = append(c.PodTemplates, template(i))
	}
	for i := range 1000 {
		c.PodDisruptionBudgets = append(c.PodDisruptionBudgets, &stowagev1.PodDisruptionBudget{
			Name: fmt.Sprint("budget-", i), Selector: selector(i),
			DisruptedPods: []string{fmt.Sprintf("app-%d-x", i), fmt.Sprintf("app-%d-y", i)},
		})
	}
	for i := range nodes {
		c.Nodes = append(c.Nodes, node(i))
	}
	return c
}

func compiled(t *testing.T, c *stowagev1.Cluster) *decode.Snapshot {
	t.Helper()
	r := decode.NewRequest(t.Context())
	r.Message(c)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r.Cluster()
}

func after(t *testing.T, c *decode.Snapshot, d *stowagev1.ClusterDelta) *decode.Snapshot {
	t.Helper()
	r := decode.On(t.Context(), c)
	r.Delta("delta", d)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r.Cluster()
}

// ask runs Filter and Score for the i-th pod, as the service does.
func ask(t *testing.T, c *decode.Snapshot, number int) {
	t.Helper()
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template(number)}}
	f := decode.On(t.Context(), c).Filter(&stowagev1.FilterRequest{Pod: pod})
	if _, err := c.Filter(context.Background(), f.Pod, f.Options); err != nil {
		t.Fatal(err)
	}
	s := decode.On(t.Context(), c).Score(&stowagev1.ScoreRequest{Pod: pod})
	if _, err := c.Score(context.Background(), s.Pod, s.Options); err != nil {
		t.Fatal(err)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Memory is at least the cluster's heap size, and at most twice that, with any cached responses and after deltas.
func TestMemory(t *testing.T) {
	const outside = 64 << 10 // allocations of the runtime and other packages
	check := func(t *testing.T, when string, before int64, c *decode.Snapshot) {
		t.Helper()
		taken, memory := heap()-before, c.Memory()
		if memory < taken-outside || memory > 2*taken+outside {
			t.Errorf("%s: Memory = %d, the heap grew by %d", when, memory, taken)
		}
	}
	warm := compiled(t, stated(10))
	ask(t, warm, 0)
	after(t, warm, &stowagev1.ClusterDelta{RemovedNodes: warm.Names()[:1]})
	for _, nodes := range []int{1, 100, 1000} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			before := heap()
			c := compiled(t, stated(nodes))
			check(t, "compiled", before, c)
			asked := 0
			for _, until := range []int{1, 100, 1000, 3000} {
				for ; asked < until; asked++ {
					ask(t, c, asked)
				}
				check(t, fmt.Sprintf("after %d questions", asked), before, c)
			}
			if c.Remembered() < 1<<20 {
				t.Errorf("only %d bytes are remembered", c.Remembered())
			}
		})
	}
	t.Run("after deltas", func(t *testing.T) {
		before := heap()
		c := compiled(t, stated(500))
		for i := range 1000 {
			c = after(t, c, &stowagev1.ClusterDelta{
				RemovedNodes: []string{c.Names()[i%7]}, Nodes: []*stowagev1.Node{node(100_000 + i)},
			})
			if i%100 == 0 {
				ask(t, c, i)
			}
		}
		check(t, "in the end", before, c)
	})
}
