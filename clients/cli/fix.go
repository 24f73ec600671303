package cli

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// fix prints how to make the first change that would place the pod of --pod.
func (c *explainCommand) fix(s *session, code *answered) error {
	return c.ask(s, code, func(message string, unread []*stowagev1.UnreadField) proto.Message {
		return &stowagev1.FilterResponse{Message: message, Unread: unread}
	}, func(a *asked, _ *stowagev1.DecisionContext, _ *stowagev1.Pod) (proto.Message, error) {
		entries, err := c.entries(a.snapshot)
		if err != nil {
			return nil, err
		}
		answer, request, err := c.fixed(a, entries[0])
		if err == nil {
			*code = c.verdict(s, a.snapshot, len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
		}
		return request, err
	})
}

// fixed prints how to make the first change that would place a pod. A pod with a feasible node needs none.
func (c *explainCommand) fixed(a *asked, entry kube.Entry) (*stowagev1.FilterResponse, proto.Message, error) {
	if entry.Message != "" {
		report.WriteWrapped(a.stdout, "# ", entry.Message, a.width)
		return &stowagev1.FilterResponse{Message: entry.Message, Unread: entry.Pods.Pod.Unread}, nil, nil
	}
	request := &stowagev1.FilterRequest{Context: a.about(a.snapshot.Cluster), Pod: entry.Pods.Pod, IncludeChanges: true}
	answer, err := a.Filter(a.ctx, request)
	if err != nil {
		return nil, request, err
	}
	x := report.Explanation{Cluster: a.snapshot.Cluster, Width: a.width}
	switch changes := answer.GetChanges(); {
	case len(answer.GetFeasibleNodes().GetIndexes()) > 0:
		fmt.Fprintln(a.stdout, "# The pod has a node.")
	case len(changes) == 0:
		x.WriteChanges(a.stdout, "# ", 1, nil, nil)
	default:
		report.WriteWrapped(a.stdout, "# ", x.Change(changes[0]), a.width)
		of := remedy.WorkloadOf(entry.Origin, entry.Object())
		fix, refused := remedy.Of(changes[0], entry.Object(), of, a.snapshot.Cluster.GetNodes())
		if refused == nil {
			err = printFix(a.stdout, fix)
		} else {
			report.WriteWrapped(a.stdout, "# ", "No patch: "+refused.Error()+".", a.width)
		}
	}
	return answer, request, err
}

// printFix prints commands, and a patch for the last one. With a patch the output is YAML, and the commands are comments.
func printFix(w io.Writer, fix *remedy.Fix) error {
	comment := ""
	if fix.Patch != nil {
		comment = "# "
	}
	for _, command := range fix.Commands {
		fmt.Fprintln(w, comment+command)
	}
	_, err := w.Write(fix.Patch)
	return err
}
