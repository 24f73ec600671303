package cli

import (
	"github.com/stowage-scheduler/stowage/clients/answer"
)

// queueFlag is the flag that all verbs have that place a queue. Its default follows the cluster, not the verb.
type queueFlag struct {
	Queue string `enum:"auto,kube-scheduler,in-order" default:"auto" help:"Place pods by kube-scheduler's queue, which preempts and retries, or once, in order: ${enum}. auto means kube-scheduler if the nodes come from a cluster."`
}

// mode is the value of --queue.
func (f *queueFlag) mode() answer.QueueMode {
	if f.Queue == "auto" {
		return ""
	}
	return answer.QueueMode(f.Queue)
}
