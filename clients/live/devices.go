package live

import (
	"context"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// discoverAgain is the interval between attempts to discover an API.
const discoverAgain = time.Second

// serves reports whether the API server has a resource. It discovers the resource once: if a cluster adds it later, this
// process needs a restart. without names the feature that needs the resource.
func (c *Cluster) serves(ctx context.Context, resource schema.GroupVersionResource, without string) (bool, error) {
	version := resource.GroupVersion().String()
	for {
		list, err := discovery.ToServerResourcesInterfaceWithContext(c.api.Discovery()).
			ServerResourcesForGroupVersionWithContext(ctx, version)
		switch {
		case err == nil:
			if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }) {
				return true, nil
			}
			c.log.Info("without "+without, "reason", version+" has no "+resource.Resource)
			return false, nil
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			c.log.Info("without "+without, "reason", err)
			return false, nil
		}
		c.log.Warn("cannot discover "+version, "error", err)
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(discoverAgain):
		}
	}
}

// watchDevices applies the events of DeviceClasses to the model if the API server serves resource.k8s.io/v1.
func (c *Cluster) watchDevices(ctx context.Context) error {
	served, err := c.serves(ctx, resourcev1.SchemeGroupVersion.WithResource("deviceclasses"),
		"DeviceClasses: the extended resources that they serve are taken from the nodes' allocatable")
	if err != nil || !served {
		return err
	}
	return listen(c, c.informers.ResourceV1().DeviceClasses().Informer(),
		(*model).deviceSet, func(m *model, d *resourcev1.DeviceClass) {
			m.deviceSet(&resourcev1.DeviceClass{ObjectMeta: d.ObjectMeta})
		})
}

// deviceSet applies a DeviceClass; a class without an extended resource does not count.
func (m *model) deviceSet(d *resourcev1.DeviceClass) {
	to := ""
	if d.Spec.ExtendedResourceName != nil {
		to = *d.Spec.ExtendedResourceName
	}
	if m.devices[d.Name] == to {
		return
	}
	m.changed = true // retries pods that request the resource
	if m.devices[d.Name] = to; to == "" {
		delete(m.devices, d.Name)
	}
}

// DeviceClasses returns the extended resources of DeviceClasses, each with the name of one of its classes. It is never nil.
func (c *Cluster) DeviceClasses() map[string]string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	out := make(map[string]string, len(c.model.devices))
	for class, resource := range c.model.devices {
		out[resource] = max(out[resource], class)
	}
	return out
}
