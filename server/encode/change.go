package encode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (n Names) changes(changes []verdict.Change) []*stowagev1.Change {
	var out []*stowagev1.Change
	for i := range changes {
		out = append(out, n.change(&changes[i]))
	}
	return out
}

func (n Names) change(c *verdict.Change) *stowagev1.Change {
	out := &stowagev1.Change{}
	if len(c.Nodes) > 0 {
		out.Nodes = n.list(c.Nodes)
	}
	if n.changeOfSpec(out, c) {
		return out
	}
	switch {
	case c.AddedNode != nil:
		out.Kind = &stowagev1.Change_AddedNode{AddedNode: &stowagev1.AddedNode{
			LikeNodeIndex: c.AddedNode.Like, NewDomainKeys: c.AddedNode.NewDomainKeys,
		}}
	case c.RemovedPods != nil:
		victims := &stowagev1.Victims{}
		for i := range c.RemovedPods {
			victims.Pods = append(victims.Pods, podReference(&c.RemovedPods[i]))
		}
		out.Kind = &stowagev1.Change_Victims{Victims: victims}
	case c.RaisedMaxSkew != nil:
		out.Kind = &stowagev1.Change_RaisedMaxSkew{RaisedMaxSkew: &stowagev1.RaisedMaxSkew{
			Index: uint32(c.RaisedMaxSkew.Index), TopologyKey: c.RaisedMaxSkew.TopologyKey,
			From: c.RaisedMaxSkew.From, To: c.RaisedMaxSkew.To,
		}}
	case c.PreferredRule != nil:
		out.Kind = &stowagev1.Change_PreferredRule{PreferredRule: podRules([]verdict.PodRule{*c.PreferredRule})[0]}
	case c.LoweredRequest != nil:
		out.Kind = &stowagev1.Change_LoweredRequest{LoweredRequest: &stowagev1.LoweredRequest{
			Resource: c.LoweredRequest.Resource, From: c.LoweredRequest.From, To: c.LoweredRequest.To,
		}}
	case c.UncordonedNode != nil:
		out.Kind = &stowagev1.Change_UncordonedNode{UncordonedNode: &stowagev1.UncordonedNode{NodeIndex: *c.UncordonedNode}}
	case c.ClearedTaints != nil:
		out.Kind = &stowagev1.Change_ClearedTaints{ClearedTaints: &stowagev1.ClearedTaints{
			NodeIndex: c.ClearedTaints.Node, Taints: taints(c.ClearedTaints.Taints),
		}}
	case c.LabelledNode != nil:
		out.Kind = &stowagev1.Change_LabelledNode{LabelledNode: &stowagev1.LabelledNode{
			NodeIndex: c.LabelledNode.Node, Key: c.LabelledNode.Label.Key, Value: c.LabelledNode.Label.Value,
		}}
	case c.Combined != nil:
		out.Kind = &stowagev1.Change_Combined{Combined: &stowagev1.CombinedChange{Changes: n.changes(c.Combined)}}
	}
	return out
}

// changeOfSpec sets the kind of a change of the pod's spec that FEATURE_REMEDIES adds, and reports whether it is one.
func (n Names) changeOfSpec(out *stowagev1.Change, c *verdict.Change) bool {
	switch {
	case c.Tolerations != nil:
		added := &stowagev1.AddedTolerations{}
		for i := range c.Tolerations {
			added.Tolerations = append(added.Tolerations, toleration(&c.Tolerations[i]))
		}
		out.Kind = &stowagev1.Change_AddedTolerations{AddedTolerations: added}
	case c.NodeRequirement != nil:
		out.Kind = &stowagev1.Change_ChangedNodeRequirement{ChangedNodeRequirement: nodeRequirement(c.NodeRequirement)}
	case c.TopologyKey != nil:
		out.Kind = &stowagev1.Change_RenamedTopologyKey{RenamedTopologyKey: &stowagev1.RenamedTopologyKey{
			Rule: podRules([]verdict.PodRule{c.TopologyKey.Rule})[0], To: c.TopologyKey.To,
		}}
	case c.SpreadPolicy != nil:
		out.Kind = &stowagev1.Change_HonoredPolicy{HonoredPolicy: &stowagev1.HonoredPolicy{
			Index: uint32(c.SpreadPolicy.Index), TopologyKey: c.SpreadPolicy.TopologyKey,
			Policy: uncountedReason(c.SpreadPolicy.Honored),
		}}
	case c.MinDomains != nil:
		out.Kind = &stowagev1.Change_LoweredMinDomains{LoweredMinDomains: &stowagev1.LoweredMinDomains{
			Index: uint32(c.MinDomains.Index), TopologyKey: c.MinDomains.TopologyKey, From: c.MinDomains.From, To: c.MinDomains.To,
		}}
	case c.MatchLabelKey != nil:
		out.Kind = &stowagev1.Change_AddedMatchLabelKey{AddedMatchLabelKey: &stowagev1.AddedMatchLabelKey{
			Rule: podRules([]verdict.PodRule{c.MatchLabelKey.Rule})[0], Key: c.MatchLabelKey.Key,
		}}
	case c.Namespaces != nil:
		out.Kind = &stowagev1.Change_AddedNamespace{AddedNamespace: &stowagev1.AddedNamespace{
			Rule: podRules([]verdict.PodRule{c.Namespaces.Rule})[0], Namespaces: listed(c.Namespaces.Namespaces),
			Added: c.Namespaces.Added,
		}}
	case c.RemovedGates != nil:
		out.Kind = &stowagev1.Change_RemovedSchedulingGates{RemovedSchedulingGates: &stowagev1.RemovedSchedulingGates{Gates: c.RemovedGates}}
	default:
		return false
	}
	return true
}

func nodeRequirement(r *verdict.NodeRequirement) *stowagev1.ChangedNodeRequirement {
	out := &stowagev1.ChangedNodeRequirement{
		ExpressionIndex: uint32(r.Expression), From: requirement(&r.From), Values: r.Values,
		MatchingNodeCount: uint64(r.Matching), Unparsable: r.Unparsable, Contradicts: r.Contradicts,
	}
	if r.Term >= 0 {
		term := uint32(r.Term)
		out.TermIndex = &term
	}
	if r.To != nil {
		out.To = requirement(r.To)
	}
	return out
}

func requirement(r *api.Requirement) *stowagev1.NodeSelectorRequirement {
	return &stowagev1.NodeSelectorRequirement{Key: r.Key, Operator: nodeOperator(r.Operator), Values: listed(r.Values)}
}

// maxListed is the number of values of a requirement, and of namespaces of a term, that a change lists. Each change would repeat
// thousands otherwise.
const maxListed = 100

func listed(values []string) []string { return values[:min(len(values), maxListed)] }

func toleration(t *api.Toleration) *stowagev1.Toleration {
	return &stowagev1.Toleration{
		Key: t.Key, Operator: tolerationOperator(t.Operator), Value: t.Value, Effect: taintEffect(t.Effect),
	}
}

func taints(all []api.Taint) []*stowagev1.Taint {
	var out []*stowagev1.Taint
	for i := range all {
		out = append(out, taint(&all[i]))
	}
	return out
}

func taint(t *api.Taint) *stowagev1.Taint {
	return &stowagev1.Taint{Key: t.Key, Value: t.Value, Effect: taintEffect(t.Effect)}
}
