package report

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity writes an amount of a resource as kubectl does.
func Quantity(name string, amount int64) string {
	switch {
	case name == "cpu":
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case name == "memory", name == "ephemeral-storage", strings.HasPrefix(name, "hugepages-"):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	}
	return resource.NewQuantity(amount, resource.DecimalSI).String()
}
