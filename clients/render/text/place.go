package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// placement lays out the answer where pods go.
type placement struct {
	*place.Answer
	Style
}

// Place draws the cluster with the placed pods, then lists the pods without a node and why.
func Place(w io.Writer, a *place.Answer, s Style) {
	DrawPlace(w, a, s)
	fmt.Fprintln(w)
	TellPlace(w, a, s)
}

// DrawPlace draws the cluster with the placed pods.
func DrawPlace(w io.Writer, a *place.Answer, s Style) { PlacePicture(a, s).Draw(w) }

// PlacePicture is the cluster with the placed pods.
func PlacePicture(a *place.Answer, s Style) *Picture {
	out := &Picture{Cluster: a.Snapshot.Cluster, TopologyKey: a.TopologyKey, Width: s.Width, Ink: s.Ink}
	out.New, out.Gone = a.Moved()
	if _, after, err := a.Fill(); err == nil { // else the server has refused the cluster
		out.Fill = after
	}
	return out
}

// TellPlace writes how many pods have a node, which have none, and why.
func TellPlace(w io.Writer, answer *place.Answer, s Style) {
	p, a := &placement{answer, s}, answer.Response
	good := a.GetUnplacedCount()+a.GetEvictedCount() == 0 && whatif.Fine(p.Rollouts)
	fmt.Fprintln(w, p.Ink.Verdict(good, filled(answer.Verdict, p.Width)))
	p.displaced(w, a)
	p.leavers(w)
	workloads := p.Grouped(a, nil)
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
	p.devices(w)
	p.evictions(w)
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
		p.nodes(w)
	}
	Rollouts(w, p.Rollouts, p.Width)
	Doubts(w, &p.Doubts, p.Width)
}

// without writes why pods have no node. A reason that several workloads share is written once.
func (p *placement) without(w io.Writer, workloads []*place.Group) {
	var order []string
	names, pods := map[string][]string{}, map[string]int{} // by the text of the reason
	for _, l := range workloads {
		for _, r := range l.Reasons {
			var text strings.Builder
			WriteWrapped(&text, "  ", r.First.GetMessage(), p.Width)
			x := p.explanation(p.Words())
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
func (p *placement) displaced(w io.Writer, a *stowagev1.PlaceResponse) {
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
func (p *placement) leavers(w io.Writer) {
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

// maximumClaims bounds the claims whose devices are listed without Verbose.
const maximumClaims = 20

// devices writes which devices claims got.
func (p *placement) devices(w io.Writer) {
	all := p.Devices()
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"DEVICES OF", "NODE", "CLAIM", "DRIVER/POOL/DEVICE"}}
	shown := all
	if !p.Verbose {
		shown = all[:min(len(all), maximumClaims)]
	}
	fmt.Fprintln(w)
	tableWithin(w, p.Width, append(rows, shown...)...)
	if left := len(all) - len(shown); left > 0 {
		quote.Fprintf(w, "and %s more, which -v lists\n", words.Plural(left, "claim"))
	}
}

// maximumEvictions bounds the lines about evictions.
const maximumEvictions = 50

// evictions writes who evicts whom, in the order of time.
func (p *placement) evictions(w io.Writer) {
	lines := p.Evictions()
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
