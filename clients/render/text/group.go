package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// PlaceGroups is a table of the pod groups of an answer, then why groups are not placed; empty if there are none.
func PlaceGroups(a *place.Answer, s Style) string {
	var out strings.Builder
	(&placement{a, s}).groups(&out, a.Response.GetPodGroups())
	return strings.TrimSpace(out.String())
}

// groups writes a table of the groups, then the reasons of groups that are not placed.
func (p *placement) groups(w io.Writer, groups []*stowagev1.PodGroupPlacement) {
	needs := make(map[string]uint32)
	for _, g := range slices.Concat(p.Snapshot.Cluster.GetPodGroups(), p.Snapshot.PodGroups) {
		needs[g.GetName()] = g.GetMinCount()
	}
	groups = slices.DeleteFunc(slices.Clone(groups), words.OnlyRuns)
	if len(groups) == 0 {
		return
	}
	joint := false
	for _, g := range groups {
		joint = joint || g.GetSteps() > 0
	}
	heading := []string{"POD GROUP", "STATUS", "PLACED", "NEEDED", "WHERE"}
	if joint {
		heading = []string{"POD GROUP", "STATUS", "PLACED", "NEEDED", "SCORES", "STEPS", "WHERE"}
	}
	rows := [][]string{heading}
	for _, g := range groups {
		all := g.GetPlacedCount() + g.GetUnplacedCount()
		needed := cmp.Or(needs[g.GetName()], all)
		row := []string{g.GetName(), words.GroupStatus(g.GetStatus()), fmt.Sprintf("%d/%d", g.GetPlacedCount(), all), fmt.Sprint(needed)}
		if joint {
			scores, steps := "", ""
			if g.GetSteps() > 0 {
				steps = fmt.Sprint(g.GetSteps())
			}
			if g.GetSteps() > 0 && g.GetPlacedCount() > 0 {
				if !g.GetLocallyOptimal() {
					scores = "≥"
				}
				scores += fmt.Sprint(g.GetScoreSum())
			}
			row = append(row, scores, steps)
		}
		rows = append(rows, append(row, words.Domains(g.GetDomains())))
	}
	fmt.Fprintln(w)
	table(w, rows...)
	for _, g := range groups {
		p.group(w, g)
	}
}

// group writes why the pods of a group have no nodes.
func (p *placement) group(w io.Writer, g *stowagev1.PodGroupPlacement) {
	what := words.Plural(uint64(g.GetUnplacedCount()), "pod") + " without a node"
	switch {
	case g.GetStatus() == stowagev1.PodGroupStatus_POD_GROUP_STATUS_EVICTED:
		what = "pods were evicted"
	case g.GetUnplacedCount() == 0, g.GetStatus() == stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNATTEMPTED:
		return
	}
	quote.Fprintf(w, "\npod group %s: %s\n", g.GetName(), what)
	if g.GetMessage() != "" {
		WriteWrapped(w, "  ", g.GetMessage(), p.Width)
	}
	p.groupPreemption(w, g.GetPreemption())
	if g.FirstUnplacedQueueIndex != nil {
		WriteWrapped(w, "  ", "the first that found no node, beside the others of its group: a pod of "+p.Who(g.GetFirstUnplacedQueueIndex()), p.Width)
	}
	rules := g.GetConflict()
	if len(rules) == 0 {
		return
	}
	text := "the rule that stands against it:"
	switch {
	case len(rules) > 1 && g.GetConflictMinimal():
		text = "the rules that cannot hold together, though without any one of them the others can:"
	case len(rules) > 1:
		text = "rules that cannot hold together:"
	}
	WriteWrapped(w, "  ", text, p.Width)
	for _, r := range rules {
		WriteWrapped(w, "  - ", words.PodRule(p.Who(r.GetQueueIndex()), p.Spec(r.GetQueueIndex()), r), p.Width)
	}
}

// groupPreemption writes which pods kube-scheduler would evict for a group.
func (p *placement) groupPreemption(w io.Writer, found *stowagev1.PodGroupPreemption) {
	x := p.Words()
	var victims []string
	for _, v := range found.GetVictims() {
		victims = append(victims, x.Pod(v)+" on "+x.Node(v.GetNodeIndex()))
	}
	var text string
	switch {
	case len(victims) > 0:
		text = "kube-scheduler would evict " + words.Names(victims)
		if n := found.GetPdbViolations(); n > 0 {
			text += fmt.Sprintf(", %d of them against a PodDisruptionBudget", n)
		}
	case found.GetOngoing():
		text = "kube-scheduler waits for pods to be gone that it has preempted"
	case found.GetUndecided():
		text = "whom kube-scheduler would evict is not known: the pods' rules count pods in too many domains"
	case len(found.GetNominations()) > 0:
		text = "kube-scheduler would evict no pod, and nominate the pods to nodes"
	default:
		return
	}
	WriteWrapped(w, "  ", text, p.Width)
}

// PlacePart writes the lines of a part of the response. Each begins with the number of pods that are decided, of all.
func PlacePart(w io.Writer, of *place.Answer, part *stowagev1.PlaceStreamResponse) {
	all := fmt.Sprint(part.GetTotalCount())
	done := fmt.Sprintf("%*d/%s", len(all), part.GetPlacedCount()+part.GetUnplacedCount(), all)
	a := &stowagev1.PlaceResponse{}
	var index []int
	for _, q := range part.GetPlacements() {
		a.Placements, index = append(a.Placements, q.GetPlacement()), append(index, int(q.GetQueueIndex()))
	}
	for _, l := range of.Grouped(a, index) {
		var what []string
		if len(l.Nodes) > 0 {
			what = append(what, words.Names(words.WithCounts(l.Nodes)))
		}
		if l.Unplaced > 0 {
			what = append(what, words.Plural(uint64(l.Unplaced), "pod")+" without a node")
		}
		if l.Evicted > 0 {
			what = append(what, words.Plural(uint64(l.Evicted), "pod")+" evicted again")
		}
		quote.Fprintf(w, "%s  %s/%s: %s\n", done, l.Origin.Namespace, l.Origin.Name, strings.Join(what, "; "))
	}
	for _, g := range part.GetPodGroups() {
		if words.OnlyRuns(g) {
			continue
		}
		line := fmt.Sprintf("%s  pod group %s: %s, %d of %s placed", done, g.GetName(), words.GroupStatus(g.GetStatus()),
			g.GetPlacedCount(), words.Plural(uint64(g.GetPlacedCount()+g.GetUnplacedCount()), "pod"))
		if where := words.Domains(g.GetDomains()); where != "" {
			line += " in " + where
		}
		fmt.Fprintln(w, quote.Line(line))
	}
}
