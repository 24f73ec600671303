package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Place renders the response to a snapshot's PlaceRequest.
type Place struct {
	Snapshot    *kube.Snapshot
	TopologyKey string
	Width       int
	// Changes says that the response has changes that would place pods.
	Changes bool
	// Verbose names every node of a workload, and adds a table of how full the nodes are.
	Verbose bool
	Ink     Ink
	// Caveat completes a yes that is not sure.
	Caveat string
	// Rollouts are those that were decided with the pods.
	Rollouts []*whatif.Rollout

	objects objects // what the pods are counted as
}

// Explanation describes answers about pods of the queue.
func (p *Place) Explanation() *Explanation {
	return &Explanation{Explanation: &words.Explanation{Cluster: p.Snapshot.Cluster, PodName: p.podName}, Width: p.Width, Ink: p.Ink}
}

// Headline says how many pods were placed, how rollouts go, and how many pods leave.
func (p *Place) Headline(a *stowagev1.PlaceResponse) string {
	var out []string
	all := uint64(a.GetPlacedCount() + a.GetUnplacedCount() + a.GetEvictedCount())
	if all > 0 {
		text := fmt.Sprintf("%d of %s placed", a.GetPlacedCount(), words.Plural(all, "pod"))
		if n := a.GetEvictedCount(); n > 0 {
			text += fmt.Sprintf(", %d evicted again", n)
		}
		out = append(out, text)
	}
	if len(p.Rollouts) > 0 {
		out = append(out, rolloutsHeadline(p.Rollouts))
	}
	if n := len(p.Snapshot.Leavers); n > 0 {
		out = append(out, words.Plural(uint64(n), "pod")+map[bool]string{true: " leaves", false: " leave"}[n == 1])
	}
	if len(out) == 0 {
		return "no pods to place"
	}
	if a.GetUnplacedCount()+a.GetEvictedCount() == 0 && whatif.Fine(p.Rollouts) {
		out[len(out)-1] += p.Caveat
	}
	return strings.Join(out, "; ")
}

// Draw draws the cluster with the placed pods.
func (p *Place) Draw(w io.Writer, a *stowagev1.PlaceResponse) { p.Picture(a).Draw(w) }

// Picture is the cluster with the placed pods.
func (p *Place) Picture(a *stowagev1.PlaceResponse) *Picture {
	placed := map[string][]string{}
	for _, l := range p.Workloads(a, nil) {
		for _, n := range l.Nodes {
			placed[n] = append(placed[n], l.Origin.Name)
		}
	}
	turnover := p.turnover()
	turnover.addTo(placed, p.Snapshot.Cluster.GetNodes())
	out := &Picture{Cluster: p.Snapshot.Cluster, TopologyKey: p.TopologyKey, New: placed, Width: p.Width, Ink: p.Ink}
	if _, after, err := p.Fill(a); err == nil { // else the server has refused the cluster
		out.Fill = after
	}
	for _, e := range a.GetEvictions() {
		out.Gone = append(out.Gone, e.GetVictims()...)
	}
	out.Gone = append(out.Gone, turnover.gone...)
	return out
}

// Write draws the cluster with the placed pods, then lists the pods without a node and why.
func (p *Place) Write(w io.Writer, a *stowagev1.PlaceResponse) {
	p.Draw(w, a)
	fmt.Fprintln(w)
	p.Tell(w, a)
}

// Tell writes how many pods got a node, which did not, and why.
func (p *Place) Tell(w io.Writer, a *stowagev1.PlaceResponse) {
	good := a.GetUnplacedCount()+a.GetEvictedCount() == 0 && whatif.Fine(p.Rollouts)
	fmt.Fprintln(w, p.Ink.Verdict(good, filled(p.Headline(a), p.Width)))
	p.displaced(w, a)
	p.leavers(w)
	workloads := p.Workloads(a, nil)
	rows := [][]string{{"PODS", "KIND", "PLACED", "NODES"}}
	for _, l := range workloads {
		nodes := words.Names(words.WithCounts(l.Nodes))
		if p.Verbose {
			nodes = strings.Join(words.WithCounts(l.Nodes), ", ")
		}
		rows = append(rows, []string{
			l.Origin.Namespace + "/" + l.Origin.Name, l.Origin.Kind,
			fmt.Sprintf("%d/%d", len(l.Nodes), len(l.Nodes)+int(l.Unplaced+l.Evicted)), nodes,
		})
	}
	if len(workloads) > 0 {
		tableWithin(w, p.Width, rows...)
	}
	p.evictions(w, a.GetEvictions())
	p.groups(w, a.GetPodGroups())
	var unattempted uint64
	var of []string
	for _, l := range workloads {
		if l.Unattempted > 0 {
			unattempted += uint64(l.Unattempted)
			of = append(of, l.Origin.Namespace+"/"+l.Origin.Name)
		}
	}
	if unattempted > 0 {
		fmt.Fprintln(w)
		WriteWrapped(w, "", fmt.Sprintf("%s left out, as there was no time: %s", words.Plural(unattempted, "pod"), words.Names(of)), p.Width)
	}
	p.without(w, workloads)
	if p.Verbose {
		p.nodes(w, a)
	}
}

