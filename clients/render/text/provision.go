package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Provision renders the response to a snapshot's ProvisionRequest.
type Provision struct {
	Snapshot *kube.Snapshot
	// TemplateDomains says that topology spread counted the domains of templates without nodes.
	TemplateDomains bool
	Width           int
}

// Write writes the nodes to add and what is known of their cost, then where the pods go, and why some go nowhere.
func (p *Provision) Write(w io.Writer, a *stowagev1.ProvisionResponse) {
	if len(a.GetNodeNames()) == 0 {
		fmt.Fprintln(w, "No nodes to add")
	} else {
		nodes := words.Plural(uint64(len(a.GetNodeNames())), "node")
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
	if !p.TemplateDomains {
		p.uncounted(w, a)
	}
	fmt.Fprintln(w)
	TellPlace(w, place.New(p.Snapshot, "", a.GetPlace()), Style{Width: p.Width})
	for _, u := range p.unplaced(a) {
		text := fmt.Sprintf("%s/%s: %s without a node: %s", u.of.Namespace, u.of.Name, words.Plural(uint64(u.pods), "pod"), u.why)
		fmt.Fprintln(w)
		WriteWrapped(w, "", text, p.Width)
		for _, line := range u.templates {
			WriteWrapped(w, "  ", "- "+line, p.Width)
		}
	}
}

// unprovisioned is pods of a workload without a node, for the same reasons.
type unprovisioned struct {
	of        kube.Origin
	pods      uint32
	why       string
	templates []string
}

func (p *Provision) unplaced(a *stowagev1.ProvisionResponse) (out []*unprovisioned) {
	byReason := map[string]*unprovisioned{}
	for _, u := range a.GetUnplaced() {
		next := &unprovisioned{of: p.Snapshot.Entry(int(u.GetQueueIndex())).Workload, why: "no counts were found that place all pods"}
		if u.GetImpossible() {
			next.why = "no new node places a pod"
		}
		for _, r := range u.GetRefusals() {
			next.templates = append(next.templates, p.oneMore(r, a.GetCounts()))
		}
		key := fmt.Sprint(*next)
		if byReason[key] == nil {
			byReason[key] = next
			out = append(out, next)
		}
		byReason[key].pods += a.GetPlace().GetPlacements()[u.GetQueueIndex()].GetUnplacedCount()
	}
	return out
}

// oneMore says what one more node of a template would do.
func (p *Provision) oneMore(r *stowagev1.TemplateRefusal, counts []uint32) string {
	of := p.Snapshot.NodeTemplates[r.GetTemplateIndex()]
	text := r.GetMessage()
	switch {
	case text != "":
	case of.MaxCount != nil && counts[r.GetTemplateIndex()] >= of.GetMaxCount():
		text = fmt.Sprintf("takes a pod, but its maximum is %d", of.GetMaxCount())
	default:
		text = "takes a pod"
	}
	return fmt.Sprintf("one more %s: %s", of.GetNode().GetName(), text)
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
