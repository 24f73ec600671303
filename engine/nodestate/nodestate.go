// Package nodestate is the table of the taints that are states of a node. A controller sets such a taint while the state lasts and
// removes it afterwards: a node is not changed by removing the taint, no pod of a user should tolerate it, and a new node does not
// have it.
package nodestate

import "strings"

// state is a taint, or all taints whose keys begin with a prefix or end with a suffix, and the node once the state has ended.
type state struct {
	key            string
	prefix, suffix bool
	ended          string
}

// states are the taints by key, the most specific first. The sources are k8s.io/api/core/v1/well_known_taints.go and
// k8s.io/cloud-provider/api/well_known_taints.go (v0.37), Cluster Autoscaler's utils/taints/taints.go, Karpenter's
// pkg/apis/v1/taints.go, and Cluster API's api/core/v1beta2/common_types.go.
var states = []state{
	{key: "node.kubernetes.io/not-ready", ended: "ready"},
	{key: "node.kubernetes.io/unreachable", ended: "reachable"},
	{key: "node.kubernetes.io/disk-pressure", ended: "without disk pressure"},
	{key: "node.kubernetes.io/memory-pressure", ended: "without memory pressure"},
	{key: "node.kubernetes.io/pid-pressure", ended: "without PID pressure"},
	{key: "node.kubernetes.io/network-unavailable", ended: "with its network available"},
	{key: "node.kubernetes.io/out-of-service", ended: "back in service"},
	{key: "node.kubernetes.io/unschedulable", ended: "uncordoned"},
	{key: "node.kubernetes.io/", prefix: true},
	{key: "node.cloudprovider.kubernetes.io/uninitialized", ended: "initialized by its cloud provider"},
	{key: "node.cloudprovider.kubernetes.io/shutdown", ended: "running again"},
	{key: "node.cloudprovider.kubernetes.io/", prefix: true},
	{key: "ToBeDeletedByClusterAutoscaler", ended: "kept by Cluster Autoscaler"},
	{key: "DeletionCandidateOfClusterAutoscaler", ended: "needed for Cluster Autoscaler"},
	{key: "startup-taint.cluster-autoscaler.kubernetes.io/", prefix: true},
	{key: "status-taint.cluster-autoscaler.kubernetes.io/", prefix: true},
	{key: "ignore-taint.cluster-autoscaler.kubernetes.io/", prefix: true},
	{key: "karpenter.sh/disrupted", ended: "kept by Karpenter"},
	{key: "karpenter.sh/disruption", ended: "kept by Karpenter"},
	{key: "karpenter.sh/unregistered", ended: "registered with Karpenter"},
	{key: "node.cluster.x-k8s.io/uninitialized", ended: "initialized by Cluster API"},
	{key: "/agent-not-ready", suffix: true, ended: "with its network or storage agent ready"},
}

// Has reports whether the taints with a key are states of a node.
func Has(key string) bool { return find(key) != nil }

// Ended describes a node once the state of a taint has ended, such as "without disk pressure"; empty for a taint that is none.
func Ended(key string) string {
	s := find(key)
	switch {
	case s == nil:
		return ""
	case s.ended == "":
		return "once its taint " + key + " is gone"
	}
	return s.ended
}

func find(key string) *state {
	for i := range states {
		s := &states[i]
		if s.key == key || s.prefix && strings.HasPrefix(key, s.key) || s.suffix && strings.HasSuffix(key, s.key) {
			return s
		}
	}
	return nil
}
