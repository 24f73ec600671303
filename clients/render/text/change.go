package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// WriteChanges writes the changes that would make the first of some pods schedulable, without the changes that preemption makes anyway. With
// Whole and Rollout it says what they do for all of them.
func (x *Explanation) WriteChanges(w io.Writer, indent string, pods uint32, changes []*stowagev1.Change, p *stowagev1.Preemption) {
	other, without := "", ""
	if p.GetNominated() != nil {
		other, without = "other ", " without preemption"
	}
	remedies := x.Remedies(words.Beyond(changes, p))
	if len(remedies) == 0 {
		WriteWrapped(w, indent, "No "+other+"change was found that would place "+words.OneOf(pods)+", alone or with another one.", x.Width)
		return
	}
	fmt.Fprintln(w, indent+"Any one of these would place "+words.OneOf(pods)+without+":")
	for _, remedy := range remedies {
		WriteWrapped(w, indent+"  ", "- "+remedy, x.Width)
	}
}
