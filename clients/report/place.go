package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Place renders the response to a snapshot's PlaceRequest.
type Place struct {
	Snapshot    *kube.Snapshot
	TopologyKey string
	Width       int
	// Changes says that the response has changes that would place pods.
	Changes bool
}

// workload is the result for the pods of one object.
type workload struct {
	origin   kube.Origin
	nodes    []string
	unplaced uint32
	evicted  uint32
	// unattempted is the number of unplaced pods that a deadline left.
	unattempted uint32
	// first is the placement of its first pod without a node.
	first *stowagev1.Placement
	// changeable: first was evaluated, so there may be changes that would place it.
	changeable bool
}

// Draw draws the cluster with the placed pods.
func (p *Place) Draw(w io.Writer, a *stowagev1.PlaceResponse) {
	placed := map[string][]string{}
	for _, l := range p.workloads(a, nil) {
		for _, n := range l.nodes {
			placed[n] = append(placed[n], l.origin.Name)
		}
	}
	picture := Picture{Cluster: p.Snapshot.Cluster, TopologyKey: p.TopologyKey, New: placed, Width: p.Width}
	for _, e := range a.GetEvictions() {
		picture.Gone = append(picture.Gone, e.GetVictims()...)
	}
	picture.Draw(w)
}

// Write draws the cluster with the placed pods, then lists the pods without a node and why.
func (p *Place) Write(w io.Writer, a *stowagev1.PlaceResponse) {
	p.Draw(w, a)
	fmt.Fprintln(w)
	p.Tell(w, a)
}

// Tell writes how many pods got a node, which did not, and why.
func (p *Place) Tell(w io.Writer, a *stowagev1.PlaceResponse) {
	all := uint64(a.GetPlacedCount() + a.GetUnplacedCount() + a.GetEvictedCount())
	fmt.Fprintf(w, "%d of %s placed", a.GetPlacedCount(), plural(all, "pod"))
	if n := a.GetEvictedCount(); n > 0 {
		fmt.Fprintf(w, ", %d evicted again", n)
	}
	fmt.Fprintln(w)
	p.displaced(w, a)
	workloads := p.workloads(a, nil)
	rows := [][]string{{"PODS", "KIND", "PLACED", "NODES"}}
	for _, l := range workloads {
		rows = append(rows, []string{
			l.origin.Namespace + "/" + l.origin.Name, l.origin.Kind,
			fmt.Sprintf("%d/%d", len(l.nodes), len(l.nodes)+int(l.unplaced+l.evicted)), Names(withCounts(l.nodes)),
		})
	}
	if len(workloads) > 0 {
		table(w, rows...)
	}
	p.evictions(w, a.GetEvictions())
	p.groups(w, a.GetPodGroups())
	var unattempted uint64
	var of []string
	for _, l := range workloads {
		if l.unattempted > 0 {
			unattempted += uint64(l.unattempted)
			of = append(of, l.origin.Namespace+"/"+l.origin.Name)
		}
	}
	if unattempted > 0 {
		fmt.Fprintln(w)
		WriteWrapped(w, "", fmt.Sprintf("%s left out, as there was no time: %s", plural(unattempted, "pod"), Names(of)), p.Width)
	}
	for _, l := range workloads {
		if l.first == nil {
			continue
		}
		fmt.Fprintf(w, "\n%s/%s: %s without a node\n", l.origin.Namespace, l.origin.Name, plural(uint64(l.unplaced-l.unattempted), "pod"))
		WriteWrapped(w, "  ", l.first.GetMessage(), p.Width)
		x := Explanation{Cluster: p.Snapshot.Cluster, PodName: p.podName, Width: p.Width}
		x.WriteOutcome(w, "  ", l.first.GetPreemption())
		x.WriteWhy(w, "  ", l.first.GetExplanation())
		if p.Changes && l.changeable {
			x.WriteChanges(w, "  ", l.first.GetChanges(), l.first.GetPreemption())
		}
	}
	var unread []*stowagev1.UnreadField
	for _, placement := range a.GetPlacements() {
		unread = append(unread, placement.GetUnread()...)
	}
	Unread(w, unread, p.Width)
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
		fmt.Fprintf(w, "of %s whose node is gone, %d placed\n", plural(all, "pod"), placed)
	}
}

// maximumEvictions bounds the lines about evictions.
const maximumEvictions = 50

// evictions writes who evicts whom, in the order of time.
func (p *Place) evictions(w io.Writer, all []*stowagev1.Eviction) {
	if len(all) > 0 {
		fmt.Fprintln(w)
	}
	x := Explanation{Cluster: p.Snapshot.Cluster, PodName: p.podName, Width: p.Width}
	for i, e := range all {
		if i == maximumEvictions {
			fmt.Fprintf(w, "and %s more\n", plural(uint64(len(all)-i), "preemption"))
			break
		}
		c := &stowagev1.PreemptionCandidate{Victims: e.GetVictims(), PdbViolations: e.GetPdbViolations()}
		text := p.who(e.GetQueueIndex()) + " evicts " + Names(x.victims(c)) + " from " + x.node(e.GetNodeIndex()) + violations(c)
		if g := e.GetPodGroup(); g != "" {
			text = "pod group " + g + " evicts " + Names(x.victims(c)) + violations(c)
		}
		WriteWrapped(w, "", text, p.Width)
	}
}

// podName names pods that the same request placed by their origin.
func (p *Place) podName(c *stowagev1.PodReference) string {
	if o, ok := c.GetOrigin().(*stowagev1.PodReference_QueueIndex); ok {
		return p.Snapshot.Queue[o.QueueIndex].Origin.Name
	}
	return podName(p.Snapshot.Cluster, c)
}

// workloads groups the entries by object. queue has the queue index of each placement, nil if they are in order.
func (p *Place) workloads(a *stowagev1.PlaceResponse, queue []int) []*workload {
	var out []*workload
	index := map[kube.Origin]*workload{}
	for i, placement := range a.GetPlacements() {
		if queue != nil {
			i = queue[i]
		}
		entry := p.Snapshot.Entry(i)
		origin := entry.Origin
		l, ok := index[origin]
		if !ok {
			l = &workload{origin: origin}
			index[origin] = l
			out = append(out, l)
		}
		l.nodes = append(l.nodes, placement.GetNodes().GetNames()...)
		l.unplaced += placement.GetUnplacedCount()
		l.evicted += placement.GetEvictedCount()
		l.unattempted += placement.GetUnattemptedCount()
		// If a pod was not placed because of its group, the group's lines say why.
		told := entry.Message != "" || entry.Pods.GetPodGroup() == "" || len(placement.GetRejections()) > 0
		if placement.GetUnplacedCount() > placement.GetUnattemptedCount() && l.first == nil && told {
			l.first, l.changeable = placement, entry.Message == ""
		}
	}
	return out
}

// withCounts returns each name once, with its count.
func withCounts(all []string) []string {
	counts := map[string]int{}
	var order []string
	for _, name := range all {
		if counts[name]++; counts[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		if counts[name] > 1 {
			order[i] = fmt.Sprintf("%s ×%d", name, counts[name])
		}
	}
	return order
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteWrapped wraps a text at width runes where words allow; continuation lines are indented by two more.
func WriteWrapped(w io.Writer, indent, text string, width int) {
	line := indent
	empty := true
	for word := range strings.FieldsSeq(text) {
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
