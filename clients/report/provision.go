package report

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Provision renders the response to a snapshot's ProvisionRequest.
type Provision struct {
	Snapshot *kube.Snapshot
	Width    int
}

// Write writes the nodes to add and what is known of their cost, then where the pods go, and why some go nowhere.
func (p *Provision) Write(w io.Writer, a *stowagev1.ProvisionResponse) {
	if len(a.GetNodeNames()) == 0 {
		fmt.Fprintln(w, "No nodes to add")
	} else {
		nodes := plural(uint64(len(a.GetNodeNames())), "node")
		WriteWrapped(w, "", fmt.Sprintf("%s to add, for %d: %s", nodes, a.GetCost(), p.proof(a)), p.Width)
		rows := [][]string{{"TEMPLATE", "COUNT", "PRICE"}}
		for t, n := range a.GetCounts() {
			if n > 0 {
				of := p.Snapshot.NodeTemplates[t]
				rows = append(rows, []string{of.GetNode().GetName(), fmt.Sprint(n), fmt.Sprint(of.GetPrice())})
			}
		}
		table(w, rows...)
	}
	fmt.Fprintln(w)
	(&Place{Snapshot: p.Snapshot, Width: p.Width}).Tell(w, a.GetPlace())
	for _, u := range a.GetUnplaced() {
		origin := p.Snapshot.Entry(int(u.GetQueueIndex())).Origin
		why := "no counts were found that place all pods"
		if u.GetImpossible() {
			why = "no new node places a pod"
		}
		fmt.Fprintf(w, "\n%s/%s: %s\n", origin.Namespace, origin.Name, why)
		for _, r := range u.GetRefusals() {
			text := r.GetMessage()
			if text == "" {
				text = "takes a pod"
			}
			name := p.Snapshot.NodeTemplates[r.GetTemplateIndex()].GetNode().GetName()
			WriteWrapped(w, "  ", fmt.Sprintf("- one more %s: %s", name, text), p.Width)
		}
	}
}

// proof says what is known of the cost.
func (p *Provision) proof(a *stowagev1.ProvisionResponse) string {
	switch {
	case a.GetOptimal():
		return "nothing cheaper is as good"
	case a.GetLowerBound() > 0:
		return fmt.Sprintf("nothing below %d is as good", a.GetLowerBound())
	}
	return "something cheaper may be as good"
}
