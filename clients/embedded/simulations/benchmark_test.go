package simulations_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// The benchmarks' cluster: an app per 100 pods, a third of them apart and a third spread over zones.
const benchmarkNodes, benchmarkPods = 1000, 10_000

func benchmarkCluster() (nodes []*corev1.Node, pods []*corev1.Pod) {
	for i := range benchmarkNodes {
		nodes = append(nodes, node(fmt.Sprintf("node-%04d", i), fmt.Sprintf("z%d", i%3), "16"))
	}
	for i := range benchmarkPods {
		pods = append(pods, on(nodes[i%benchmarkNodes].Name, benchmarkPod(fmt.Sprintf("pod-%05d", i), i/100)))
	}
	return nodes, pods
}

func benchmarkPod(name string, app int) *corev1.Pod {
	p := pod(name, fmt.Sprintf("app-%d", app), "500m")
	switch app % 3 {
	case 0:
		apart(p)
	case 1:
		spread(p)
	}
	return p
}

// naive asks about one pod with all objects, as a caller without a snapshot does, and counts it.
func naive(b *testing.B, client *stowage.Client, nodes []*corev1.Node, pods []*corev1.Pod, p *corev1.Pod) string {
	builder := kube.NewBuilder(kube.Options{CountPods: true})
	for _, n := range nodes {
		must(b, builder.AddNode(n))
	}
	for _, p := range pods {
		must(b, builder.AddPod(p))
	}
	must(b, builder.AddPod(p))
	cluster, err := builder.Build()
	must(b, err)
	answer, err := client.Place(b.Context(), cluster.PlaceRequest())
	must(b, err)
	return answer.Placements[0].Nodes.Names[0]
}

// One pod is scheduled and counted. The naive way converts and sends the whole cluster.
func BenchmarkScheduleOne(b *testing.B) {
	client := dial(b)
	nodes, pods := benchmarkCluster()
	want := map[int]string{}
	s := snapshot(b, client, nodes, pods)
	for app := range 3 {
		s.Begin()
		want[app] = schedule(b, s, simulate.ScheduleOptions{}, benchmarkPod("p", app))[0]
		must(b, s.Revert())
	}
	check := func(b *testing.B, app int, got string) {
		if got != want[app] {
			b.Fatalf("app %d is on %s, want %s", app, got, want[app])
		}
	}
	for app := range 3 {
		kind := []string{"apart", "spread", "plain"}[app]
		b.Run("pod="+kind+"/way=snapshot", func(b *testing.B) {
			for b.Loop() {
				s.Begin()
				check(b, app, schedule(b, s, simulate.ScheduleOptions{}, benchmarkPod("p", app))[0])
				must(b, s.Revert())
			}
		})
		b.Run("pod="+kind+"/way=naive", func(b *testing.B) {
			for b.Loop() {
				check(b, app, naive(b, client, nodes, pods, benchmarkPod("p", app)))
			}
		})
	}
}

// A thousand pods of a template, by one call and one by one.
func BenchmarkScheduleTemplate(b *testing.B) {
	const count = 1000
	nodes, pods := benchmarkCluster()
	s := snapshot(b, dial(b), nodes, pods)
	app := benchmarkPod("new", 2)
	template := &corev1.PodTemplateSpec{ObjectMeta: app.ObjectMeta, Spec: app.Spec}
	want, err := s.Fork().ScheduleTemplate(b.Context(), template, count, simulate.ScheduleOptions{})
	must(b, err)
	b.Run("way=template", func(b *testing.B) {
		for b.Loop() {
			got, err := s.Fork().ScheduleTemplate(b.Context(), template, count, simulate.ScheduleOptions{})
			must(b, err)
			diff(b, nodesOf(want), nodesOf(got))
		}
	})
	b.Run("way=pods", func(b *testing.B) {
		for b.Loop() {
			fork, queue := s.Fork(), []*corev1.Pod{}
			for i := range count {
				queue = append(queue, benchmarkPod(fmt.Sprint("new-", i), 2))
			}
			diff(b, nodesOf(want), schedule(b, fork, simulate.ScheduleOptions{}, queue...))
		}
	})
	b.Run("way=one-by-one", func(b *testing.B) {
		for b.Loop() {
			fork := s.Fork()
			for i := range count {
				if got := schedule(b, fork, simulate.ScheduleOptions{}, benchmarkPod(fmt.Sprint("new-", i), 2))[0]; got != want[i].Node {
					b.Fatalf("pod %d is on %s, want %s", i, got, want[i].Node)
				}
			}
		}
	})
}

// What takes the same time whatever the size of the cluster and of the history.
func BenchmarkForkAndRevert(b *testing.B) {
	nodes, pods := benchmarkCluster()
	s := snapshot(b, dial(b), nodes, pods)
	schedule(b, s, simulate.ScheduleOptions{}, pod("p", "x", "1"))
	for b.Loop() {
		fork := s.Fork()
		fork.Begin()
		_, err := fork.Evict(shop("p"))
		must(b, err)
		must(b, fork.Revert())
		if fork.NodeOf("shop", "p") == "" {
			b.Fatal("the eviction is not reverted")
		}
	}
}
