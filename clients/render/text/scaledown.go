package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ScaleDown renders the replicas of a workload to delete.
type ScaleDown struct {
	Cluster  *stowagev1.Cluster
	Workload *kube.Scalable
	Width    int
}

// Write writes the spread of the replicas before and after, and the deletions in order.
func (s *ScaleDown) Write(w io.Writer, a *stowagev1.ScaleDownResponse) {
	deleted, remain := countOf(a.GetDeletions()), countOf(a.GetRemaining())
	quote.Fprintf(w, "%s/%s: %s, %d to delete\n", s.Workload.Namespace, s.Workload.Name, words.Plural(uint64(deleted+remain), "replica"), deleted)
	for _, spread := range a.GetSpread() {
		if len(spread.GetDomains()) > maximumDomains {
			continue
		}
		rows := [][]string{{strings.ToUpper(spread.GetTopologyKey()), "BEFORE", "AFTER"}}
		for _, d := range spread.GetDomains() {
			rows = append(rows, []string{d.GetValue(), fmt.Sprint(d.GetBefore()), fmt.Sprint(d.GetAfter())})
		}
		fmt.Fprintln(w)
		table(w, rows...)
	}
	if deleted == 0 {
		return
	}
	x := &words.Explanation{Cluster: s.Cluster}
	rows := [][]string{{"DELETE", "NODE", "COST", "WHY"}}
	for _, d := range a.GetDeletions() {
		rows = append(rows, []string{x.Pod(d.GetPod()), x.Node(d.GetPod().GetNodeIndex()), fmt.Sprint(d.GetDeletionCost()), why(d)})
	}
	fmt.Fprintln(w)
	table(w, rows...)
}

// maximumDomains is the maximum number of domains of a key that is listed.
const maximumDomains = 20

func why(d *stowagev1.ScaledPod) string {
	if len(d.GetBrokenRules()) == 0 {
		return fmt.Sprintf("score %d", d.GetTotalScore())
	}
	var out []string
	for _, r := range d.GetBrokenRules() {
		out = append(out, BrokenRule(r))
	}
	return "breaks " + words.Names(out)
}

// BrokenRule names a rule in a few words.
func BrokenRule(r *stowagev1.PodRule) string {
	switch {
	case r.GetRule() != stowagev1.TopologyRule_TOPOLOGY_RULE_UNSPECIFIED && r.GetTopologyKey() != "":
		return words.Rule(r.GetRule()) + " by " + r.GetTopologyKey()
	case r.GetResource() != "":
		return words.Plugin(r.GetPlugin()) + " (" + r.GetResource() + ")"
	}
	return words.Plugin(r.GetPlugin())
}

func countOf(pods []*stowagev1.ScaledPod) int {
	n := 0
	for _, p := range pods {
		n += int(p.GetPod().GetCount())
	}
	return n
}

// highest returns the pods with the highest ordinals, as many as an answer deletes.
func highest(a *stowagev1.ScaleDownResponse) []string {
	var pods []*corev1.Pod
	for _, p := range slices.Concat(a.GetDeletions(), a.GetRemaining()) {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.GetPod().GetName()}})
	}
	slices.SortFunc(pods, func(x, y *corev1.Pod) int { return cmp.Compare(kube.Ordinal(y), kube.Ordinal(x)) })
	var out []string
	for _, p := range pods[:min(len(pods), countOf(a.GetDeletions()))] {
		out = append(out, p.Name)
	}
	return out
}

// WriteCommands writes the commands that make the workload's controller delete these replicas. Pods without names cannot be
// annotated.
func (s *ScaleDown) WriteCommands(w io.Writer, a *stowagev1.ScaleDownResponse) {
	if len(a.GetDeletions()) == 0 {
		return
	}
	fmt.Fprintln(w)
	if s.Workload.Kind == "StatefulSet" {
		text := "No command does that: a StatefulSet deletes the pods with the highest ordinals, whatever their costs."
		if names := highest(a); !slices.Contains(names, "") {
			text += fmt.Sprintf(" kubectl scale would delete %s.", words.Names(names))
		}
		WriteWrapped(w, "", text, s.Width)
		return
	}
	for _, d := range a.GetDeletions() {
		if p := d.GetPod(); p.GetName() != "" {
			fmt.Fprintln(w, quote.Command("kubectl annotate pod", []string{p.GetName(), fmt.Sprintf("controller.kubernetes.io/pod-deletion-cost=%d", d.GetDeletionCost())},
				"--namespace="+p.GetNamespace(), "--overwrite"))
		}
	}
	scaled := s.Workload.Origin
	if c := s.Workload.Controller; c != nil {
		scaled = *c
	}
	fmt.Fprintln(w, quote.Command("kubectl scale", []string{strings.ToLower(scaled.Kind), scaled.Name}, "--namespace="+scaled.Namespace,
		fmt.Sprintf("--replicas=%d", countOf(a.GetRemaining()))))
}
