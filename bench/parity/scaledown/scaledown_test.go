// Package scaledown compares the order in which replicas are to be deleted with the one in which a ReplicaSet deletes them.
package scaledown

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// TestReplicaSetObeysTheCosts sorts ready pods that have the costs as a ReplicaSet's controller does before it deletes the
// first of them.
func TestReplicaSetObeysTheCosts(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{Labels: map[string]string{"app": "web"}}}}
		replicas := 0
		for i := range 6 {
			n := &stowagev1.Node{Name: fmt.Sprint("n", i), Labels: map[string]string{"zone": fmt.Sprint(i % 3)}}
			for range rng.IntN(5) {
				n.Pods = append(n.Pods, &stowagev1.Pod{
					Name: fmt.Sprint("web-", replicas), Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0},
				})
				replicas++
			}
			c.Nodes = append(c.Nodes, n)
		}
		remain := rng.IntN(replicas + 1)
		answer, err := placement.New(0, nil).ScaleDown(t.Context(), &stowagev1.ScaleDownRequest{
			Context:  &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}},
			Replicas: new(uint32(remain)), Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}},
		})
		if err != nil {
			t.Fatal(err)
		}
		costs := make(map[string]int32)
		for _, d := range answer.Deletions {
			costs[d.Pod.Name] = d.DeletionCost
		}
		var pods controller.ActivePodsWithRanks
		for _, n := range c.Nodes {
			for _, p := range n.Pods {
				pod := &corev1.Pod{}
				pod.Name, pod.Spec.NodeName = p.Name, n.Name
				if cost, ok := costs[p.Name]; ok {
					pod.Annotations = map[string]string{corev1.PodDeletionCost: fmt.Sprint(cost)}
				}
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				pods.Pods = append(pods.Pods, pod)
				pods.Rank = append(pods.Rank, len(n.Pods))
			}
		}
		sort.Sort(pods)
		for i, d := range answer.Deletions {
			if pods.Pods[i].Name != d.Pod.Name {
				t.Errorf("seed %d: a ReplicaSet deletes %s as number %d, not %s", seed, pods.Pods[i].Name, i, d.Pod.Name)
			}
		}
	}
}
