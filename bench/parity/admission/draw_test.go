package admission_test

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type dice struct{ *rand.Rand }

func (d dice) often(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// draw draws a pod and its surroundings.
func draw(rng *rand.Rand) *world {
	d := dice{rng}
	w := &world{pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}}}
	s := &w.pod.Spec
	for i := range 1 + d.IntN(2) {
		s.Containers = append(s.Containers, corev1.Container{Name: fmt.Sprint("c", i), Resources: d.resources()})
	}
	for i := range d.IntN(3) {
		c := corev1.Container{Name: fmt.Sprint("i", i), Resources: d.resources()}
		if d.often(50) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		s.InitContainers = append(s.InitContainers, c)
	}
	if d.often(20) {
		podLevel := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "hugepages-2Mi"}
		s.Resources = &corev1.ResourceRequirements{Requests: d.list(40, podLevel...), Limits: d.list(40, podLevel...)}
	}
	for range d.IntN(4) {
		s.Tolerations = append(s.Tolerations, d.toleration())
	}
	if d.often(40) {
		s.NodeSelector = map[string]string{pick(d, "a", "b"): pick(d, "x", "y")}
	}
	d.limitRanges(w)
	d.priorityClasses(w)
	d.runtimeClasses(w)
	return w
}

// amounts by resource. Some are rounded, some have too many thousandths for 64 bits, and some quotients of them are no
// numbers of float64.
var amounts = map[corev1.ResourceName][]string{
	corev1.ResourceCPU:              {"0", "100u", "3m", "9m", "0.1", "0.3", "300m", "0.9", "1", "1.1", "3.3", "2", "7"},
	corev1.ResourceMemory:           {"0", "100m", "1500m", "64Mi", "1Gi", "10Pi", "11Pi"},
	corev1.ResourceEphemeralStorage: {"1Ki", "1Gi", "3G"},
	"example.com/gpu":               {"1", "2", "3"},
	"hugepages-2Mi":                 {"2Mi", "4Mi"},
}

var resources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, "example.com/gpu", "hugepages-2Mi",
}

func (d dice) list(percent int, of ...corev1.ResourceName) corev1.ResourceList {
	var out corev1.ResourceList
	for _, name := range of {
		if d.often(percent) {
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[name] = resource.MustParse(pick(d, amounts[name]...))
		}
	}
	return out
}

func (d dice) resources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: d.list(40, resources...), Limits: d.list(40, resources...)}
}

// limitRanges draws LimitRanges. Two of them set defaults for different resources, as a map orders them.
func (d dice) limitRanges(w *world) {
	for i := range d.IntN(3) {
		of := [][]corev1.ResourceName{{corev1.ResourceCPU, "example.com/gpu", "hugepages-2Mi"}, {corev1.ResourceMemory, corev1.ResourceEphemeralStorage}}[i]
		l := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("l", i), Namespace: "ns"}}
		for range d.IntN(3) {
			item := corev1.LimitRangeItem{Type: pick(d, corev1.LimitTypeContainer, corev1.LimitTypeContainer, corev1.LimitTypePod, corev1.LimitTypePersistentVolumeClaim)}
			if item.Type == corev1.LimitTypeContainer {
				item.Default, item.DefaultRequest = d.list(30, of...), d.list(30, of...)
			}
			item.Min, item.Max = d.list(8, of...), d.list(8, of...)
			if d.often(25) {
				item.MaxLimitRequestRatio = corev1.ResourceList{pick(d, of...): resource.MustParse(pick(d, "1", "1.5", "3", "11"))}
			}
			l.Spec.Limits = append(l.Spec.Limits, item)
		}
		w.ranges = append(w.ranges, l)
	}
}

func (d dice) policy() *corev1.PreemptionPolicy {
	return pick(d, nil, new(corev1.PreemptLowerPriority), new(corev1.PreemptNever))
}

func (d dice) priorityClasses(w *world) {
	names := []string{"", "", "system-node-critical", "system-cluster-critical"}
	values := []int32{2_000_000_000, 2_000_001_000, 1}
	for i := range d.IntN(4) {
		c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("class", i)}, Value: int32(10 * i), PreemptionPolicy: d.policy()}
		c.GlobalDefault = d.often(25)
		w.priorities = append(w.priorities, c)
		names, values = append(names, c.Name), append(values, c.Value)
	}
	s := &w.pod.Spec
	if s.PriorityClassName = pick(d, names...); s.PriorityClassName == "" {
		return
	}
	if d.often(20) {
		s.Priority = new(pick(d, values...))
	}
	if d.often(20) {
		s.PreemptionPolicy = d.policy()
	}
}

var keys = []string{"a", "b", corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

func (d dice) toleration() corev1.Toleration {
	out := corev1.Toleration{
		Key: pick(d, keys...), Operator: pick(d, "", corev1.TolerationOpEqual, corev1.TolerationOpExists),
		Effect: pick(d, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
	}
	if out.Operator != corev1.TolerationOpExists {
		out.Value = pick(d, "x", "y", "")
	} else if d.often(10) {
		out.Key = ""
	}
	if out.Effect == corev1.TaintEffectNoExecute && d.often(50) {
		out.TolerationSeconds = new(int64(d.IntN(600)))
	}
	return out
}

func (d dice) runtimeClasses(w *world) {
	for i := range d.IntN(3) {
		c := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("runtime", i)}, Handler: "h"}
		if d.often(60) {
			c.Overhead = &nodev1.Overhead{PodFixed: d.list(50, corev1.ResourceCPU, corev1.ResourceMemory)}
		}
		if d.often(60) {
			c.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{pick(d, "a", "b"): pick(d, "x", "y")}}
			for range d.IntN(3) {
				c.Scheduling.Tolerations = append(c.Scheduling.Tolerations, d.toleration())
			}
		}
		w.runtimes = append(w.runtimes, c)
	}
	if len(w.runtimes) == 0 || d.often(30) {
		return
	}
	c := pick(d, w.runtimes...)
	w.pod.Spec.RuntimeClassName = &c.Name
	switch {
	case d.often(15):
		w.pod.Spec.Overhead = d.list(60, corev1.ResourceCPU, corev1.ResourceMemory)
	case c.Overhead != nil && d.often(15):
		w.pod.Spec.Overhead = c.Overhead.DeepCopy().PodFixed
	}
}
