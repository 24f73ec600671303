package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
)

// leftAlone are the cases with claims that wait for the node of a pod, which the batch scheduler leaves to kube-scheduler.
var leftAlone = map[string]bool{
	"42-a-delayed-claim-and-spreading": true, "45-a-claim-shared-by-two-pods": true, "47-no-storage-capacity-left": true,
}

// createLeftAlone expects that the batch scheduler binds none of a step's pods, because it binds no volumes.
func createLeftAlone(t *testing.T, c *stack.Stack, k *scenarios.Case, step *scenarios.Step) {
	t.Helper()
	deleteAll(t, c)
	for _, file := range step.Files {
		for _, u := range read(t, k, file) {
			must(t, assign(u, stack.BatchPods))
			asApplied(u)
			must(t, c.Create(t.Context(), u))
		}
	}
	eventually(t, patience, func() error {
		pods, err := c.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.schedulerName=" + stack.BatchPods})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Spec.NodeName != "" {
				t.Fatalf("%s is on node %s", p.Name, p.Spec.NodeName)
			}
			if said := condition(p); said == nil || said.Reason != corev1.PodReasonSchedulerError || !strings.Contains(said.Message, bindsNoVolumes) {
				return fmt.Errorf("%s: %+v", p.Name, said)
			}
		}
		if len(pods.Items) == 0 {
			return errors.New("there are no pods")
		}
		return nil
	})
}

// bindsNoVolumes is a part of the batch scheduler's reason.
const bindsNoVolumes = "this scheduler leaves the pod alone, because it binds no volumes"

// settleClaim waits until a claim is bound to the volume that it names: pods of a case find their claims so.
func settleClaim(t *testing.T, c *stack.Stack, u *unstructured.Unstructured) {
	t.Helper()
	named, _, _ := unstructured.NestedString(u.Object, "spec", "volumeName")
	if named == "" {
		return
	}
	claims := c.Client.CoreV1().PersistentVolumeClaims(cmp.Or(u.GetNamespace(), metav1.NamespaceDefault))
	eventually(t, patience, func() error {
		claim, err := claims.Get(t.Context(), u.GetName(), metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("claim %s is %s", claim.Name, claim.Status.Phase)
		}
		return err
	})
}
