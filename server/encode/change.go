package encode

import (
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
	}
	return out
}
