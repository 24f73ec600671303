package speed

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The surge of Cluster Autoscaler's BenchmarkRunOnceAffinitySurge (cluster-autoscaler/core/bench), with all pods pending: nodes in
// groups of 50 with room for 10 pods each, in three zones, and apps of two pods that keep apart by hostname or by zone.
const (
	surgeNodes       = 5_000
	surgeNodesSmall  = 500
	surgeGroup       = 50
	surgePodsPerNode = 10
	surgeMillis      = 10_000
	surgeBytes       = 64 << 30
	// kubeSurge pods are placed by kube-scheduler, from the middle of the queue on.
	kubeSurge = 20
)

// surge places as many pods as the nodes have room for.
func (r *run) surge() error {
	nodes := surgeNodes
	if r.Options.Small {
		nodes = surgeNodesSmall
	}
	for key, topology := range map[string]string{"surge-hostname": corev1.LabelHostname, "surge-zone": corev1.LabelTopologyZone} {
		if err := r.surgeBy(key, nodes, topology); err != nil {
			return fmt.Errorf("%s: %w", topology, err)
		}
	}
	return nil
}

func surgeNode(i int) *corev1.Node {
	group := i / surgeGroup
	name := fmt.Sprintf("ng-%d-node-%d", group, i%surgeGroup)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint("zone-", group%3),
		corev1.LabelInstanceTypeStable: fmt.Sprint("type-", group/3),
	}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(surgeMillis, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(surgeBytes, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	return n
}

func surgePod(app int, topology string) *corev1.Pod {
	labels := map[string]string{"app": fmt.Sprint("app-", app)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("surge-", app), Namespace: "default", Labels: labels}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(surgeMillis/surgePodsPerNode, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(surgeBytes/surgePodsPerNode, resource.BinarySI),
		},
	}}}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}}
	return pod
}

func (r *run) surgeBy(key string, nodes int, topology string) error {
	objects := &scenario.Case{Name: key}
	cluster := &stowagev1.Cluster{}
	for i := range nodes {
		n := surgeNode(i)
		objects.Nodes = append(objects.Nodes, n)
		node, err := convert.Node(n)
		if err != nil {
			return err
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	messages, err := stream(bigcluster.Compact(cluster))
	if err != nil {
		return err
	}
	target, err := r.stowage.target(messages)
	if err != nil {
		return err
	}
	request := &stowagev1.PlaceRequest{Context: target.context()}
	apps := nodes * surgePodsPerNode / 2
	for app := range apps {
		pod, err := convert.PendingPod(surgePod(app, topology))
		if err != nil {
			return err
		}
		request.Queue = append(request.Queue, &stowagev1.PendingPods{Pod: pod, Count: new(uint32(2))})
	}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	call := always(key, func() ([]byte, error) {
		return r.stowage.client.Call(context.Background(), stowagev1.PlacementService_Place_FullMethodName, encoded)
	})
	t, err := measurement{turns: min(3, r.Turns), collect: true}.of(call)
	if err != nil {
		return err
	}
	r.setTime(key, t[0])
	if len(r.KubeNodes) == 0 {
		return nil
	}
	var answer stowagev1.PlaceResponse
	if err := proto.Unmarshal(call.want, &answer); err != nil {
		return err
	}
	return r.surgeAgainst(key+"-kube", objects, &answer, t[0], topology)
}

// surgeAgainst has kube-scheduler place pods of the middle of the queue, with those before them on their nodes.
func (r *run) surgeAgainst(key string, c *scenario.Case, answer *stowagev1.PlaceResponse, t timing, topology string) error {
	middle := len(answer.Placements) / 2
	for app, p := range answer.Placements[:middle] {
		for i, n := range p.Nodes.Indexes {
			pod := surgePod(app, topology)
			pod.Name += fmt.Sprint("-", i)
			pod.Spec.NodeName = c.Nodes[n].Name
			stored, err := oracle.StoredPod(pod)
			if err != nil {
				return err
			}
			c.Pods = append(c.Pods, stored)
		}
	}
	var nodes []uint32
	for i := range kubeSurge / 2 {
		c.Queue = append(c.Queue, scenario.Pending{Pod: surgePod(middle+i, topology), Count: 2})
		nodes = append(nodes, answer.Placements[middle+i].Nodes.GetIndexes()...)
	}
	if len(nodes) != kubeSurge {
		return fmt.Errorf("%d pods of %d have a node", len(nodes), kubeSurge)
	}
	scheduler, err := oracle.NewWith(c, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return err
	}
	defer scheduler.Close()
	took, _, err := chosen(scheduler, c.Queue, nodes)
	if err != nil {
		return err
	}
	scale := float64(2*len(answer.Placements)) / kubeSurge
	f := r.at(key)
	f.Value, f.Wall, f.Processor = ratio(took.wall, t.wall)*scale, t.wall, ratio(took.cpu, t.cpu)*scale
	return nil
}
