package report

import (
	"fmt"
	"io"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Unread writes the unread fields of pods, each object and field once, grouped by their effect in kube-scheduler.
func Unread(w io.Writer, fields []*stowagev1.UnreadField, width int) {
	if len(fields) == 0 {
		return
	}
	var consequences []string
	where := map[string][]string{}
	seen := map[string]bool{}
	for _, u := range fields {
		field := u.GetObject() + " " + u.GetField()
		if seen[field] {
			continue
		}
		seen[field] = true
		if where[u.GetConsequence()] == nil {
			consequences = append(consequences, u.GetConsequence())
		}
		where[u.GetConsequence()] = append(where[u.GetConsequence()], field)
	}
	fmt.Fprintln(w, "\nNot read, so kube-scheduler might decide otherwise:")
	for _, consequence := range consequences {
		WriteWrapped(w, "  ", Names(where[consequence])+": "+consequence, width)
	}
}
