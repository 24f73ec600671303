// Package remedy writes a change that would place a pod as what makes it: kubectl's commands, and the patch of the pod's workload.
//
// A patch is a strategic merge patch, computed from the pod as it is and as it should be. Lists that such a patch can only replace,
// such as tolerations, are the lists of the pod, with what admission plugins added to them.
package remedy
