package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func pods(labels ...string) *stowagev1.LabelSelector {
	out := &stowagev1.LabelSelector{MatchLabels: map[string]string{}}
	for _, l := range labels {
		out.MatchLabels[l] = l
	}
	return out
}

func TestPodRule(t *testing.T) {
	term := func(labels ...string) *stowagev1.PodAffinityTerm {
		return &stowagev1.PodAffinityTerm{LabelSelector: pods(labels...), TopologyKey: "zone"}
	}
	spec := &stowagev1.PodSpec{
		NodeName: "n",
		TopologySpreadConstraints: []*stowagev1.TopologySpreadConstraint{
			{}, {MaxSkew: 2, TopologyKey: "zone", LabelSelector: pods("web")},
		},
		Affinity: &stowagev1.Affinity{
			PodAffinity:     &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{term("a"), term()}},
			PodAntiAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{term("b")}},
		},
	}
	for want, r := range map[string]*stowagev1.PodRule{
		"x must be spread by zone, at most 2 more pods of web=web than the least": {
			Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, Index: 1, TopologyKey: "zone",
		},
		"x must be spread by zone": {
			Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, Index: 2, TopologyKey: "zone",
		},
		"x must be with pods of a=a by zone": {Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY, TopologyKey: "zone"},
		"x must be with pods of any label by zone": {
			Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY, Index: 1, TopologyKey: "zone",
		},
		"x must be apart from pods of b=b by zone": {Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY, TopologyKey: "zone"},
		"x must be apart from other pods by zone": {
			Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY, Index: 1, TopologyKey: "zone",
		},
		"pods that are there must be apart from x": {Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_EXISTING_POD_ANTI_AFFINITY},
		"x must have the cpu that it asks for":     {Plugin: stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT, Resource: "cpu"},
		"x must be on node n":                      {Plugin: stowagev1.Plugin_PLUGIN_NODE_NAME},
	} {
		if got := words.PodRule("x", spec, r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlaceTellsWhatBecameOfGroups(t *testing.T) {
	web := &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}}
	snapshot := &kube.Snapshot{
		Cluster: &stowagev1.Cluster{
			Nodes: []*stowagev1.Node{{Name: "a"}},
			PodTemplates: []*stowagev1.PodTemplate{{Spec: &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{
				PodAntiAffinity: &stowagev1.PodAffinity{
					Required: []*stowagev1.PodAffinityTerm{{LabelSelector: pods("app"), TopologyKey: "zone"}},
				}}}}},
		},
		Queue: []kube.Entry{
			{
				Pods:   &stowagev1.PendingPods{Pod: web, Count: new(uint32(3)), PodGroup: "default/web"},
				Origin: kube.Origin{Kind: "Deployment", Namespace: "default", Name: "web"},
			},
			{
				Pods:   &stowagev1.PendingPods{Pod: web, PodGroup: "default/db"},
				Origin: kube.Origin{Kind: "Pod", Namespace: "default", Name: "db"},
			},
		},
		PodGroups: []*stowagev1.PodGroup{{Name: "default/web", MinCount: new(uint32(2))}, {Name: "default/db"}},
	}
	answer := &stowagev1.PlaceResponse{
		PlacedCount: 1, UnplacedCount: 3,
		Placements: []*stowagev1.Placement{
			{UnplacedCount: 3}, {Nodes: &stowagev1.NodeList{Indexes: []uint32{0}, Names: []string{"a"}}},
		},
		PodGroups: []*stowagev1.PodGroupPlacement{
			{
				Name: "default/web", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE, UnplacedCount: 3,
				FirstUnplacedQueueIndex: proto.Uint32(0), Message: "At most 1 of 2 pods can be placed.", Steps: 12,
				Conflict: []*stowagev1.PodRule{
					{
						Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY,
						TopologyKey: "zone",
					},
					{Plugin: stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT, Resource: "cpu"},
				},
				ConflictMinimal: true,
			},
			{
				Name: "default/db", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE, PlacedCount: 1, ScoreSum: 99, Steps: 1,
				Domains: []*stowagev1.TopologyDomain{{TopologyKey: "rack", Value: "r1"}},
			},
		},
	}
	var b strings.Builder
	text.Place(&b, place.New(snapshot, "", answer), text.Style{Width: 100})
	_, got, _ := strings.Cut(b.String(), "\n\n")
	want := `1 of 4 pods placed
PODS          KIND         PLACED   NODES
default/web   Deployment   0/3
default/db    Pod          1/1      a

POD GROUP     STATUS       PLACED   NEEDED   SCORES   STEPS   WHERE
default/web   infeasible   0/3      2                 12
default/db    complete     1/1      1        ≥99      1       rack=r1

pod group default/web: 3 pods without a node
  At most 1 of 2 pods can be placed.
  the first that found no node, beside the others of its group: a pod of default/web
  the rules that cannot hold together, though without any one of them the others can:
  - default/web must be apart from pods of app=app by zone
  - default/web must have the cpu that it asks for
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPlaceTellsOfEvictedGroups expects evicted groups in the text, also groups without pods to place.
func TestPlaceTellsOfEvictedGroups(t *testing.T) {
	snapshot := &kube.Snapshot{PodGroups: []*stowagev1.PodGroup{{Name: "default/keeps"}, {Name: "default/loses", MinCount: new(uint32(2))}}}
	var b strings.Builder
	text.Place(&b, place.New(snapshot, "", &stowagev1.PlaceResponse{PodGroups: []*stowagev1.PodGroupPlacement{
		{Name: "default/keeps", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE},
		{
			Name: "default/loses", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_EVICTED,
			Message: "pods with a node: 1 of the 2 required; evicted: 1",
		},
	}}), text.Style{Width: 100})
	_, got, _ := strings.Cut(b.String(), "POD GROUP")
	want := `       STATUS    PLACED   NEEDED   WHERE
default/loses   evicted   0/0      2

pod group default/loses: pods were evicted
  pods with a node: 1 of the 2 required; evicted: 1
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
