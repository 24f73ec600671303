package encode_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/encode"
)

func TestRemedies(t *testing.T) {
	node := uint32(1)
	spread := verdict.PodRule{Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: 1, TopologyKey: "zone"}
	affinity := verdict.PodRule{Plugin: verdict.InterPodAffinity, Rule: verdict.PodAffinity, TopologyKey: "zone"}
	in := &verdict.Filter{Changes: []verdict.Change{
		{Tolerations: []api.Toleration{
			{Key: "gpu", Operator: api.TolerationEqual, Value: "a100", Effect: api.NoSchedule},
			{Key: "spot", Operator: api.TolerationExists, Effect: api.NoExecute},
		}, Nodes: []uint32{0}},
		{UncordonedNode: &node, Nodes: []uint32{1}},
		{ClearedTaints: &verdict.ClearedTaints{Node: 1, Taints: []api.Taint{{Key: "k", Value: "v", Effect: api.NoSchedule}}}},
		{LabelledNode: &verdict.LabelledNode{Node: 2, Label: api.Label{Key: "k", Value: "v"}}},
		{NodeRequirement: &verdict.NodeRequirement{
			Term: -1, From: api.Requirement{Key: "disk", Operator: api.In, Values: []string{"sdd"}},
			To: &api.Requirement{Key: "disk", Operator: api.In, Values: []string{"ssd"}}, Values: []string{"ssd", "hdd"},
		}},
		{NodeRequirement: &verdict.NodeRequirement{
			Term: 0, Expression: 2, From: api.Requirement{Key: "cores", Operator: api.GreaterThan, Values: []string{"x"}},
			Matching: 3, Unparsable: true, Contradicts: true,
		}},
		{TopologyKey: &verdict.RenamedTopologyKey{Rule: spread, To: "z"}},
		{SpreadPolicy: &verdict.SpreadPolicy{Index: 1, TopologyKey: "zone", Honored: verdict.NodeTaintsPolicy}},
		{MinDomains: &verdict.LoweredMinDomains{Index: 1, TopologyKey: "zone", From: 3, To: 2}},
		{MatchLabelKey: &verdict.MatchLabelKey{Rule: spread, Key: "pod-template-hash"}},
		{Namespaces: &verdict.TermNamespaces{Rule: affinity, Namespaces: []string{"default", "cache"}, Added: "cache"}},
		{RemovedGates: []string{"example.com/wait"}},
		{Combined: []verdict.Change{{UncordonedNode: &node}, {RemovedGates: []string{"g"}}}, Nodes: []uint32{1}},
	}}
	at := func(index uint32, name string) *stowagev1.NodeList {
		return &stowagev1.NodeList{Indexes: []uint32{index}, Names: []string{name}}
	}
	rule := &stowagev1.PodRule{
		Plugin: stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD, Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD,
		Index: 1, TopologyKey: "zone",
	}
	term := &stowagev1.PodRule{
		Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY, TopologyKey: "zone",
	}
	disk := func(value string) *stowagev1.NodeSelectorRequirement {
		return &stowagev1.NodeSelectorRequirement{
			Key: "disk", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{value},
		}
	}
	uncordoned := &stowagev1.Change_UncordonedNode{UncordonedNode: &stowagev1.UncordonedNode{NodeIndex: 1}}
	gates := func(gate string) *stowagev1.Change_RemovedSchedulingGates {
		return &stowagev1.Change_RemovedSchedulingGates{RemovedSchedulingGates: &stowagev1.RemovedSchedulingGates{Gates: []string{gate}}}
	}
	first := uint32(0)
	want := []*stowagev1.Change{
		{Kind: &stowagev1.Change_AddedTolerations{AddedTolerations: &stowagev1.AddedTolerations{Tolerations: []*stowagev1.Toleration{
			{
				Key: "gpu", Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL, Value: "a100",
				Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE,
			},
			{
				Key: "spot", Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS,
				Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE,
			},
		}}}, Nodes: at(0, "a")},
		{Kind: uncordoned, Nodes: at(1, "b")},
		{Kind: &stowagev1.Change_ClearedTaints{ClearedTaints: &stowagev1.ClearedTaints{NodeIndex: 1, Taints: []*stowagev1.Taint{
			{Key: "k", Value: "v", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE},
		}}}},
		{Kind: &stowagev1.Change_LabelledNode{LabelledNode: &stowagev1.LabelledNode{NodeIndex: 2, Key: "k", Value: "v"}}},
		{Kind: &stowagev1.Change_ChangedNodeRequirement{ChangedNodeRequirement: &stowagev1.ChangedNodeRequirement{
			From: disk("sdd"), To: disk("ssd"), Values: []string{"ssd", "hdd"},
		}}},
		{Kind: &stowagev1.Change_ChangedNodeRequirement{ChangedNodeRequirement: &stowagev1.ChangedNodeRequirement{
			TermIndex: &first, ExpressionIndex: 2, From: &stowagev1.NodeSelectorRequirement{
				Key: "cores", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT, Values: []string{"x"},
			}, MatchingNodeCount: 3, Unparsable: true, Contradicts: true,
		}}},
		{Kind: &stowagev1.Change_RenamedTopologyKey{RenamedTopologyKey: &stowagev1.RenamedTopologyKey{Rule: rule, To: "z"}}},
		{Kind: &stowagev1.Change_HonoredPolicy{HonoredPolicy: &stowagev1.HonoredPolicy{
			Index: 1, TopologyKey: "zone", Policy: stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_TAINTS_POLICY,
		}}},
		{Kind: &stowagev1.Change_LoweredMinDomains{LoweredMinDomains: &stowagev1.LoweredMinDomains{
			Index: 1, TopologyKey: "zone", From: 3, To: 2,
		}}},
		{Kind: &stowagev1.Change_AddedMatchLabelKey{AddedMatchLabelKey: &stowagev1.AddedMatchLabelKey{
			Rule: rule, Key: "pod-template-hash",
		}}},
		{Kind: &stowagev1.Change_AddedNamespace{AddedNamespace: &stowagev1.AddedNamespace{
			Rule: term, Namespaces: []string{"default", "cache"}, Added: "cache",
		}}},
		{Kind: gates("example.com/wait")},
		{Kind: &stowagev1.Change_Combined{Combined: &stowagev1.CombinedChange{
			Changes: []*stowagev1.Change{{Kind: uncordoned}, {Kind: gates("g")}},
		}}, Nodes: at(1, "b")},
	}
	got := decoded[stowagev1.FilterResponse](t)(encode.Filter(nil, in, nodes, ""))
	if diff := cmp.Diff(want, got.Changes, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLongListsOfChanges has more values and namespaces than a change lists.
func TestLongListsOfChanges(t *testing.T) {
	var many []string
	for i := range 10_000 {
		many = append(many, strconv.Itoa(i))
	}
	in := &verdict.Filter{Changes: []verdict.Change{
		{NodeRequirement: &verdict.NodeRequirement{
			From: api.Requirement{Key: "a", Operator: api.In, Values: many},
			To:   &api.Requirement{Key: "b", Operator: api.In, Values: many},
		}},
		{Namespaces: &verdict.TermNamespaces{Namespaces: many, Added: "9999"}},
	}}
	got := decoded[stowagev1.FilterResponse](t)(encode.Filter(nil, in, nodes, "")).GetChanges()
	r := got[0].GetChangedNodeRequirement()
	for name, list := range map[string][]string{
		"from": r.GetFrom().GetValues(), "to": r.GetTo().GetValues(), "namespaces": got[1].GetAddedNamespace().GetNamespaces(),
	} {
		if !slices.Equal(list, many[:100]) {
			t.Errorf("%s lists %d", name, len(list))
		}
	}
}
