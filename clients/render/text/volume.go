package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// volumes writes which claims cannot be used where, what is attached to full nodes, and the pods that use what the pod needs alone.
func (x *Explanation) volumes(w io.Writer, e *stowagev1.Explanation) {
	if all := words.ClaimConflicts(e); len(all) > 0 {
		fmt.Fprintln(w, "\nClaims that nodes cannot use:")
		rows := [][]string{{"CLAIM", "CLASS", "VOLUME", "USABLE WITH", "NODES", "WHICH"}}
		for _, c := range all {
			nodes := c.GetNodes().GetNames()
			rows = append(rows, []string{
				words.ClaimName(c), c.GetStorageClassName(), c.GetVolumeName(), x.VolumePlace(c.GetVolumeName()),
				fmt.Sprint(len(nodes)), words.Names(nodes),
			})
		}
		tableWithin(w, x.Width, rows...)
	}
	if all := e.GetAttachShortages(); len(all) > 0 {
		fmt.Fprintln(w, "\nAttached volumes:")
		rows := [][]string{{"NODE", "DRIVER", "ATTACHED", "ADDED", "LIMIT"}}
		for _, s := range all {
			rows = append(rows, []string{
				x.Node(s.GetNodeIndex()), s.GetCsiDriver(), fmt.Sprint(s.GetAttached()), fmt.Sprint(s.GetAdded()), fmt.Sprint(s.GetLimit()),
			})
		}
		tableWithin(w, x.Width, rows...)
	}
	if all := e.GetVolumeUsers(); len(all) > 0 {
		fmt.Fprintln(w, "\nPods that use its volumes:")
		rows := [][]string{{"NODE", "POD"}}
		for _, p := range all {
			rows = append(rows, []string{x.Node(p.GetNodeIndex()), x.Pod(p)})
		}
		tableWithin(w, x.Width, rows...)
	}
}
