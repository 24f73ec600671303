package cli

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/remedy"
	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// fix prints how to make the first change that would place the pod. A pod with a feasible node needs none.
func (c *explainCommand) fix(s *session, code *answered) error {
	return c.ask(s, code, func(message string, unread []*stowagev1.UnreadField) proto.Message {
		return &stowagev1.FilterResponse{Message: message, Unread: unread}
	}, func(a *asked, about *stowagev1.DecisionContext, pod *stowagev1.Pod) (proto.Message, error) {
		request := &stowagev1.FilterRequest{Context: about, Pod: pod, IncludeChanges: true}
		answer, err := a.Filter(s.ctx, request)
		if err != nil {
			return request, err
		}
		*code = c.verdict(s, a.snapshot, len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
		entry, _, err := c.entry(a.snapshot)
		if err != nil {
			return request, err
		}
		x := report.Explanation{Cluster: a.snapshot.Cluster, Width: s.width}
		switch changes := answer.GetChanges(); {
		case len(answer.GetFeasibleNodes().GetIndexes()) > 0:
			fmt.Fprintln(s.stdout, "# The pod has a node.")
		case len(changes) == 0:
			x.WriteChanges(s.stdout, "# ", 1, nil, nil)
		default:
			report.WriteWrapped(s.stdout, "# ", x.Change(changes[0]), s.width)
			of := remedy.WorkloadOf(entry.Origin, entry.Object())
			fix, refused := remedy.Of(changes[0], entry.Object(), of, a.snapshot.Cluster.GetNodes())
			if refused == nil {
				err = printFix(s.stdout, fix)
			} else {
				report.WriteWrapped(s.stdout, "# ", "No patch: "+refused.Error()+".", s.width)
			}
		}
		return request, err
	})
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
