// Package deploytest reads manifests for tests as strictly as the API server does, and finds what in them does not fit
// together: selectors that select other pods, names that nothing has, ports that no container has, pods that the restricted
// profile of the pod security standards refuses, settings that the commands refuse.
package deploytest
