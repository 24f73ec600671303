package kube

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// converter collects the errors of one object, so that one error lists all of them.
type converter struct {
	errs field.ErrorList
}

func (c *converter) err() error {
	return c.errs.ToAggregate()
}

// enum translates a Kubernetes constant into one of the contract.
func enum[K ~string, V any](c *converter, table map[K]V, value K, path *field.Path) V {
	v, ok := table[value]
	if !ok {
		c.errs = append(c.errs, field.NotSupported(path, value, slices.Sorted(maps.Keys(table))))
	}
	return v
}
