package controlplane

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// callers is how many calls to the API server are made at a time.
const callers = 16

// FakeNode is a ready node in one of some zones, "zone-0" and so on, in turn.
func FakeNode(i, zones int) *corev1.Node {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("32"),
		corev1.ResourceMemory: resource.MustParse("128Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	name := fmt.Sprintf("node-%05d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelTopologyZone:   fmt.Sprintf("zone-%d", i%zones),
			corev1.LabelTopologyRegion: "region",
			corev1.LabelOSStable:       "linux",
		}},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Fake", Message: "there is no kubelet",
			}},
		},
	}
}

// FakeNodes creates nodes.
func FakeNodes(ctx context.Context, client kubernetes.Interface, count, zones int) error {
	return Parallel(ctx, count, func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Nodes().Create(ctx, FakeNode(i, zones), metav1.CreateOptions{})
		return err
	})
}

// Parallel calls a function with 0 to n-1, several at a time.
func Parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
