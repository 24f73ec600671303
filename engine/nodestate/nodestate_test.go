package nodestate_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/engine/nodestate"
)

func TestEnded(t *testing.T) {
	for key, want := range map[string]string{
		"node.kubernetes.io/disk-pressure":                   "without disk pressure",
		"node.kubernetes.io/unreachable":                     "reachable",
		"node.kubernetes.io/some-day":                        "once its taint node.kubernetes.io/some-day is gone",
		"node.cloudprovider.kubernetes.io/uninitialized":     "initialized by its cloud provider",
		"ToBeDeletedByClusterAutoscaler":                     "kept by Cluster Autoscaler",
		"karpenter.sh/disrupted":                             "kept by Karpenter",
		"startup-taint.cluster-autoscaler.kubernetes.io/gpu": "once its taint startup-taint.cluster-autoscaler.kubernetes.io/gpu is gone",
		"node.cilium.io/agent-not-ready":                     "with its network or storage agent ready",
		"node-role.kubernetes.io/control-plane":              "",
		"dedicated":                                          "",
		"":                                                   "",
	} {
		if got := nodestate.Ended(key); got != want {
			t.Errorf("a node whose taint %q has ended is %q, want %q", key, got, want)
		}
		if got := nodestate.Has(key); got != (want != "") {
			t.Errorf("the taint %q is a state: %v", key, got)
		}
	}
}
