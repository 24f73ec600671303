package preempt

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// TestTrackedTakesWhatItSays: what is kept of an assigned pod does not grow with the pods of the cluster that its rules count,
// and maxTracked bounds all of it.
func TestTrackedTakesWhatItSays(t *testing.T) {
	const nodes, each, passes, zone, hostname = 60, 10, 32, "topology.kubernetes.io/zone", "kubernetes.io/hostname"
	app := enginetest.Selects("app", "gang")
	for name, rules := range map[string]func(*enginetest.Pod){
		"no rule":       func(*enginetest.Pod) {},
		"spread":        func(p *enginetest.Pod) { p.Spread(zone, 1000, app) },
		"spread twice":  func(p *enginetest.Pod) { p.Spread(zone, 1000, app).Spread(hostname, 1000, app) },
		"affinity":      func(p *enginetest.Pod) { p.Affinity(zone, app) },
		"anti-affinity": func(p *enginetest.Pod) { p.AntiAffinity(hostname, app).AntiAffinity(zone, app) },
		"host port":     func(p *enginetest.Pod) { p.HostPort(80) },
		"selector":      func(p *enginetest.Pod) { p.Template.Spec.NodeSelector = api.Labels{{Key: hostname, Value: "n1"}} },
	} {
		stated := enginetest.Cluster()
		for i := range nodes {
			n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 100*each, "pods", 110).Zone(fmt.Sprint("z", i%3))
			for j := range each { // of a group each
				unique := fmt.Sprint("pod-", i, "-", j)
				n.Run(enginetest.MakePod(unique).Label("app", "gang").Label("name", unique).Request("cpu", 100).HostPort(80).
					AntiAffinity(hostname, app))
			}
			stated.Nodes = append(stated.Nodes, n.Node)
		}
		c, err := cluster.Compile(t.Context(), stated)
		if err != nil {
			t.Fatal(err)
		}
		state := cluster.NewState(t.Context(), c)
		pod := enginetest.MakePod("gang").Label("app", "gang").Request("cpu", 500).Request("memory", 1).Priority(10)
		rules(pod)
		d := decide.New(decide.NewFramework(api.Kube137(), registry.Plugins), state, state.Compile(&pod.Pod))
		d.Rules().Track(0, nil) // the state keeps some columns
		tracked, said := make([]*rule.Tracked, passes), 0
		before := live()
		for i := range tracked {
			tracked[i] = d.Rules().Track(uint32(i), nil)
			said += 8 * tracked[i].Numbers()
		}
		if took := live() - before; took > said || said > 16<<10*passes {
			t.Errorf("%s: %d passes take %d bytes, and say %d", name, passes, took, said)
		} else {
			t.Logf("%s: %d of %d bytes each", name, took/passes, said/passes)
		}
		runtime.KeepAlive(tracked)
	}
}

// live returns the bytes of all objects that are in use.
func live() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
