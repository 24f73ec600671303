package engine_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// apply returns the cluster and the pod with a change.
func (r *remedied) apply(c *verdict.Change) (*api.Cluster, *api.Pod) {
	cluster, pod, template := *r.stated, *r.pod, *r.pod.Template
	cluster.Nodes = slices.Clone(cluster.Nodes)
	pod.Template, pod.TemplateIndex = &template, -1
	r.applyTo(&cluster, &template.Spec, c)
	return &cluster, &pod
}

func (r *remedied) applyTo(cluster *api.Cluster, spec *api.PodSpec, c *verdict.Change) {
	switch {
	case c.Combined != nil:
		last := slices.Clone(c.Combined) // what leaves a list, the highest index first: others keep their index
		slices.SortStableFunc(last, func(a, b verdict.Change) int { return cmp.Compare(leaving(&b), leaving(&a)) })
		for i := range last {
			r.applyTo(cluster, spec, &last[i])
		}
	case c.UncordonedNode != nil:
		n := &cluster.Nodes[*c.UncordonedNode]
		n.Unschedulable = false
		n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t api.Taint) bool { return t.Key == "node.kubernetes.io/unschedulable" })
	case c.ClearedTaints != nil:
		n := &cluster.Nodes[c.ClearedTaints.Node]
		n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t api.Taint) bool { return slices.Contains(c.ClearedTaints.Taints, t) })
	case c.LabelledNode != nil:
		n := &cluster.Nodes[c.LabelledNode.Node]
		n.Labels = n.Labels.With(api.Labels{c.LabelledNode.Label})
	case c.AddedNode != nil:
		cluster.Nodes = append(cluster.Nodes, r.added(cluster, c.AddedNode))
	case c.RemovedPods != nil:
		for _, p := range c.RemovedPods {
			n := &cluster.Nodes[p.Node]
			n.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(q api.Pod) bool { return q.Name == p.Name })
		}
	default:
		r.applyToSpec(spec, c)
	}
}

// leaving returns the index that a change takes out of a list of the pod's spec, an index beyond the list for none, and
// a lower one if it takes all of the node affinity.
func leaving(c *verdict.Change) int {
	switch {
	case c.NodeRequirement != nil && c.NodeRequirement.Term >= 0 && c.NodeRequirement.To == nil:
		return c.NodeRequirement.Expression
	case c.PreferredRule != nil && c.PreferredRule.Plugin == verdict.InterPodAffinity:
		return c.PreferredRule.Index
	case c.PreferredRule != nil && c.PreferredRule.Plugin == verdict.NodeAffinity:
		return -1
	}
	return math.MaxInt
}

// added returns an added node, whose name is no value of a label so far.
func (r *remedied) added(cluster *api.Cluster, a *verdict.AddedNode) api.Node {
	n := newNodeLike(cluster, &cluster.Nodes[a.Like], "brand-new")
	for _, key := range a.NewDomainKeys {
		n.Labels = n.Labels.With(api.Labels{{Key: key, Value: n.Name}})
	}
	return n
}

func (r *remedied) applyToSpec(spec *api.PodSpec, c *verdict.Change) {
	spec.Spread = slices.Clone(spec.Spread)
	for _, a := range []**api.PodAffinity{&spec.PodAffinity, &spec.PodAntiAffinity} {
		if *a != nil {
			own := **a
			own.Required = slices.Clone(own.Required)
			*a = &own
		}
	}
	term := func(rule verdict.PodRule) *api.PodAffinityTerm {
		if rule.Rule == verdict.PodAffinity {
			return &spec.PodAffinity.Required[rule.Index]
		}
		return &spec.PodAntiAffinity.Required[rule.Index]
	}
	switch {
	case c.Tolerations != nil:
		spec.Tolerations = slices.Concat(spec.Tolerations, c.Tolerations)
	case c.RemovedGates != nil:
		spec.SchedulingGates = nil
	case c.NodeRequirement != nil:
		applyRequirement(spec, c.NodeRequirement)
	case c.SpreadPolicy != nil && c.SpreadPolicy.Honored == verdict.NodeTaintsPolicy:
		spec.Spread[c.SpreadPolicy.Index].HonorNodeTaints = true
	case c.SpreadPolicy != nil:
		spec.Spread[c.SpreadPolicy.Index].IgnoreNodeAffinity = false
	case c.MinDomains != nil:
		spec.Spread[c.MinDomains.Index].MinDomains = c.MinDomains.To
	case c.RaisedMaxSkew != nil:
		spec.Spread[c.RaisedMaxSkew.Index].MaxSkew = c.RaisedMaxSkew.To
	case c.TopologyKey != nil && c.TopologyKey.Rule.Rule == verdict.HardSpread:
		spec.Spread[c.TopologyKey.Rule.Index].TopologyKey = c.TopologyKey.To
	case c.TopologyKey != nil:
		term(c.TopologyKey.Rule).TopologyKey = c.TopologyKey.To
	case c.MatchLabelKey != nil && c.MatchLabelKey.Rule.Rule == verdict.HardSpread:
		k := &spec.Spread[c.MatchLabelKey.Rule.Index]
		k.MatchLabelKeys = append(slices.Clip(k.MatchLabelKeys), c.MatchLabelKey.Key)
	case c.MatchLabelKey != nil:
		k := term(c.MatchLabelKey.Rule)
		k.MatchLabelKeys = append(slices.Clip(k.MatchLabelKeys), c.MatchLabelKey.Key)
	case c.Namespaces != nil:
		term(c.Namespaces.Rule).Namespaces = c.Namespaces.Namespaces
	case c.LoweredRequest != nil:
		all := slices.Clone(requests.Pending(spec))
		for i := range all {
			if all[i].Resource == c.LoweredRequest.Resource {
				all[i].Amount = c.LoweredRequest.To
			}
		}
		spec.Containers = append([]api.Container{{Requests: all}}, spec.Containers...)
		for i := range spec.Containers[1:] {
			spec.Containers[1+i].Requests = nil
		}
	default:
		applyPreferred(spec, c.PreferredRule)
	}
}

func applyPreferred(spec *api.PodSpec, rule *verdict.PodRule) {
	at := rule.Index
	switch {
	case rule.Plugin == verdict.NodeAffinity:
		spec.NodeSelector, spec.NodeAffinity = nil, nil
	case rule.Rule == verdict.HardSpread:
		spec.Spread[at].ScheduleAnyway = true
	case rule.Rule == verdict.PodAffinity:
		spec.PodAffinity.Required = slices.Delete(spec.PodAffinity.Required, at, at+1)
	default:
		spec.PodAntiAffinity.Required = slices.Delete(spec.PodAntiAffinity.Required, at, at+1)
	}
}

func applyRequirement(spec *api.PodSpec, r *verdict.NodeRequirement) {
	if r.Term < 0 {
		spec.NodeSelector = slices.DeleteFunc(slices.Clone(spec.NodeSelector), func(l api.Label) bool { return l.Key == r.From.Key })
		if r.To != nil {
			spec.NodeSelector = spec.NodeSelector.With(api.Labels{{Key: r.To.Key, Value: r.To.Values[0]}})
		}
		return
	}
	terms := slices.Clone(spec.NodeAffinity.Required.Terms)
	all := slices.Clone(terms[r.Term].MatchExpressions)
	if r.To != nil {
		all[r.Expression] = *r.To
	} else {
		all = slices.Delete(all, r.Expression, r.Expression+1)
	}
	terms[r.Term].MatchExpressions = all
	spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: terms}}
	if len(all)+len(terms[r.Term].MatchFields) == 0 {
		spec.NodeAffinity = nil
	}
}
