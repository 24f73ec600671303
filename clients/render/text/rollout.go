package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// maximumSteps bounds the lines about the steps of a rollout.
const maximumSteps = 20

// Rollouts writes how rollouts go: whether each completes, its steps, and why it is stuck.
func Rollouts(w io.Writer, all []*whatif.Rollout, width int) {
	for _, r := range all {
		writeRollout(w, r, width)
	}
}

func writeRollout(w io.Writer, r *whatif.Rollout, width int) {
	fmt.Fprintln(w)
	text := fmt.Sprintf("rollout of %s %s/%s, %s", r.Kind, r.Namespace, r.Name, r.Strategy)
	switch {
	case r.Kind == "StatefulSet" && r.Partition > 0:
		text += fmt.Sprintf(" with partition %d and maxUnavailable %d", r.Partition, r.MaxUnavailable)
	case r.Kind == "StatefulSet":
		text += fmt.Sprintf(" with maxUnavailable %d", r.MaxUnavailable)
	case r.Strategy == "RollingUpdate":
		text += fmt.Sprintf(" with maxSurge %d and maxUnavailable %d", r.MaxSurge, r.MaxUnavailable)
	}
	text += fmt.Sprintf(": %d of %s replaced", r.Placed, words.Plural(uint64(r.Replicas-r.Partition), "pod"))
	if !r.Complete {
		text += fmt.Sprintf(", and it does not go on; %s left", words.Plural(uint64(max(0, r.Old-r.Partition)), "old pod"))
	}
	WriteWrapped(w, "", text, width)
	rows := [][]string{{"STEP", "CREATED", "PLACED ON", "WAITING", "OLD PODS THAT LEAVE"}}
	for i := range r.Steps {
		if i == maximumSteps {
			break
		}
		s := &r.Steps[i]
		created := fmt.Sprint(s.Created)
		if s.OldRevision && s.Created > 0 {
			created += " of the old revision"
		}
		var left []string
		for _, l := range s.Left {
			name := l.Name
			if l.Node != "" {
				name += " on " + l.Node
			}
			left = append(left, name)
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), created, words.Names(words.WithCounts(s.Placed)), fmt.Sprint(s.Waiting), words.Names(left)})
	}
	if len(rows) > 1 {
		table(w, rows...)
	}
	if more := len(r.Steps) - maximumSteps; more > 0 {
		quote.Fprintf(w, "and %s more\n", words.Plural(uint64(more), "step"))
	}
	if r.Stuck != nil {
		writeStuck(w, r.Stuck, width)
	}
	writeBroken(w, r, width)
}

// writeBroken writes the new pods whose rules do not hold once the old pods are gone.
func writeBroken(w io.Writer, r *whatif.Rollout, width int) {
	if len(r.Broken) == 0 {
		return
	}
	for i, b := range r.Broken {
		if i == maximumSteps {
			quote.Fprintf(w, "  and on %s more\n", words.Plural(uint64(len(r.Broken)-i), "node"))
			break
		}
		WriteWrapped(w, "  ", fmt.Sprintf("without the old pods, %s would reject %s that it has: %s", b.Node,
			words.Plural(uint64(b.Pods), "new pod"), b.Message), width)
	}
	WriteWrapped(w, "  ", "the old pods count for the rules of the new ones, and leave", width)
	if r.MatchLabelKey != "" {
		WriteWrapped(w, "  ", fmt.Sprintf("with matchLabelKeys: [%s] in the spread constraints, the rules hold in the end", r.MatchLabelKey), width)
	}
}

func writeStuck(w io.Writer, s *whatif.Stuck, width int) {
	if s.Message != "" {
		WriteWrapped(w, "  ", "the next pod has no node: "+s.Message, width)
	}
	if s.WaitsFor != "" {
		WriteWrapped(w, "  ", "it waits for "+s.WaitsFor+", which is not ready", width)
	}
	if s.OwnPods {
		WriteWrapped(w, "  ", "the old pods stand in its way: once they were gone it would have a node, "+
			"but they stay until it has one", width)
	}
	if s.InPlace {
		WriteWrapped(w, "  ", "with maxSurge 0 and maxUnavailable 1 all pods would be replaced", width)
	}
	if len(s.Victims) > 0 {
		WriteWrapped(w, "  ", "kube-scheduler would evict "+words.Names(s.Victims)+" for it; what follows is not decided", width)
	}
}
