package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Fit renders how many more pods fit.
type Fit struct {
	Cluster *stowagev1.Cluster
	// Names and Counts are what is counted, and the number of its pods in a unit, by entry of the mix.
	Names       []string
	Counts      []uint32
	TopologyKey string // empty for none
	Changes     bool   // whether the answer has them
	Width       int
}

// Write writes the number of units, those by domain, what binds at the end, and what would raise the number.
func (f *Fit) Write(w io.Writer, a *stowagev1.FitResponse) {
	WriteWrapped(w, "", f.headline(a), f.Width)
	f.domains(w, a)
	if a.GetLimited() {
		return
	}
	fmt.Fprintln(w)
	WriteWrapped(w, "", fmt.Sprintf("The next pod of %s has no node: %s", f.Names[a.GetBindingMixIndex()], a.GetMessage()), f.Width)
	if len(a.GetRejections()) > 0 {
		rows := [][]string{{"NODES", "VERDICT", "PLUGIN", "WHICH"}}
		for _, r := range a.GetRejections() {
			rows = append(rows, rejection(r)...)
		}
		fmt.Fprintln(w)
		table(w, rows...)
	}
	if !f.Changes {
		return
	}
	fmt.Fprintln(w)
	if len(a.GetChanges()) == 0 {
		fmt.Fprintln(w, "No single change was found with which more fit.")
		return
	}
	fmt.Fprintln(w, "With any one of these more fit:")
	x := &Explanation{Explanation: &words.Explanation{Cluster: f.Cluster, Counting: true}, Width: f.Width}
	for _, c := range a.GetChanges() {
		WriteWrapped(w, "  ", fmt.Sprintf("- %d: %s", c.GetUnits(), x.Change(c.GetChange())), f.Width)
	}
}

// headline says how many units fit.
func (f *Fit) headline(a *stowagev1.FitResponse) string {
	atLeast, pods, nodes := "", uint64(0), map[uint32]bool{}
	if a.GetLimited() {
		atLeast = "At least "
	}
	for _, p := range a.GetPods() {
		for i, n := range p.GetNodes().GetIndexes() {
			pods += uint64(p.GetCounts()[i])
			nodes[n] = true
		}
	}
	on := ""
	if len(nodes) > 0 {
		on = ", on " + words.Plural(uint64(len(nodes)), "node")
	}
	if len(f.Names) == 1 && f.Counts[0] == 1 {
		return fmt.Sprintf("%s%d more of %s fit%s", atLeast, a.GetUnits(), f.Names[0], on)
	}
	var unit []string
	for i, name := range f.Names {
		unit = append(unit, fmt.Sprintf("%d of %s", f.Counts[i], name))
	}
	return fmt.Sprintf("%s%d times %s fit: %s%s", atLeast, a.GetUnits(), strings.Join(unit, " and "), words.Plural(pods, "pod"), on)
}

// domains writes the pods by domain, and the units that fit in each alone.
func (f *Fit) domains(w io.Writer, a *stowagev1.FitResponse) {
	if f.TopologyKey == "" {
		return
	}
	fmt.Fprintln(w)
	if len(a.GetDomains()) == 0 {
		quote.Fprintf(w, "No node has the label %s\n", f.TopologyKey)
		return
	}
	header := []string{strings.ToUpper(f.TopologyKey)}
	for _, name := range f.Names {
		if len(f.Names) == 1 {
			name = "PODS"
		}
		header = append(header, name)
	}
	rows := [][]string{append(header, "ALONE")}
	for _, d := range a.GetDomains() {
		row := []string{d.GetValue()}
		for _, n := range d.GetPlacedCounts() {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, append(row, fmt.Sprint(d.GetUnitsAlone())))
	}
	table(w, rows...)
}
