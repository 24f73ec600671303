package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
)

// objects creates objects of any kind.
type objects struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newObjects(t *testing.T, c *controlplane.ControlPlane) *objects {
	t.Helper()
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType, config.AcceptContentTypes = "", ""
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &objects{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))}
}

// of is where objects of a kind and namespace are.
func (o *objects) of(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := u.GroupVersionKind()
	mapping, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "root" {
		return o.client.Resource(mapping.Resource), nil
	}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	return o.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// create creates an object; a namespace may be there already.
func (o *objects) create(ctx context.Context, u *unstructured.Unstructured) error {
	resource, err := o.of(u)
	if err != nil {
		return err
	}
	_, err = resource.Create(ctx, u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) && u.GetKind() == "Namespace" {
		return nil
	}
	return err
}

// read reads the objects of a manifest.
func read(path string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var out []*unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &u.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// assign gives a scheduler the pods that an object is or makes; those on a node already are nobody's.
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

// clear deletes all workloads, pods and nodes and waits until they are gone.
func clear(t *testing.T, c *controlplane.ControlPlane) {
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
		if strings.HasPrefix(n.Name, "kube-") || n.Name == "stowage" {
			continue
		}
		apps, core := c.Client.AppsV1(), c.Client.CoreV1()
		for _, err := range []error{
			apps.Deployments(n.Name).DeleteCollection(ctx, at, all),
			apps.StatefulSets(n.Name).DeleteCollection(ctx, at, all),
			apps.ReplicaSets(n.Name).DeleteCollection(ctx, at, all),
			core.Pods(n.Name).DeleteCollection(ctx, at, all),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Client.CoreV1().Nodes().DeleteCollection(ctx, at, all); err != nil {
		t.Fatal(err)
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
		if n, m := len(sets.Items), len(pods.Items); n+m > 0 {
			return fmt.Errorf("%d ReplicaSets and %d pods are still there", n, m)
		}
		return nil
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

// workload is the name of what a pod comes from: of its Deployment, or of itself.
func workload(p *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return p.Name
	}
	if owner.Kind == "ReplicaSet" {
		return owner.Name[:strings.LastIndexByte(owner.Name, '-')]
	}
	return owner.Name
}
