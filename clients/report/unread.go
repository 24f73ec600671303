package report

import (
	"fmt"
	"io"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumUnread is how many unread fields are listed.
const maximumUnread = 20

// Unread writes what of the pods asked about is not read, each object and field once; nothing if there is none.
func Unread(w io.Writer, fields []*stowagev1.UnreadField, width int) {
	type field struct{ object, path string }
	seen := map[field]bool{}
	for _, u := range fields {
		key := field{u.GetObject(), u.GetField()}
		if seen[key] {
			continue
		}
		seen[key] = true
		if len(seen) == 1 {
			fmt.Fprintln(w, "\nNot read, so kube-scheduler might decide otherwise:")
		}
		if len(seen) > maximumUnread {
			continue
		}
		WriteWrapped(w, "  ", fmt.Sprintf("%s %s: %s", u.GetObject(), u.GetField(), u.GetConsequence()), width)
	}
	if more := len(seen) - maximumUnread; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
}
