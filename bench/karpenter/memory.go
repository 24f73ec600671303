package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// memory is a client that has the nodes and pods of a cluster, and a NodePool. As a client with a cache it goes through the pods of
// a namespace to find a selector's pods. Unlike such a client, it copies none.
type memory struct {
	client.Client
	pool   *v1.NodePool
	nodes  map[string]*corev1.Node
	pods   []*corev1.Pod
	onNode map[string][]*corev1.Pod
}

func newMemory(c *clusterOf, pool *v1.NodePool) *memory {
	m := &memory{
		Client: fakeclient.NewFakeClient(), pool: pool, nodes: map[string]*corev1.Node{}, pods: c.pods,
		onNode: map[string][]*corev1.Pod{},
	}
	for _, n := range c.nodes {
		m.nodes[n.Name] = n
	}
	for _, p := range c.pods {
		m.onNode[p.Spec.NodeName] = append(m.onNode[p.Spec.NodeName], p)
	}
	return m
}

// Get is of the interface.
func (m *memory) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	n, ok := into.(*corev1.Node)
	if !ok {
		return m.Client.Get(ctx, key, into, options...)
	}
	of, ok := m.nodes[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
	}
	*n = *of
	return nil
}

// List is of the interface.
func (m *memory) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if pools, ok := into.(*v1.NodePoolList); ok {
		pools.Items = []v1.NodePool{*m.pool}
		return nil
	}
	list, ok := into.(*corev1.PodList)
	if !ok {
		return m.Client.List(ctx, into, options...)
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	of := m.pods
	if o.FieldSelector != nil {
		if name, ok := o.FieldSelector.RequiresExactMatch("spec.nodeName"); ok {
			of = m.onNode[name]
		}
	}
	list.Items = nil
	for _, p := range of {
		matches := o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(p.Labels))
		if matches && (o.Namespace == "" || p.Namespace == o.Namespace) {
			list.Items = append(list.Items, *p)
		}
	}
	return nil
}
