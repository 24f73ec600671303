package live

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// measure registers the metrics. Attributes have few and fixed values.
func (c *Cluster) measure(p metric.MeterProvider) error {
	meter := p.Meter("github.com/stowage-scheduler/stowage/clients/live")
	var err error
	if c.expired, err = meter.Int64Counter("stowage.live.assumptions.expired", metric.WithUnit("{pod}"),
		metric.WithDescription("Assumed pods that turned out not to be bound.")); err != nil {
		return err
	}
	objects, err := meter.Int64ObservableGauge("stowage.live.objects", metric.WithUnit("{object}"),
		metric.WithDescription("Nodes, pods on nodes, the assumed pods among them, and, where volumes are read, PersistentVolumes and PersistentVolumeClaims."))
	if err != nil {
		return err
	}
	refused, err := meter.Int64ObservableGauge("stowage.live.refused", metric.WithUnit("{object}"),
		metric.WithDescription("Objects that Stowage rejects, by kind, and nodes that accept no pods because of a rejected pod."))
	if err != nil {
		return err
	}
	withKind := func(kind string) metric.ObserveOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String("kind", kind)))
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		nodes, pods := c.model.size()
		assumed := 0
		for _, p := range c.model.pods {
			if p.assumed {
				assumed++
			}
		}
		kinds := map[string]int{"Node": 0, "Pod": 0, "Namespace": 0, "Service": 0, "ReplicationController": 0, "ReplicaSet": 0, "StatefulSet": 0}
		for _, k := range slices.Concat(storageKinds, deviceKinds) {
			kinds[k.kind] = 0
		}
		for r := range c.model.refused.reasons {
			kinds[r.kind]++
		}
		kinds["Node"] = len(c.model.refusedNodes()) // including nodes that a pod closes
		o.ObserveInt64(objects, int64(nodes), withKind("Node"))
		o.ObserveInt64(objects, int64(pods), withKind("Pod"))
		o.ObserveInt64(objects, int64(assumed), withKind("assumed"))
		if c.model.storage.claims != nil {
			o.ObserveInt64(objects, int64(len(c.model.volumes.now)), withKind("PersistentVolume"))
			o.ObserveInt64(objects, int64(len(c.model.claims.now)), withKind("PersistentVolumeClaim"))
		}
		for kind, n := range kinds {
			o.ObserveInt64(refused, int64(n), withKind(kind))
		}
		return nil
	}, objects, refused)
	return err
}
