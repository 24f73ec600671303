package kube

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// converter collects what is wrong with one object, so that one error tells all of it.
type converter struct {
	errs field.ErrorList
}

func (c *converter) err() error {
	return c.errs.ToAggregate()
}

// enum looks a Kubernetes constant up in a table of the contract's.
func enum[K ~string, V any](c *converter, table map[K]V, value K, path *field.Path) V {
	v, ok := table[value]
	if !ok {
		c.errs = append(c.errs, field.NotSupported(path, value, slices.Sorted(maps.Keys(table))))
	}
	return v
}
