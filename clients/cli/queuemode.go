package cli

import (
	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
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

// queueMode returns how the queue is placed by a value of --queue, and says so if it is not as asked for.
func (a *asked) queueMode(queue string) stowagev1.QueueMode {
	why := answer.InOrderOnly(a.snapshot)
	switch {
	case queue == "in-order", queue == "auto" && !a.snapshot.Live:
		return stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
	case why != "":
	default:
		return stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	quote.Fprintf(a.stderr, "stowage: the queue is tried once, in order, and no pod is evicted, as %s\n", why)
	return stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
}
