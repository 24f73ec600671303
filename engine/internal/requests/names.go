package requests

import "strings"

// Scalar reports whether a resource counts in addition to cpu, memory and ephemeral-storage. Other resources are
// ignored (pkg/scheduler/util IsScalarResourceName, v1.37).
func Scalar(name string) bool {
	return Extended(name) || strings.HasPrefix(name, "hugepages-") || native(name) ||
		strings.HasPrefix(name, "attachable-volumes-")
}

// Extended reports whether a resource is an extended one, such as "example.com/gpu"
// (pkg/apis/core/v1/helper IsExtendedResourceName, v1.37).
func Extended(name string) bool {
	return strings.Contains(name, "/") && !native(name) && !strings.HasPrefix(name, "requests.")
}

func native(name string) bool { return strings.Contains(name, "kubernetes.io/") }
