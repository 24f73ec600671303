package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// objects are a cluster.
type objects struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

const (
	zones       = 3
	nodeCPU     = 32
	podsPerNode = 10
	// apps is how many apps the running pods have. Each has as many pods as others, on all nodes.
	apps = 100
)

// newObjects returns nodes of zones that have a cpu of 32 free, or 2, in turn, and ten pods each.
func newObjects(nodes int) *objects {
	o := &objects{}
	for i := range nodes {
		n := node(i)
		o.nodes = append(o.nodes, n)
		for j := range podsPerNode {
			p := pod(fmt.Sprintf("running-%d-%d", i, j), fmt.Sprint("app-", (i*podsPerNode+j)%apps), "1")
			if i%2 == 1 {
				p = pod(p.Name, p.Labels["app"], "3")
			}
			p.Spec.NodeName = n.Name
			o.pods = append(o.pods, p)
		}
	}
	return o
}

func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%05d", i)
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(nodeCPU, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("128Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint("zone-", i%zones),
		}},
		Status: corev1.NodeStatus{Allocatable: amounts, Capacity: amounts},
	}
}

func pod(name, app, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
		}}},
	}
}

// apart keeps pods of one app on different nodes.
func apart(p *corev1.Pod) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}},
	}}
	return p
}

// spread lets zones differ by one pod of an app.
func spread(p *corev1.Pod) *corev1.Pod {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
	}}
	return p
}

// copies returns pods that a snapshot may change.
func copies(pods []*corev1.Pod) (out []*corev1.Pod) {
	for _, p := range pods {
		out = append(out, p.DeepCopy())
	}
	return out
}

// pending returns pods to schedule.
func pending(count int, app string, by func(*corev1.Pod) *corev1.Pod) (out []*corev1.Pod) {
	for i := range count {
		out = append(out, by(pod(fmt.Sprintf("pending-%s-%d", app, i), app, "4")))
	}
	return out
}

func plain(p *corev1.Pod) *corev1.Pod { return p }
