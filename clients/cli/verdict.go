package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube"
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

// verdict returns the exit code of an answer. Success becomes unsure if kube-scheduler might reject a pod because of unread
// fields or of pods that are missing, unless that is allowed.
func (q *question) verdict(s *session, snapshot *kube.Snapshot, ok bool, unread []*stowagev1.UnreadField) answered {
	if !ok {
		return exitNo
	}
	var why []string
	if n := len(fieldsOf(unread)); n > 0 {
		why = append(why, fmt.Sprintf("%s not read", counted(n, "field is", "fields are")))
	}
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
	if len(why) == 0 || q.AllowUnread {
		return exitYes
	}
	fmt.Fprintf(s.stderr, "stowage: kube-scheduler might decide otherwise, as %s: exit status 3 (--allow-unread makes it 0)\n",
		strings.Join(why, " and "))
	return exitUnsure
}

// nothingAsked reports whether there was nothing to place although the manifests have workloads, which is no success.
func (q *question) nothingAsked(s *session, snapshot *kube.Snapshot) bool {
	if len(snapshot.Queue)+len(snapshot.Waiting) > 0 {
		return false
	}
	why := slices.Clone(q.workloads)
	if len(snapshot.Others) > 0 {
		why = append(why, "pods of other schedulers")
	}
	if len(why) > 0 {
		fmt.Fprintf(s.stderr, "stowage: there was nothing to place, but these have pods: %s: exit status 3\n", strings.Join(why, ", "))
	}
	return len(why) > 0
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

// fieldsOf returns the distinct fields.
func fieldsOf(unread []*stowagev1.UnreadField) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, u := range unread {
		out[[2]string{u.GetObject(), u.GetField()}] = true
	}
	return out
}

func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
