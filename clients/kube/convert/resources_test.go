package convert_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// What does not fit into the contract must be refused: a request of 0 fits every node.
func TestQuantitiesOutOfRange(t *testing.T) {
	for _, name := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu"} {
		for _, text := range []string{"1e16", "1e18", "1e19", "1e20", "1e25", "1e30", "-1", "-1e30"} {
			list := corev1.ResourceList{name: resource.MustParse(text)}
			pod := &corev1.Pod{}
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list.DeepCopy()}}}
			_, podErr := convert.PendingPod(pod)
			node := &corev1.Node{}
			node.Status.Allocatable = list
			_, nodeErr := convert.Node(node)

			// 1e16 and 1e18 fit unless counted in thousandths.
			fits := name != "cpu" && (text == "1e16" || text == "1e18")
			for path, err := range map[string]error{
				fmt.Sprintf("spec.containers[0].resources.requests[%s]", name): podErr,
				fmt.Sprintf("status.allocatable[%s]", name):                    nodeErr,
			} {
				if fits && err != nil {
					t.Errorf("%s of %s: %v", path, text, err)
				}
				if !fits && (err == nil || !strings.Contains(err.Error(), path)) {
					t.Errorf("%s of %s: %v", path, text, err)
				}
			}
		}
	}
}