// without writes why pods have no node. A reason that several workloads share is written once.
func (p *Place) without(w io.Writer, workloads []*Workload) {
	var order []string
	names, pods := map[string][]string{}, map[string]int{} // by the text of the reason
	for _, l := range workloads {
		for _, r := range l.Reasons {
			var text strings.Builder
			WriteWrapped(&text, "  ", r.First.GetMessage(), p.Width)
			x := p.Explanation()
			x.WriteOutcome(&text, "  ", r.First.GetPreemption())
			x.WriteWhy(&text, "  ", r.First.GetExplanation())
			if p.Changes && r.Changeable {
				x.WriteChanges(&text, "  ", r.Pods, r.First.GetChanges(), r.First.GetPreemption())
			}
			key := text.String()
			if names[key] == nil {
				order = append(order, key)
			}
			names[key], pods[key] = append(names[key], l.Origin.Namespace+"/"+l.Origin.Name), pods[key]+int(r.Pods)
		}
	}
	for _, text := range order {
		fmt.Fprintln(w)
		WriteWrapped(w, "", words.WithoutNode(names[text], pods[text]), p.Width)
		fmt.Fprint(w, text)
	}
}

// displaced writes how many of the pods whose node is gone have another.
func (p *Place) displaced(w io.Writer, a *stowagev1.PlaceResponse) {
	var all, placed uint64
	for i, placement := range a.GetPlacements() {
		if entry := p.Snapshot.Entry(i); entry.Gone != "" {
			all += uint64(entry.Pods.PodCount())
			placed += uint64(len(placement.GetNodes().GetIndexes()))
		}
	}
	if all > 0 {
		quote.Fprintf(w, "of %s whose node is gone, %d placed\n", words.Plural(all, "pod"), placed)
	}
}

// leavers writes which pods leave, by workload.
func (p *Place) leavers(w io.Writer) {
	pods := map[kube.Origin][]string{}
	var of []kube.Origin
	for _, l := range p.Snapshot.Leavers {
		if pods[l.Workload] == nil {
			of = append(of, l.Workload)
		}
		pods[l.Workload] = append(pods[l.Workload], l.Pod+" from "+l.Node)
	}
	for _, o := range of {
		WriteWrapped(w, "", fmt.Sprintf("pods of %s that leave: %s", o, words.Names(pods[o])), p.Width)
	}
}

// maximumEvictions bounds the lines about evictions.
const maximumEvictions = 50

// evictions writes who evicts whom, in the order of time.
func (p *Place) evictions(w io.Writer, all []*stowagev1.Eviction) {
	lines := p.Evictions(all)
	if len(lines) > 0 {
		fmt.Fprintln(w)
	}
	for i, line := range lines {
		if i == maximumEvictions {
			quote.Fprintf(w, "and %s more\n", words.Plural(uint64(len(lines)-i), "preemption"))
			break
		}
		WriteWrapped(w, "", line, p.Width)
	}
}

// Evictions says who evicts whom, in the order of time.
func (p *Place) Evictions(all []*stowagev1.Eviction) []string {
	x := p.Explanation()
	var out []string
	for _, e := range all {
		c := &stowagev1.PreemptionCandidate{Victims: e.GetVictims(), PdbViolations: e.GetPdbViolations()}
		text := p.who(e.GetQueueIndex()) + " evicts " + x.Leaving(e.GetVictims(), words.Names) + words.Violations(c)
		if g := e.GetPodGroup(); g != "" {
			text = "pod group " + g + " evicts " + words.Names(x.Victims(e.GetVictims())) + words.Violations(c)
		}
		out = append(out, text)
	}
	return out
}

// podName names pods that the same request placed by their origin.
func (p *Place) podName(c *stowagev1.PodReference) string {
	if o, ok := c.GetOrigin().(*stowagev1.PodReference_QueueIndex); ok {
		return p.Snapshot.Queue[o.QueueIndex].Origin.Name
	}
	return words.PodName(p.Snapshot.Cluster, c)
}

// filled wraps a text as WriteWrapped does, and returns its lines.
func filled(text string, width int) string {
	var out strings.Builder
	WriteWrapped(&out, "", text, width)
	return strings.TrimSuffix(out.String(), "\n")
}

// WriteWrapped wraps a text at width runes where words allow; continuation lines are indented by two more.
func WriteWrapped(w io.Writer, indent, text string, width int) {
	line := indent
	empty := true
	for word := range strings.FieldsSeq(quote.Line(text)) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
			fmt.Fprintln(w, line)
			line, empty = indent+"  ", true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	fmt.Fprintln(w, line)
}
