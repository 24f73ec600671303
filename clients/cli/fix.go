package cli

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/advice"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// fix prints how to make the first change that would place the pod of --pod and has a patch or commands.
func (c *explainCommand) fix(s *session, code *answered) error {
	return c.ask(s, code, func(message string, doubts []*stowagev1.Doubt) proto.Message {
		return &stowagev1.FilterResponse{Message: message, Doubts: doubts}
	}, func(a *asked, _ *stowagev1.DecisionContext, _ *stowagev1.Pod) (proto.Message, error) {
		entries, err := c.entries(a.snapshot)
		if err != nil {
			return nil, err
		}
		answer, after, request, err := c.fixed(a, entries, "")
		if err == nil {
			x := text.Explain{After: after}
			*code = c.verdict(s, a.snapshot, x.Good(answer))
		}
		return request, err
	})
}

// fixed prints how to make the first such change that would place the first of some pods. One with a feasible node needs none.
// heading may be empty; after and request are as those of waiting.
func (c *explainCommand) fixed(a *asked, of []kube.Entry, heading string) (answer *stowagev1.FilterResponse, after *words.After, request proto.Message, err error) {
	entry := of[0]
	if entry.Message != "" {
		comment(a, heading)
		comment(a, entry.Message)
		answer := &stowagev1.FilterResponse{Message: entry.Message, Doubts: kube.UnreadDoubts(entry.Pods.Pod.Unread, 0)}
		c.doubt(a.snapshot, entry.Origin.String(), answer)
		return answer, nil, nil, nil
	}
	filter := &stowagev1.FilterRequest{Context: a.about(a.snapshot.Cluster), Pod: entry.Pods.Pod, IncludeChanges: true}
	if answer, err = a.Filter(a.ctx, filter); err != nil {
		return nil, nil, filter, err
	}
	c.doubt(a.snapshot, entry.Origin.String(), answer)
	feasible := len(answer.GetFeasibleNodes().GetIndexes()) > 0
	if after, request, err = c.after(a, of, feasible); err != nil {
		return nil, nil, request, err
	}
	comment(a, heading)
	x := text.Explanation{Explanation: &words.Explanation{Cluster: a.snapshot.Cluster}, Width: a.width}
	changes := answer.GetChanges()
	if after.String() != "" {
		comment(a, after.String())
		feasible, changes = false, after.First.GetChanges()
	}
	if x.Rollout, err = c.underWay(a, entry, answer, after); err != nil {
		return nil, nil, nil, err
	}
	all, err := c.advice(a, of, answer, after)
	if err != nil {
		return nil, nil, nil, err
	}
	switch {
	case after.Later() != "":
		comment(a, after.Later())
	case x.InPlace() != "":
		comment(a, x.InPlace())
		err = printFix(a.stdout, remedy.InPlace(remedy.WorkloadOf(entry.Origin, entry.Object())))
	case feasible:
		comment(a, "A node is feasible now.")
	case len(changes)+len(all) == 0:
		x.WriteChanges(a.stdout, "# ", 1, nil, nil)
	default:
		err = firstFix(a, &x, entry, changes, all)
	}
	return answer, after, nil, err
}

// firstFix prints how to make the first change that has a patch or commands, and why those before it have none.
func firstFix(a *asked, x *text.Explanation, entry kube.Entry, changes []*stowagev1.Change, all []advice.Advice) error {
	owner := remedy.WorkloadOf(entry.Origin, entry.Object())
	for _, c := range changes {
		comment(a, x.Change(c))
		fix, refused := remedy.Of(c, entry.Object(), owner, a.snapshot.Cluster.GetNodes())
		if refused == nil {
			comment(a, fix.Note)
			return printFix(a.stdout, fix)
		}
		comment(a, "No patch: "+refused.Error()+".")
	}
	for i := range all {
		comment(a, all[i].Text)
		if all[i].Fix != nil {
			return printFix(a.stdout, all[i].Fix)
		}
		comment(a, "No patch: "+all[i].Refused.Error()+".")
	}
	return nil
}

// comment prints a text as comments, nothing if it is empty.
func comment(a *asked, line string) {
	if line != "" {
		text.WriteWrapped(a.stdout, "# ", line, a.width)
	}
}

// printFix prints commands for a shell. The last one gets the patch, as text that the shell does not read.
func printFix(w io.Writer, fix *remedy.Fix) error {
	patch := ""
	if fix.Patch != nil {
		patch = fmt.Sprintf(" <<'%s'\n%s%[1]s", endOfPatch, fix.Patch)
	}
	for i, command := range fix.Commands {
		if i == len(fix.Commands)-1 {
			command += patch
		}
		if _, err := fmt.Fprintln(w, command); err != nil {
			return err
		}
	}
	return nil
}

// endOfPatch is no line of a patch: those of its values are indented.
const endOfPatch = "EOF"
