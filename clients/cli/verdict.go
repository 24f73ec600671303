package cli

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The exit codes.
const (
	exitYes    = 0
	exitNo     = 1
	exitError  = 2
	exitUnsure = 3
)

// answered is the exit code of an answer.
type answered int

// doubt adds the doubts of responses about a snapshot to the answer. subject names the pod of a response about a single pod.
func (q *question) doubt(snapshot *kube.Snapshot, subject string, responses ...proto.Message) {
	q.doubts.Add(stowage.Doubts(responses...), func(p *stowagev1.PodReference) string {
		_, queued := p.GetOrigin().(*stowagev1.PodReference_QueueIndex)
		switch i := int(p.GetQueueIndex()); {
		case queued && subject != "":
			return subject
		case queued && i < len(snapshot.Queue)+len(snapshot.Waiting):
			return snapshot.Entry(i).Origin.String()
		case p.GetName() != "":
			return kube.Origin{Kind: "Pod", Namespace: p.GetNamespace(), Name: p.GetName()}.String()
		}
		return counted(int(p.GetCount()), "pod", "pods") + " in namespace " + p.GetNamespace()
	})
}

// beside returns what is said beside the answer, the doubts included.
func (q *question) beside() []string { return slices.Concat(q.notes, q.doubts.Lines()) }

// writeDoubts writes the doubts of the answer.
func (q *question) writeDoubts(s *session) { text.Doubts(s.stdout, &q.doubts, s.width) }

// verdict returns the exit code of an answer whose doubts are known. Success becomes unsure if there are any, or if objects or pods
// are missing, unless that is allowed.
func (q *question) verdict(s *session, snapshot *kube.Snapshot, ok bool) answered {
	if !ok {
		return exitNo
	}
	why := q.unsure(snapshot)
	q.caveat = caveat(why)
	if len(why) == 0 || q.AllowUnread {
		return exitYes
	}
	remedy := "--allow-unread"
	if len(q.deciding) > 0 {
		remedy = "--ignore KIND or --allow-unread"
	}
	quote.Fprintf(s.stderr, "stowage: kube-scheduler might decide otherwise, as %s: exit status 3 (%s makes it 0)\n",
		strings.Join(why, " and "), remedy)
	return exitUnsure
}

// caveat completes the headline of a yes that is not sure; empty if it is.
func caveat(why []string) string {
	if len(why) == 0 {
		return ""
	}
	return ", but " + strings.Join(why, " and ")
}

// unsure lists why a yes is not sure.
func (q *question) unsure(snapshot *kube.Snapshot) []string {
	why := q.doubts.Counts()
	unknown := slices.DeleteFunc(slices.Clone(snapshot.Misreads), func(m *kube.Misread) bool { return m.OwnPods })
	if n := len(unknown); n > 0 {
		why = append(why, fmt.Sprintf("%s not understood", counted(n, "object is", "objects are")))
	}
	if n := len(q.forbidden); n > 0 {
		why = append(why, fmt.Sprintf("%s of objects may not be read", counted(n, "kind", "kinds")))
	}
	if p := q.incomplete(snapshot); p != "" {
		why = append(why, "pods of "+p+" are not in the manifests")
	}
	if n := len(snapshot.Undecided); n > 0 {
		why = append(why, fmt.Sprintf("%s not decided", counted(n, "change is", "changes are")))
	}
	if len(q.deciding) > 0 {
		why = append(why, "these are not read: "+strings.Join(q.deciding, ", "))
	}
	return why
}

// incomplete names the workloads with pods that are not in the manifests; empty if there are none. A live cluster has what there is.
func (q *question) incomplete(snapshot *kube.Snapshot) string {
	switch p := snapshot.Incomplete; {
	case q.live() || len(p) == 0:
		return ""
	case len(p) == 1:
		return p[0].String()
	default:
		return fmt.Sprintf("%s and %d more", p[0], len(p)-1)
	}
}

func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
