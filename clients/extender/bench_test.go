package extender

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// processorTime is what the process has had of processors, kube-scheduler's part, which the test plays, and Stowage included.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPod measures kube-scheduler's calls for one pod on 5,000 nodes: filter and prioritize over HTTP, which call Stowage
// over gRPC on loopback. The pods have preferred zone anti-affinity and a spread constraint over hosts. Each is assumed on a
// node, so that each request refers to another cluster. Run with
//
//	go test -run '^$' -bench Pod -benchtime 200x ./clients/extender
func BenchmarkPod(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		var objects []runtime.Object
		var names []string
		for i := range nodes {
			name := fmt.Sprintf("node-%05d", i)
			names = append(names, name)
			objects = append(objects, makeNode(name, fmt.Sprintf("z%d", i%3)))
			for j := range 10 {
				objects = append(objects, on(makePod(fmt.Sprintf("%s-%d", name, j), fmt.Sprintf("app-%d", (i+j)%100)), name))
			}
		}
		for _, sampled := range []int{500, nodes} {
			b.Run(fmt.Sprintf("nodes=%d/sampled=%d", nodes, sampled), func(b *testing.B) {
				w := start(b, Options{OutcomeWait: time.Nanosecond}, objects...)
				request := names[:sampled]
				n := 0
				b.ReportAllocs()
				began := processorTime(b)
				for b.Loop() {
					p := makePod(fmt.Sprintf("web-%d", n), "web")
					p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
						PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100,
							PodAffinityTerm: corev1.PodAffinityTerm{
								TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
							}}},
					}}
					p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
						MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
						LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
					}}
					found := w.filter(p, request...)
					list, code := call[extenderv1.HostPriorityList](w, "prioritize", &extenderv1.ExtenderArgs{
						Pod: p, NodeNames: found.NodeNames,
					})
					if code != http.StatusOK || len(list) != sampled {
						b.Fatalf("%d scores", len(list))
					}
					if err := w.commit(b.Context(), p, list[n%sampled].Host); err != nil {
						b.Fatal(err)
					}
					n++
				}
				b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/float64(n), "cpu-ms/op")
				if shared := w.count("stowage.extender.evaluations", "by", "shared"); shared != int64(n) {
					b.Errorf("of %d pods, %d shared their evaluation", n, shared)
				}
			})
		}
	}
}

// BenchmarkReasons is filter and prioritize of a pod that two thirds of the nodes reject: with the reasons of all of them, and
// without.
func BenchmarkReasons(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		objects := []runtime.Object{on(makePod("web-0", "web"), "node-0"), on(makePod("web-1", "web"), "node-1")}
		var names []string
		for i := range nodes {
			names = append(names, fmt.Sprintf("node-%d", i))
			objects = append(objects, makeNode(names[i], fmt.Sprintf("z%d", i%3)))
		}
		for _, all := range []bool{true, false} {
			b.Run(fmt.Sprintf("nodes=%d/all=%v", nodes, all), func(b *testing.B) {
				w := start(b, Options{OutcomeWait: time.Nanosecond, AllReasons: all}, objects...)
				p := apart(makePod("web", "web"), corev1.LabelTopologyZone)
				for b.Loop() {
					found := w.filter(p, names...)
					list, code := call[extenderv1.HostPriorityList](w, "prioritize", &extenderv1.ExtenderArgs{
						Pod: p, NodeNames: found.NodeNames,
					})
					if code != http.StatusOK || len(list) != nodes/3 ||
						len(found.FailedAndUnresolvableNodes) != map[bool]int{true: nodes - nodes/3}[all] {
						b.Fatalf("%d scores, %d reasons", len(list), len(found.FailedAndUnresolvableNodes))
					}
				}
			})
		}
	}
}
