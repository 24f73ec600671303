package cli

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/audit"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/review"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type auditCommand struct {
	question
	FailOn string `enum:"broken,warning" default:"broken" help:"Exit with 1 on these findings and worse ones: ${enum}."`
}

// Run is called by kong.
func (c *auditCommand) Run(s *session, code *answered) error {
	return c.ask(s, nil, func(a *asked) (proto.Message, error) {
		o := audit.Options{
			Profile: a.scheduler.Profile, PodsUnknown: c.reviewOptions(a).PodsUnknown,
			SchedulerName: cmp.Or(c.SchedulerName, a.scheduler.Name),
		}
		if a.snapshot.Live {
			o.QueueMode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
		}
		found, request, err := audit.Ask(s.ctx, a.services, a.snapshot, o)
		if err != nil {
			return request, err
		}
		for _, d := range found.Doubts {
			c.doubt(a.snapshot, "", d)
		}
		good := found.Summary.Broken == 0 && (c.FailOn == "broken" || found.Summary.Warnings == 0)
		*code = c.verdict(s, a.snapshot, good)
		of := result.AnswerOf{
			Kind: "AuditReport", Title: "Audit", Good: found.Summary.Broken == 0,
			Warn: found.Summary.Warnings > 0, Value: found, Cluster: a.snapshot.Cluster,
			Effect: func(e *answer.Effect) {
				for _, f := range found.Findings {
					if f.At = ""; f.Severity == review.Broken { // the object says enough
						e.Reason(f.String(), f.Nodes...)
					}
				}
			},
		}
		for _, f := range found.Findings {
			of.Names = append(of.Names, strings.ToLower(f.Object.Kind)+"/"+f.Object.Name)
		}
		slices.Sort(of.Names)
		of.Names = slices.Compact(of.Names)
		return request, c.printAnswer(s, of, func(w io.Writer, width int) { writeAudit(w, width, found) })
	})
}

// writeAudit writes what was found.
func writeAudit(w io.Writer, width int, found *audit.Result) {
	sum := found.Summary
	quote.Fprintf(w, "%d broken, %s, %s: %s, %s on them, %d pending\n", sum.Broken,
		words.Plural(sum.Warnings, "warning"), words.Plural(sum.Notes, "note"),
		words.Plural(sum.Nodes, "node"), words.Plural(sum.Pods, "pod"), sum.Pending)
	if sum.Others > 0 {
		quote.Fprintf(w, "%s of other schedulers: their rules are not judged, see --scheduler-name\n", words.Plural(sum.Others, "pod"))
	}
	text.Findings(w, found.Findings, width)
}
