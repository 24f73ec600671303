// Package deploytest reads manifests for tests as strictly as the API server does, and finds contradictions among them: selectors that
// select the wrong pods, references to missing objects, ports that no container has, pods that violate the restricted profile of the
// pod security standards, settings that the commands refuse.
package deploytest
