package encode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/encode"
)

func TestChanges(t *testing.T) {
	in := &verdict.Filter{Changes: []verdict.Change{
		{AddedNode: &verdict.AddedNode{Like: 2, NewDomainKeys: []string{"zone", "rack"}}},
		{RemovedPods: []verdict.PodReference{
			{Namespace: "default", Name: "web-1", Node: 1, Count: 1, Template: 3, Queue: -1},
			{Namespace: "default", Node: 1, Count: 2, Template: -1, Queue: 4},
		}, Nodes: []uint32{0}},
		{RaisedMaxSkew: &verdict.RaisedMaxSkew{Index: 1, TopologyKey: "zone", From: 1, To: 3}, Nodes: []uint32{1}},
		{PreferredRule: &verdict.PodRule{
			Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, Index: 1, TopologyKey: "zone",
		}, Nodes: []uint32{1}},
		{LoweredRequest: &verdict.LoweredRequest{Resource: "cpu", From: 1000, To: 250}, Nodes: []uint32{2}},
	}}
	at := func(index uint32, name string) *stowagev1.NodeList {
		return &stowagev1.NodeList{Indexes: []uint32{index}, Names: []string{name}}
	}
	want := []*stowagev1.Change{
		{Kind: &stowagev1.Change_AddedNode{AddedNode: &stowagev1.AddedNode{LikeNodeIndex: 2, NewDomainKeys: []string{"zone", "rack"}}}},
		{Kind: &stowagev1.Change_Victims{Victims: &stowagev1.Victims{Pods: []*stowagev1.PodReference{
			{Namespace: "default", Name: "web-1", NodeIndex: new(uint32(1)), Count: 1, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 3}},
			{Namespace: "default", NodeIndex: new(uint32(1)), Count: 2, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: 4}},
		}}}, Nodes: at(0, "a")},
		{Kind: &stowagev1.Change_RaisedMaxSkew{RaisedMaxSkew: &stowagev1.RaisedMaxSkew{
			Index: 1, TopologyKey: "zone", From: 1, To: 3,
		}}, Nodes: at(1, "b")},
		{Kind: &stowagev1.Change_PreferredRule{PreferredRule: &stowagev1.PodRule{
			Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY,
			Index: 1, TopologyKey: "zone",
		}}, Nodes: at(1, "b")},
		{Kind: &stowagev1.Change_LoweredRequest{LoweredRequest: &stowagev1.LoweredRequest{
			Resource: "cpu", From: 1000, To: 250,
		}}, Nodes: at(2, "c")},
	}
	got := decoded[stowagev1.FilterResponse](t)(encode.Filter(nil, in, nodes, ""))
	if diff := cmp.Diff(want, got.Changes, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
