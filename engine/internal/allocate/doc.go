// Package allocate chooses devices for the claims of a pod on a node, as the allocator of kube-scheduler does by default
// (k8s.io/dynamic-resource-allocation/structured/internal/incubating, v0.37): the first solution of an exhaustive search in the order of
// pools, slices, devices, claims and requests.
package allocate
