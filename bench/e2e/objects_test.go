package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// assign sets the schedulerName of an object's pods, except of pods that are on a node already.
func assign(u *unstructured.Unstructured, schedulerName string) error {
	var path []string
	switch u.GetKind() {
	case "Pod":
		if node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName"); node != "" {
			schedulerName = "nobody"
		}
		path = []string{"spec", "schedulerName"}
	case "Deployment", "StatefulSet", "ReplicaSet", "Job":
		path = []string{"spec", "template", "spec", "schedulerName"}
	default:
		return nil
	}
	return unstructured.SetNestedField(u.Object, schedulerName, path...)
}

// asApplied turns a pod as an API server prints it into what was applied: without the UID, and without the selectors that
// matchLabelKeys have been turned into, which are refused when they are there already.
func asApplied(u *unstructured.Unstructured) {
	u.SetUID("")
	if u.GetKind() == "DeviceTaintRule" { // by default, v1.37 serves it in v1 alone
		u.SetAPIVersion("resource.k8s.io/v1")
	}
	if u.GetKind() != "Pod" {
		return
	}
	for _, rule := range []string{"podAffinity", "podAntiAffinity"} {
		affinity, _, _ := unstructured.NestedMap(u.Object, "spec", "affinity", rule)
		terms, _ := affinity["requiredDuringSchedulingIgnoredDuringExecution"].([]any)
		for _, t := range terms {
			term := t.(map[string]any)
			keys, _, _ := unstructured.NestedStringSlice(term, "matchLabelKeys")
			expressions, _, _ := unstructured.NestedSlice(term, "labelSelector", "matchExpressions")
			expressions = slices.DeleteFunc(expressions, func(e any) bool {
				return slices.Contains(keys, e.(map[string]any)["key"].(string))
			})
			if len(keys) > 0 {
				_ = unstructured.SetNestedSlice(term, expressions, "labelSelector", "matchExpressions")
			}
		}
		if len(terms) > 0 {
			_ = unstructured.SetNestedMap(u.Object, affinity, "spec", "affinity", rule)
		}
	}
}

// deleteAll deletes all workloads, pods, PodDisruptionBudgets, nodes, PriorityClasses, and objects of storage and devices, and waits until they are gone.
func deleteAll(t *testing.T, c *stack.Stack) {
	t.Helper()
	ctx := t.Context()
	now, background := int64(0), metav1.DeletePropagationBackground
	all := metav1.ListOptions{}
	at := metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}
	namespaces, err := c.Client.CoreV1().Namespaces().List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range namespaces.Items {
		if strings.HasPrefix(n.Name, "kube-") || n.Name == stack.Namespace {
			continue
		}
		apps, core := c.Client.AppsV1(), c.Client.CoreV1()
		for _, err := range []error{
			apps.Deployments(n.Name).DeleteCollection(ctx, at, all),
			apps.DaemonSets(n.Name).DeleteCollection(ctx, at, all),
			apps.StatefulSets(n.Name).DeleteCollection(ctx, at, all),
			apps.ReplicaSets(n.Name).DeleteCollection(ctx, at, all),
			c.Client.BatchV1().Jobs(n.Name).DeleteCollection(ctx, at, all),
			core.Pods(n.Name).DeleteCollection(ctx, at, all),
			core.PersistentVolumeClaims(n.Name).DeleteCollection(ctx, at, all), // once no pod uses them
			c.Client.ResourceV1().ResourceClaimTemplates(n.Name).DeleteCollection(ctx, at, all),
			c.Client.ResourceV1().ResourceClaims(n.Name).DeleteCollection(ctx, at, all), // likewise
			c.Client.StorageV1().CSIStorageCapacities(n.Name).DeleteCollection(ctx, at, all),
			c.Client.PolicyV1().PodDisruptionBudgets(n.Name).DeleteCollection(ctx, at, all),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Client.CoreV1().Nodes().DeleteCollection(ctx, at, all); err != nil {
		t.Fatal(err)
	}
	storage := c.Client.StorageV1()
	for _, err := range []error{
		storage.StorageClasses().DeleteCollection(ctx, at, all), storage.CSIDrivers().DeleteCollection(ctx, at, all),
		storage.CSINodes().DeleteCollection(ctx, at, all), storage.VolumeAttachments().DeleteCollection(ctx, at, all),
		c.Client.ResourceV1().ResourceSlices().DeleteCollection(ctx, at, all), c.Client.ResourceV1().DeviceClasses().DeleteCollection(ctx, at, all),
		c.Client.ResourceV1().DeviceTaintRules().DeleteCollection(ctx, at, all),
	} {
		must(t, err)
	}
	classes, err := c.Client.SchedulingV1().PriorityClasses().List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range classes.Items {
		if strings.HasPrefix(class.Name, "system-") {
			continue
		}
		if err := c.Client.SchedulingV1().PriorityClasses().Delete(ctx, class.Name, at); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, patience, func() error {
		sets, err := c.Client.AppsV1().ReplicaSets("").List(ctx, all)
		if err != nil {
			return err
		}
		pods, err := c.Client.CoreV1().Pods("").List(ctx, all)
		if err != nil {
			return err
		}
		jobs, err := c.Client.BatchV1().Jobs("").List(ctx, all)
		if err != nil {
			return err
		}
		claims, err := c.Client.CoreV1().PersistentVolumeClaims("").List(ctx, all)
		if err != nil {
			return err
		}
		devices, err := c.Client.ResourceV1().ResourceClaims("").List(ctx, all)
		if err != nil {
			return err
		}
		if n := len(devices.Items); n > 0 {
			return fmt.Errorf("%d ResourceClaims are still there", n)
		}
		if n, m, k, l := len(sets.Items), len(jobs.Items), len(pods.Items), len(claims.Items); n+m+k+l > 0 {
			return fmt.Errorf("%d ReplicaSets, %d Jobs, %d pods and %d claims are still there", n, m, k, l)
		}
		// A volume is deleted after its claim.
		volumes := c.Client.CoreV1().PersistentVolumes()
		left, err := volumes.List(ctx, all)
		if err != nil || len(left.Items) == 0 {
			return err
		}
		return cmp.Or(volumes.DeleteCollection(ctx, at, all), fmt.Errorf("%d volumes are still there", len(left.Items)))
	})
}

// condition is what a scheduler says of a pod in its status.
func condition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// workload is the name of what a pod comes from: of its Deployment, of a ReplicaSet without one, or of itself.
func workload(p *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return p.Name
	}
	if hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; owner.Kind == "ReplicaSet" && hash != "" {
		return strings.TrimSuffix(owner.Name, "-"+hash)
	}
	return owner.Name
}
