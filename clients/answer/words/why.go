package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Why says in one line what keeps a pod from the nodes: first what leaves out all of them, then the counts of the rules that leave it
// no domain, or few, then other rejections. It is empty if the explanation has none of these.
func (x *Explanation) Why(e *stowagev1.Explanation) string {
	var out []string
	apart := map[string]bool{}
	with := Companions(e)
	for _, c := range e.GetTopologyCounts() {
		if text := x.whyCounts(c, apart, with); text != "" {
			out = append(out, text)
		}
	}
	for _, t := range e.GetUntoleratedTaints() {
		out = append(out, fmt.Sprintf("does not tolerate %s on %s", Taint(t.GetTaint()), some(t.GetNodes())))
	}
	for _, u := range e.GetUndeclaredFeatures() {
		out = append(out, fmt.Sprintf("requires the feature %s, not declared by %s", u.GetFeature(), some(u.GetNodes())))
	}
	for _, r := range e.GetFailingChecks() {
		of, ok := map[stowagev1.Plugin]string{
			stowagev1.Plugin_PLUGIN_NODE_AFFINITY: "its node selector or affinity", stowagev1.Plugin_PLUGIN_NODE_NAME: "its nodeName",
		}[r.GetPlugin()]
		switch text := of + " leaves out " + some(r.GetNodes()); {
		case !ok:
		case len(r.GetNodes().GetNames()) == len(x.Cluster.GetNodes()):
			out = slices.Insert(out, 0, text)
		default:
			out = append(out, text)
		}
	}
	out = append(out, x.whyVolumes(e)...)
	out = append(out, x.whyDevices(e)...)
	absent, s := x.absent(e.GetResourceShortages())
	out = append(out, absent...)
	if len(s) > 0 {
		text := x.shortage(s[0])
		if len(s) > 1 {
			text += fmt.Sprintf(", and so on, %d shortages in all", len(s))
		}
		out = append(out, text)
	}
	if c := e.GetHostPortConflicts(); len(c) > 0 {
		out = append(out, fmt.Sprintf("host port %d is taken on %s by %s", c[0].GetPort(), x.Node(c[0].GetNodeIndex()), x.Pod(c[0].GetHolder())))
	}
	return strings.Join(out, "; ")
}

// absent says which resources nodes do not have at all, and returns the other shortages.
func (x *Explanation) absent(all []*stowagev1.ResourceShortage) (texts []string, others []*stowagev1.ResourceShortage) {
	var order []*stowagev1.ResourceShortage // the first one of each resource
	nodes := map[string][]string{}
	for _, s := range all {
		name := s.GetResource()
		if s.GetAllocatable() != 0 || name == string(corev1.ResourcePods) {
			others = append(others, s)
			continue
		}
		if nodes[name] == nil {
			order = append(order, s)
		}
		nodes[name] = append(nodes[name], x.Node(s.GetNodeIndex()))
	}
	for _, s := range order {
		name := s.GetResource()
		texts = append(texts, fmt.Sprintf("asks for %s %s, and there is none on %s", Quantity(name, s.GetRequested()), name, some(&stowagev1.NodeList{Names: nodes[name]})))
	}
	return texts, others
}

// shortage says what a node lacks.
func (x *Explanation) shortage(s *stowagev1.ResourceShortage) string {
	name, node := s.GetResource(), x.Node(s.GetNodeIndex())
	used, all := Quantity(name, s.GetUsed()), Quantity(name, s.GetAllocatable())
	if name == string(corev1.ResourcePods) {
		return fmt.Sprintf("%s holds %s of %s pods", node, used, all)
	}
	return fmt.Sprintf("asks for %s %s on %s, where %s of %s are in use", Quantity(name, s.GetRequested()), name, node, used, all)
}

// Companions names the pods that required affinity terms count: pods that match all terms
// (pkg/scheduler/framework/plugins/interpodaffinity/filtering.go podMatchesAllAffinityTerms, v1.37).
func Companions(e *stowagev1.Explanation) string {
	var terms []string
	for _, c := range e.GetTopologyCounts() {
		if c.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY && !slices.Contains(terms, c.GetSelector()) {
			terms = append(terms, c.GetSelector())
		}
	}
	if len(terms) > 1 {
		return "a pod that matches all of its affinity terms, " + strings.Join(terms, " and ")
	}
	return "pods of " + strings.Join(terms, "")
}

// whyCounts is the text for one rule. apart collects the text of the pod's own anti-affinity, which the same rule of its
// siblings need not repeat; with names the pods of its affinity.
func (x *Explanation) whyCounts(c *stowagev1.TopologyCounts, apart map[string]bool, with string) string {
	var counts, refused, feasible []string
	holders := map[string]bool{}
	for _, d := range c.GetDomains() {
		counts = append(counts, fmt.Sprintf("%s %d", d.GetValue(), d.GetMatchingPods()))
		if d.GetFeasible() {
			feasible = append(feasible, d.GetValue())
			continue
		}
		refused = append(refused, d.GetValue())
		for _, p := range d.GetConflictingPods() {
			holders[x.name(p)] = true
		}
	}
	switch c.GetRule() {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		if len(c.GetDomains()) == 0 {
			return fmt.Sprintf("no node that counts has the label %s", c.GetTopologyKey())
		}
		if len(refused) == 0 {
			return ""
		}
		text := fmt.Sprintf("spread by %s counts %s and allows at most %d more than the least", c.GetTopologyKey(), Names(counts), c.GetMaxSkew())
		if c.GetMinDomains() > int32(len(c.GetDomains())) {
			text += fmt.Sprintf(", which is 0 with fewer than %d domains", c.GetMinDomains())
		}
		if len(feasible) > 0 {
			text += ", so only " + Names(feasible)
		}
		return text
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY:
		if len(feasible) == 0 {
			return fmt.Sprintf("must be with %s, and no %s holds one", with, c.GetTopologyKey())
		}
		return fmt.Sprintf("must be with %s, so only %s", with, Names(feasible))
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY:
		for _, domain := range refused {
			apart[c.GetTopologyKey()+"="+domain] = true
		}
		if len(refused) > 0 {
			return fmt.Sprintf("must be apart from pods of %s, which are in %s", c.GetSelector(), Names(refused))
		}
	case stowagev1.TopologyRule_TOPOLOGY_RULE_EXISTING_POD_ANTI_AFFINITY:
		refused = slices.DeleteFunc(refused, func(domain string) bool { return apart[c.GetTopologyKey()+"="+domain] })
		if len(refused) > 0 {
			return fmt.Sprintf("%s in %s must be apart from it", Names(slices.Sorted(maps.Keys(holders))), Names(refused))
		}
	}
	return ""
}

func some(l *stowagev1.NodeList) string {
	if n := len(l.GetNames()); n > maximumNames {
		return fmt.Sprintf("%d nodes", n)
	}
	return Names(l.GetNames())
}
