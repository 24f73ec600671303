package main

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
)

func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// asking is a pod with the requests that Karpenter's benchmark draws.
func asking(rng *rand.Rand, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(pick(rng, int64(100), 250, 500, 1000, 1500), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(pick(rng, int64(100), 256, 512, 1024, 2048, 4096)<<20, resource.BinarySI),
			}},
		}}},
	}
}

func selects(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

func spread(pod *corev1.Pod, key string, labels map[string]string) {
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selects(labels),
	}}
}

func together(pod *corev1.Pod, key string, labels map[string]string) {
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selects(labels), TopologyKey: key}},
	}}
}

func apart(pod *corev1.Pod, key string, labels map[string]string) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selects(labels), TopologyKey: key}},
	}}
}

// diversePods returns the pods of makeDiversePods (pkg/controllers/provisioning/scheduling/scheduling_benchmark_test.go, v1.15.0): a
// fifth each of generic pods, pods spread by zone and by hostname, pods with affinity by zone and with anti-affinity by hostname.
func diversePods(count int) (out []*corev1.Pod) {
	rng := rand.New(rand.NewPCG(42, 0))
	letter := func() string { return pick(rng, "a", "b", "c", "d", "e", "f", "g") }
	random := func() map[string]string { return map[string]string{"my-label": letter()} }
	for i := range count {
		name, labels := fmt.Sprint("pod-", i), random()
		switch kind := i * 5 / count; kind {
		case 3:
			labels = map[string]string{"my-affininity": letter()}
		case 4:
			labels = map[string]string{"app": "nginx"}
		}
		pod := asking(rng, name, labels)
		switch i * 5 / count {
		case 1:
			spread(pod, corev1.LabelTopologyZone, random())
		case 2:
			spread(pod, corev1.LabelHostname, random())
		case 3:
			together(pod, corev1.LabelTopologyZone, labels)
		case 4:
			apart(pod, corev1.LabelHostname, labels)
		}
		out = append(out, pod)
	}
	return out
}

// clusterOf is nodes with pods on them.
type clusterOf struct {
	nodes     []*corev1.Node
	index     map[string]int // by name
	pods      []*corev1.Pod
	templates map[string]*corev1.Pod // by label "app"
}

const (
	podsPerNode = 30
	workloads   = 500
	// nodeCPU is the number of cpus of each node, which is of the instance type with as many.
	nodeCPU = 32
	// looseSkew is the maxSkew of workloads that are spread by zone: at random they are nearly even.
	looseSkew = 10
)

// newCluster is a cluster of 30 pods on each node, of 500 ReplicaSets of four kinds, at most one of each on a node.
func newCluster(nodes int) *clusterOf {
	rng := rand.New(rand.NewPCG(43, uint64(nodes)))
	c := &clusterOf{index: map[string]int{}, templates: map[string]*corev1.Pod{}}
	var templates []*corev1.Pod
	for i := range workloads {
		labels := map[string]string{"app": fmt.Sprint("app-", i)}
		pod := asking(rng, "", labels)
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: labels["app"], UID: types.UID(labels["app"]), Controller: new(true),
		}}
		switch i % 4 {
		case 1:
			apart(pod, corev1.LabelHostname, labels)
		case 2:
			spread(pod, corev1.LabelTopologyZone, labels)
			pod.Spec.TopologySpreadConstraints[0].MaxSkew = looseSkew
		case 3:
			together(pod, corev1.LabelTopologyZone, labels)
		}
		templates = append(templates, pod)
		c.templates[labels["app"]] = pod
	}
	of := fake.InstanceTypes(nodeCPU)[nodeCPU-1]
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		n := nodeOf(of, of.Offerings[2+i%3], name) // on demand, in one of three zones
		n.UID, n.Spec.ProviderID = types.UID(name), "fake:///"+name
		n.Labels[v1.NodeRegisteredLabelKey], n.Labels[v1.NodeInitializedLabelKey] = "true", "true"
		c.index[name] = i
		c.nodes = append(c.nodes, n)
		l, count := &load{}, 0
		for _, of := range rng.Perm(workloads) {
			if l.add(templates[of]); !l.within(n.Status.Allocatable) {
				l.remove(templates[of])
				continue
			}
			pod := templates[of].DeepCopy()
			pod.Name = fmt.Sprintf("pod-%d-%d", i, count)
			pod.UID, pod.Spec.NodeName, pod.Status.Phase = types.UID(pod.Name), name, corev1.PodRunning
			c.pods = append(c.pods, pod)
			if count++; count == podsPerNode {
				break
			}
		}
	}
	return c
}
