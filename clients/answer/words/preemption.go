package words

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Preemption says in one line which pods kube-scheduler would evict for a pod. It is empty if there are none.
func (x *Explanation) Preemption(p *stowagev1.Preemption) string {
	n := p.GetNominated()
	if n == nil {
		return ""
	}
	return "kube-scheduler would evict " + x.Leaving(n.GetVictims(), Names) + Violations(n)
}

// stateless is the text of kube-scheduler's event about PostFilter where PreFilter rejects a pod as a whole. DynamicResources
// did not store the state that its PostFilter reads (pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
// PostFilter, v1.37).
const stateless = "not found"

// WhyNone returns why kube-scheduler preempts no pod, "" if that differs between nodes.
func WhyNone(p *stowagev1.Preemption) string {
	switch {
	case len(p.GetRejections()) > 0:
		return ""
	case p.GetMessage() == stateless:
		return `PreFilter rejects the pod as a whole, so that no victims are looked for; "not found" is an error of DynamicResources`
	}
	return strings.TrimSuffix(strings.TrimPrefix(p.GetMessage(), "preemption: "), ".")
}

// Victims names pods.
func (x *Explanation) Victims(pods []*stowagev1.PodReference) []string {
	var out []string
	for _, v := range pods {
		out = append(out, x.Pod(v))
	}
	return out
}

// Leaving lists pods with the nodes that they leave, which are several if a pod group leaves as a whole. list shortens the names.
func (x *Explanation) Leaving(pods []*stowagev1.PodReference, list func([]string) string) string {
	var nodes []uint32
	on := make(map[uint32][]string)
	for _, p := range pods {
		n := p.GetNodeIndex()
		if on[n] == nil {
			nodes = append(nodes, n)
		}
		on[n] = append(on[n], x.Pod(p))
	}
	if len(nodes) > maximumNames {
		return fmt.Sprintf("%s from %d nodes", list(x.Victims(pods)), len(nodes))
	}
	var parts []string
	for _, n := range nodes {
		parts = append(parts, list(on[n])+" from "+x.Node(n))
	}
	return strings.Join(parts, ", and ")
}

// Violations reports how many of the victims are evicted against a PodDisruptionBudget; empty for none.
func Violations(c *stowagev1.PreemptionCandidate) string {
	switch n := c.GetPdbViolations(); {
	case n == 0:
		return ""
	case len(c.GetVictims()) == 1 && uint64(c.Victims[0].GetCount()) == n:
		return ", against a PodDisruptionBudget"
	default:
		return fmt.Sprintf(", %d of them against a PodDisruptionBudget", n)
	}
}

// Beyond returns the changes that preemption does not make anyway.
func Beyond(changes []*stowagev1.Change, p *stowagev1.Preemption) []*stowagev1.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c *stowagev1.Change) bool {
		gone := c.GetVictims().GetPods()
		return len(gone) > 0 && !slices.ContainsFunc(gone, func(g *stowagev1.PodReference) bool {
			return !slices.ContainsFunc(p.GetNominated().GetVictims(), func(v *stowagev1.PodReference) bool { return within(g, v) })
		})
	})
}

// within reports whether a reference is to pods that another is to. Pods without names are counted.
func within(g, v *stowagev1.PodReference) bool {
	alike := proto.CloneOf(g)
	alike.Count = v.GetCount()
	return g.GetCount() <= v.GetCount() && proto.Equal(alike, v)
}

// Homeless reports why replacements have no node.
func (x *Explanation) Homeless(r *stowagev1.Replacement) string {
	why := strings.TrimSuffix(r.GetMessage(), ".")
	if r.GetUnknown() {
		why = "it is not known whether its replacement has a node"
	} else if why == "" {
		why = "too many pods come back"
	}
	return x.Pod(r.GetPod()) + " would come back and wait: " + why + "."
}

// Returns reports where replacements run.
func (x *Explanation) Returns(r *stowagev1.Replacement) string {
	var nodes []string
	for _, n := range r.GetNodes().GetIndexes() {
		nodes = append(nodes, x.Node(n))
	}
	out := x.Pod(r.GetPod()) + " comes back on " + Names(nodes)
	if len(r.GetEvicted()) > 0 {
		out += ", and evicts " + x.Pods(r.GetEvicted())
	}
	return out
}
