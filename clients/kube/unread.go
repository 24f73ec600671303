package kube

import (
	corev1 "k8s.io/api/core/v1"
)

// unread tells what of a pod's spec would narrow the choice of nodes in kube-scheduler, and is not part of the contract.
func unread(origin Origin, s *corev1.PodSpec) []string {
	var out []string
	add := func(what string) {
		out = append(out, origin.Kind+" "+origin.Namespace+"/"+origin.Name+": "+what)
	}
	for _, v := range s.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			add("which nodes its persistent volumes can be used on is not considered")
			break
		}
	}
	if len(s.ResourceClaims) > 0 {
		add("which nodes have the devices of its resource claims is not considered")
	}
	return out
}
