package embedded_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// binder is what a batch scheduler needs of an API server: in a cluster, informers' stores and the pods' binding
// subresource.
type binder interface {
	Nodes() []*corev1.Node
	Pods() []*corev1.Pod
	Bind(ctx context.Context, namespace, pod, node string) error
}

// schedule places everything that is pending in one call and binds what got a node. It returns how many did.
func schedule(ctx context.Context, client stowagev1.PlacementServiceClient, cluster binder) (int, error) {
	// The names of pods on nodes do not matter here, so equal ones are counted.
	b := kube.NewBuilder(kube.Options{CountPods: true})
	for _, n := range cluster.Nodes() {
		if err := b.AddNode(n); err != nil {
			return 0, err
		}
	}
	// The order of the queue is the caller's: here, as kube-scheduler's, by priority and then by age.
	pods := cluster.Pods()
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	for _, p := range pods {
		if err := b.AddPod(p); err != nil {
			return 0, err
		}
	}
	snapshot, err := b.Build()
	if err != nil {
		return 0, err
	}
	answer, err := client.Place(ctx, snapshot.PlaceRequest())
	if err != nil {
		return 0, err
	}
	bound := 0
	for i, p := range answer.Placements {
		pod := snapshot.Queue[i].Origin
		for _, node := range p.Nodes.Names {
			if err := cluster.Bind(ctx, pod.Namespace, pod.Name, node); err != nil {
				return bound, err
			}
			bound++
		}
		if p.UnplacedCount > 0 {
			fmt.Printf("%s waits: %s\n", pod.Name, p.Message)
		}
	}
	return bound, nil
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// A batch scheduler's loop: all pending pods in one decision, bound, and again when something has changed.
func Example_batchScheduler() {
	ctx := context.Background()
	// In a cluster: stowage.Dial([]string{"dns:///stowage:7433"}).
	client, stop, err := embedded.Dial(ctx)
	if err != nil {
		panic(err)
	}
	defer func() { _ = stop() }()

	cluster := &memory{
		nodes: []*corev1.Node{node("a", "2"), node("b", "2")},
		pods: []*corev1.Pod{
			pendingPod("batch-1", 0), pendingPod("batch-2", 0), pendingPod("batch-3", 0),
			pendingPod("batch-4", 0), pendingPod("urgent", 10),
		},
	}
	bound, err := schedule(ctx, client, cluster)
	fmt.Println("bound", bound, err)
	cluster.nodes = append(cluster.nodes, node("c", "2"))
	bound, err = schedule(ctx, client, cluster)
	fmt.Println("bound", bound, err)
	for _, p := range cluster.Pods() {
		fmt.Println(p.Name, p.Spec.NodeName)
	}

	// Output:
	// batch-4 waits: 0/2 nodes are available: 2 Insufficient cpu.
	// bound 4 <nil>
	// bound 1 <nil>
	// batch-1 b
	// batch-2 a
	// batch-3 b
	// batch-4 c
	// urgent a
}

// memory is a cluster in memory.
type memory struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

func (m *memory) Nodes() []*corev1.Node { return m.nodes }

func (m *memory) Pods() []*corev1.Pod { return slices.Clone(m.pods) }

func (m *memory) Bind(_ context.Context, namespace, pod, node string) error {
	for _, p := range m.pods {
		if p.Namespace == namespace && p.Name == pod {
			p.Spec.NodeName = node
			return nil
		}
	}
	return fmt.Errorf("no pod %s/%s", namespace, pod)
}

func node(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

func pendingPod(name string, priority int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{Priority: &priority, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
}
