package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// WhatIf renders what a change leads to.
type WhatIf struct{ Width int }

// effects are the headings of pods by what becomes of them, in the order of writing.
var effects = []struct {
	effect  whatif.Effect
	heading string
}{
	{whatif.Loses, "Pods that had a node and lose it:"},
	{whatif.Unplaced, "New pods without a node:"},
	{whatif.Gains, "Pods without a node that find one now:"},
	{whatif.Placed, "New pods with a node:"},
	{whatif.Keeps, "Pods that have a node again:"},
	{whatif.Leaves, "Pods that are taken away:"},
	{whatif.Waits, "Pods without a node before and after:"},
}

// WhatIfVerdict is the answer in a sentence.
func WhatIfVerdict(c *whatif.Comparison) string {
	return fmt.Sprintf("%d of %s placed after the change, %d of %d before", c.After.Placed, words.Plural(uint64(c.After.Pods), "pod"),
		c.Before.Placed, c.Before.Pods)
}

// Write writes the changes, how many pods are placed before and after, and the pods by what becomes of them.
func (x *WhatIf) Write(w io.Writer, c *whatif.Comparison) {
	for _, change := range c.Changes {
		WriteWrapped(w, "", change, x.Width)
	}
	quote.Fprintf(w, "\nbefore: %d of %s placed\n", c.Before.Placed, words.Plural(uint64(c.Before.Pods), "pod"))
	quote.Fprintf(w, "after:  %d of %s placed\n", c.After.Placed, words.Plural(uint64(c.After.Pods), "pod"))
	if c.Tied > 0 {
		quote.Fprintf(w, "%s of DaemonSets and of kubelets gone with the nodes\n", words.Plural(uint64(c.Tied), "pod"))
	}
	if c.Terminating > 0 {
		quote.Fprintf(w, "%s gone that were terminating\n", words.Plural(uint64(c.Terminating), "pod"))
	}
	for _, e := range effects {
		x.list(w, e.heading, c.Pods, e.effect)
	}
	if len(c.ScaleDowns) > 0 {
		fmt.Fprintln(w)
		WriteWrapped(w, "", "The controller decides which pods leave. To choose them so that the others stay spread:", x.Width)
		for _, command := range c.ScaleDowns {
			fmt.Fprintln(w, "  "+command)
		}
	}
}

// line is equal pods of a workload.
type line struct {
	name, reason string
	count        int
	from, to     []string
}

// list writes the pods of one effect, by workload and reason. Pending pods that go to the same node as before are left out.
func (x *WhatIf) list(w io.Writer, heading string, pods []whatif.Change, effect whatif.Effect) {
	var lines []*line
	known := map[[3]string]*line{}
	for i := range pods {
		p := &pods[i]
		if p.Effect != effect || effect == whatif.Keeps && p.From == p.Node && p.Cause != whatif.Evicted {
			continue
		}
		key := [3]string{p.Workload.Kind, p.Workload.Namespace + "/" + p.Workload.Name, p.Reason}
		l := known[key]
		if l == nil {
			l = &line{name: key[1], reason: p.Reason}
			known[key] = l
			lines = append(lines, l)
		}
		l.count++
		if p.From != "" {
			l.from = append(l.from, p.From)
		}
		if p.Node != "" {
			l.to = append(l.to, p.Node)
		}
	}
	if len(lines) == 0 {
		return
	}
	quote.Fprintf(w, "\n%s\n", heading)
	for _, l := range lines {
		WriteWrapped(w, "  ", "- "+l.text(), x.Width)
	}
}

func (l *line) text() string {
	out := []string{l.name}
	if l.count > 1 {
		out[0] += fmt.Sprintf(" ×%d", l.count)
	}
	if len(l.from) > 0 {
		out = append(out, "from "+words.Names(words.WithCounts(l.from)))
	}
	if len(l.to) > 0 {
		to := "on "
		if len(l.from) > 0 {
			to = "to "
		}
		out = append(out, to+words.Names(words.WithCounts(l.to)))
	}
	text := strings.Join(out, " ")
	if l.reason != "" {
		text += ": " + l.reason
	}
	return text
}
