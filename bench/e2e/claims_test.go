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

// leftAlone are the cases and steps that the batch scheduler leaves to kube-scheduler, with a part of its reason: claims that wait for the node of a
// pod, and extended resources that a DeviceClass serves.
var leftAlone = map[string]string{
	"42-a-delayed-claim-and-spreading": bindsNoVolumes, "45-a-claim-shared-by-two-pods": bindsNoVolumes, "47-no-storage-capacity-left": bindsNoVolumes,
	"52-an-extended-resource-of-a-device-class: the class has the name of the resource": "kube-scheduler serves this resource with devices of the DeviceClass",
}

// createLeftAlone expects that the batch scheduler binds none of a step's pods, with a reason.
func createLeftAlone(t *testing.T, c *stack.Stack, k *scenarios.Case, step *scenarios.Step, why string) {
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
			if said := condition(p); said == nil || said.Reason != corev1.PodReasonSchedulerError || !strings.Contains(said.Message, why) {
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

// allocate writes the allocation of a claim, which the API server does not accept with a new one. The controller of claims reserves it for the
// pods of the case that are on a node.
func allocate(t *testing.T, c *stack.Stack, u *unstructured.Unstructured) {
	t.Helper()
	status, found, _ := unstructured.NestedMap(u.Object, "status")
	if !found {
		return
	}
	claims, err := c.Of(u)
	must(t, err)
	now, err := claims.Get(t.Context(), u.GetName(), metav1.GetOptions{})
	must(t, err)
	must(t, unstructured.SetNestedMap(now.Object, map[string]any{"allocation": status["allocation"]}, "status"))
	_, err = claims.UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
	must(t, err)
}

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
