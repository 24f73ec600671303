package whatif

import (
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// Fields are the document's fields, then the fields of the comparison.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return &a.Document, a.Comparison, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the pods without a node after the change.
func (a *Answer) Names() []string {
	var out []string
	for i := range a.Comparison.Pods {
		if p := &a.Comparison.Pods[i]; p.Node == "" && p.Effect != whatif.Leaves {
			out = append(out, p.Name)
		}
	}
	return answer.PodNames(out)
}

// Tally reports how many pods are placed before and after the change, and how many are gone with nodes.
func (a *Answer) Tally() []string {
	c := a.Comparison
	out := []string{
		fmt.Sprintf("before: %d of %s placed", c.Before.Placed, words.Plural(c.Before.Pods, "pod")),
		fmt.Sprintf("after:  %d of %s placed", c.After.Placed, words.Plural(c.After.Pods, "pod")),
	}
	if c.Tied > 0 {
		out = append(out, words.Plural(c.Tied, "pod")+" of DaemonSets and of kubelets gone with the nodes")
	}
	if c.Terminating > 0 {
		out = append(out, words.Plural(c.Terminating, "pod")+" gone that were terminating")
	}
	return out
}

// ScaleDownAdvice introduces the commands of Comparison.ScaleDowns.
const ScaleDownAdvice = "The controller decides which pods leave. To choose them so that the others stay spread:"

// effects are the titles of pods by effect, in the order of reading.
var effects = []struct {
	effect whatif.Effect
	title  string
}{
	{whatif.Loses, "Pods that had a node and lose it"},
	{whatif.Unplaced, "New pods without a node"},
	{whatif.Gains, "Pods without a node that find one now"},
	{whatif.Placed, "New pods with a node"},
	{whatif.Keeps, "Pods that have a node again"},
	{whatif.Leaves, "Pods that are taken away"},
	{whatif.Waits, "Pods without a node before and after"},
}

// List is lines about pods.
type List struct {
	Title string
	Lines []string
}

// Lists are the pods by effect, a line for each workload and reason. No list is empty.
func (a *Answer) Lists() []List {
	var out []List
	for _, e := range effects {
		if lines := linesOf(a.Comparison.Pods, e.effect); len(lines) > 0 {
			out = append(out, List{e.title, lines})
		}
	}
	return out
}

// line is equal pods of a workload.
type line struct {
	name, reason string
	count        int
	from, to     []string
}

// linesOf describes the pods with one effect. Pending pods that go to the same node as before are left out.
func linesOf(pods []whatif.Change, effect whatif.Effect) []string {
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
	var out []string
	for _, l := range lines {
		out = append(out, l.text())
	}
	return out
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
