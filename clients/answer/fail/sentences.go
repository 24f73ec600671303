package fail

import (
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// verdict is the answer in a sentence.
func (a *Answer) verdict() string {
	if a.Each != "" {
		return fmt.Sprintf("%d of %s of %s can fail without a loss", a.survived(), words.Plural(len(a.Failures), "domain"), a.Each)
	}
	var out []string
	for _, f := range a.Failures {
		out = append(out, fmt.Sprintf("if %s fails: %s", f.Name, Outcome(f)))
	}
	return strings.Join(out, "; ")
}

// Outcome is the outcome of a failure in a few words.
func Outcome(f *whatif.Failure) string {
	var out []string
	if f.Unplaced > 0 {
		out = append(out, words.Plural(f.Unplaced, "pod")+" without a node")
	} else if s := f.WhileNodesStay; s != nil {
		out = append(out, words.Plural(s.Unplaced, "pod")+" without a node while the nodes stay")
	}
	if n := len(f.Bare); n > 0 {
		out = append(out, words.Plural(n, "pod")+" without a controller")
	}
	lost := 0
	for _, p := range f.Preempted {
		if p.Node == "" {
			lost++
		}
	}
	if lost > 0 {
		out = append(out, words.Plural(lost, "pod")+" preempted")
	}
	if len(out) == 0 {
		return "all come back"
	}
	return strings.Join(out, ", ")
}

// BudgetsBelow counts the budgets that are not met once all pods that found a node are ready.
func BudgetsBelow(f *whatif.Failure) int {
	n := 0
	for _, b := range f.Budgets {
		if b.BelowAfter {
			n++
		}
	}
	return n
}

// Harmless reports whether a failure loses nothing, and all budgets are met in the end.
func Harmless(f *whatif.Failure) bool { return f.Survives && BudgetsBelow(f) == 0 }

// Failing reports which nodes fail, and how many pods find another node.
func Failing(f *whatif.Failure) []string {
	fails := map[bool]string{true: "fail", false: "fails"}[strings.Contains(f.Name, ", ")]
	return []string{
		fmt.Sprintf("%s %s: %s", f.Name, fails, words.Plural(len(f.Nodes), "node")),
		fmt.Sprintf("%s: %d placed, %d without a node", words.Counted(f.Returning, "pod comes back", "pods come back"), f.Placed, f.Unplaced),
	}
}

// Staying reports how many pods have no node as long as the API server still has the nodes, and why; empty if that makes no difference.
func Staying(f *whatif.Failure) (text string, reasons []string) {
	s := f.WhileNodesStay
	if s == nil || s.Unplaced == f.Unplaced {
		return "", nil
	}
	reasons = s.Reasons
	if more := len(reasons) - maximumReasons; more > 0 {
		reasons = append(reasons[:maximumReasons:maximumReasons], fmt.Sprintf("and %d more reasons", more))
	}
	return fmt.Sprintf("%d without a node as long as the API server still has the nodes, not ready:", s.Unplaced), reasons
}

// maximumReasons bounds the reasons that are listed.
const maximumReasons = 3

// Others reports the pods that do not come back, and the pods that were pending before.
func Others(f *whatif.Failure) []string {
	var out []string
	if n := len(f.Bare); n > 0 {
		out = append(out, fmt.Sprintf("%s lost, as no controller creates them again: %s", words.Plural(n, "pod"), words.Names(podNames(f.Bare))))
	}
	if n := len(f.Preempted); n > 0 {
		out = append(out, fmt.Sprintf("%s preempted on other nodes: %s", words.Plural(n, "pod"), words.Names(preemptedNames(f.Preempted))))
	}
	if f.Tied > 0 {
		out = append(out, words.Plural(f.Tied, "pod")+" of DaemonSets and of kubelets gone with the nodes")
	}
	if f.Terminating > 0 {
		out = append(out, words.Plural(f.Terminating, "pod")+" gone that were terminating")
	}
	if f.Pending > 0 {
		out = append(out, fmt.Sprintf("%d of %s that were pending before placed", f.PendingPlaced, words.Plural(f.Pending, "pod")))
	}
	return out
}

func podNames(pods []whatif.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	return out
}

// preemptedNames are the names of preempted pods, with the nodes on which they come back.
func preemptedNames(pods []whatif.Pod) []string {
	out := podNames(pods)
	for i, p := range pods {
		if p.Node != "" {
			out[i] += " (comes back on " + p.Node + ")"
		}
	}
	return out
}

// Missing is missing replicas of workloads, for the same reasons.
type Missing struct {
	Text    string
	Reasons []string
}

// MissingReplicas reports why replicas are missing. Reasons that several workloads share are listed once.
func MissingReplicas(all []whatif.Workload) []Missing {
	var order []string
	of := map[string][]whatif.Workload{}
	for _, l := range all {
		if l.Missing == 0 {
			continue
		}
		key := strings.Join(l.Reasons, "\n")
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], l)
	}
	var out []Missing
	for _, key := range order {
		out = append(out, Missing{lost(of[key]), of[key][0].Reasons})
	}
	return out
}

// lost reports how many replicas of workloads are missing.
func lost(of []whatif.Workload) string {
	if len(of) == 1 {
		l := of[0]
		return fmt.Sprintf("%s/%s: %d of %s missing", l.Namespace, l.Name, l.Missing, words.Plural(l.Replicas, "replica"))
	}
	var names []string
	missing, replicas := 0, 0
	for _, l := range of {
		names = append(names, l.Namespace+"/"+l.Name)
		missing, replicas = missing+l.Missing, replicas+l.Replicas
	}
	return fmt.Sprintf("%d workloads: %d of %s missing: %s", len(of), missing, words.Plural(replicas, "replica"), words.Names(names))
}

// WorkloadRow is a workload, its kind, and its replicas: all, lost, placed and missing.
func WorkloadRow(l *whatif.Workload) []string {
	return []string{
		l.Namespace + "/" + l.Name, l.Kind, fmt.Sprint(l.Replicas), fmt.Sprint(l.Lost), fmt.Sprint(l.Placed), fmt.Sprint(l.Missing),
	}
}

// BudgetRow is a budget, its pods: desired, healthy, at once and after, and whether it is met.
func BudgetRow(b *whatif.Budget) []string {
	desired, result := "unknown", "met"
	switch {
	case b.Desired == nil:
		result = "not known"
	case b.BelowAfter:
		result = "not met"
	case b.BelowAtOnce:
		result = "not met until pods are ready again"
	}
	if b.Desired != nil {
		desired = fmt.Sprint(*b.Desired)
	}
	return []string{
		b.Namespace + "/" + b.Name, desired, fmt.Sprint(b.Healthy), fmt.Sprint(b.AtOnce), fmt.Sprint(b.After), result,
	}
}

// PodRow is a replacement pod, the former node, and its own node.
func PodRow(p *whatif.Pod) []string {
	node := p.Node
	if node == "" {
		node = "none"
	}
	return []string{p.Namespace + "/" + p.Name, p.From, node}
}
