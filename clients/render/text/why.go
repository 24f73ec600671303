package text

import (
	"io"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// WriteWhy writes Why in lines of at most Width, nothing if it is empty.
func (x *Explanation) WriteWhy(w io.Writer, indent string, e *stowagev1.Explanation) {
	if why := x.Why(e); why != "" {
		WriteWrapped(w, indent, "why: "+why, x.Width)
	}
}
