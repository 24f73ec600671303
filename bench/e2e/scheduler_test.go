package e2e

import (
	"testing"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
)

// scheduler is one way to have pods scheduled.
type scheduler struct {
	name  string // of the subtest
	pods  string // spec.schedulerName of its pods
	start func(t *testing.T, c *controlplane.ControlPlane)
}

// plain is kube-scheduler as it comes, with every node considered, as Stowage does.
const plainConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: KUBECONFIG, contentType: application/vnd.kubernetes.protobuf, qps: 5000, burst: 5000}
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
profiles: [{schedulerName: default-scheduler}]
`

var plain = scheduler{"kube-scheduler", "default-scheduler", func(t *testing.T, c *controlplane.ControlPlane) {
	t.Helper()
	if _, _, err := c.Scheduler(t.Context(), "kube-scheduler", plainConfiguration); err != nil {
		t.Fatal(err)
	}
}}

// schedulers are those that every scenario is decided by. The first one is what the others are compared with.
var schedulers = []scheduler{plain}
