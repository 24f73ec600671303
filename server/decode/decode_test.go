package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

func wantSelector(app string) *api.LabelSelector {
	return &api.LabelSelector{
		MatchLabels: api.Labels{{Key: "app", Value: app}},
		MatchExpressions: []api.Requirement{
			{Key: "tier", Operator: api.In, Values: []string{"a", "b"}},
			{Key: "canary", Operator: api.DoesNotExist},
		},
	}
}

func wantNodeTerm() api.NodeSelectorTerm {
	return api.NodeSelectorTerm{
		MatchExpressions: []api.Requirement{
			{Key: "example.com/cores", Operator: api.GreaterThan, Values: []string{"8"}},
		},
		MatchFields: []api.Requirement{{Key: "metadata.name", Operator: api.NotIn, Values: []string{"c"}}},
	}
}

func wantPodTerm() api.PodAffinityTerm {
	return api.PodAffinityTerm{
		LabelSelector:     wantSelector("db"),
		Namespaces:        []string{"prod"},
		NamespaceSelector: &api.LabelSelector{},
		TopologyKey:       "topology.kubernetes.io/zone",
		MatchLabelKeys:    []string{"pod-template-hash"},
		MismatchLabelKeys: []string{"release"},
	}
}

func TestEveryField(t *testing.T) { //nolint:funlen // every field of the contract
	got, err := decode.Place(request())
	if err != nil {
		t.Fatal(err)
	}
	template := api.PodTemplate{
		Namespace:  "prod",
		Labels:     api.Labels{{Key: "app", Value: "web"}, {Key: "tier", Value: "a"}},
		Controller: api.ControllerReference{Kind: api.ReplicaSet, Name: "web-1"},
		Spec: api.PodSpec{
			NodeSelector: api.Labels{{Key: "disk", Value: "ssd"}},
			NodeAffinity: &api.NodeAffinity{
				Required:  &api.NodeSelector{Terms: []api.NodeSelectorTerm{wantNodeTerm()}},
				Preferred: []api.PreferredNodeTerm{{Weight: 10, Preference: wantNodeTerm()}},
			},
			PodAffinity: &api.PodAffinity{
				Required:  []api.PodAffinityTerm{wantPodTerm()},
				Preferred: []api.WeightedPodAffinityTerm{{Weight: 100, Term: wantPodTerm()}},
			},
			PodAntiAffinity: &api.PodAffinity{Required: []api.PodAffinityTerm{wantPodTerm()}},
			Tolerations: []api.Toleration{
				{Operator: api.TolerationExists},
				{Key: "k", Value: "v", Effect: api.NoExecute},
			},
			Spread: []api.TopologySpreadConstraint{
				{
					MaxSkew: 2, TopologyKey: "zone", LabelSelector: wantSelector("web"), MinDomains: 3,
					IgnoreNodeAffinity: true, HonorNodeTaints: true, MatchLabelKeys: []string{"pod-template-hash"},
				},
				{MaxSkew: 1, TopologyKey: "zone", ScheduleAnyway: true, MinDomains: 1},
			},
			Containers: []api.Container{{
				Name: "main", Image: "web:1",
				Requests: api.Resources{
					{Resource: "attachable-volumes-csi", Amount: 2}, {Resource: "cpu", Amount: 500},
					{Resource: "example.com/gpu", Amount: 1}, {Resource: "memory"},
				},
				HostPorts: []api.HostPort{{Port: 80, Protocol: api.UDP, HostIP: "10.0.0.1"}},
			}},
			InitContainers: []api.Container{{Name: "proxy", Sidecar: true}, {Name: "setup"}},
			Requests:       api.Resources{{Resource: "cpu", Amount: 600}},
			Overhead:       api.Resources{{Resource: "memory", Amount: 1 << 20}},
			Priority:       9,
			NeverPreempts:  true,
			SchedulerName:  "mine",

			SchedulingGroup:      "crew",
			RequiredNodeFeatures: []string{"B", "A"},
			UnclaimedVolumes:     api.UnclaimedVolumes{ImageVolumes: []string{"data:1"}, EmptyDir: true},
			Volumes: []api.PodVolume{
				{Claim: &api.PodClaim{Name: "data", OfPod: true, Template: wantClaimSpec()}},
				{Claim: &api.PodClaim{Name: "scratch", Ephemeral: true, Template: wantClaimSpec()}},
				{Disk: api.Disk{
					Kind: api.RBD, ID: "pool/image", Monitors: []string{"m1", "m2"}, ReadOnly: true, CSIDriver: "rbd.csi.ceph.com", VolumeHandle: "rbd-1",
				}},
			},
			ResourceClaims: wantPodResourceClaims(),
		},
	}
	pinned := &api.PodTemplate{
		Namespace: "default",
		Spec:      api.PodSpec{NodeName: "b", SchedulingGates: []string{"quota"}},
	}
	class := &api.NodeClass{
		NodeSpec: api.NodeSpec{
			Labels:           api.Labels{{Key: "pool", Value: "p"}, {Key: "zone", Value: "z2"}},
			Taints:           []api.Taint{{Key: "k", Effect: api.PreferNoSchedule}},
			Allocatable:      api.Resources{{Resource: "cpu", Amount: 1000}, {Resource: "pods", Amount: 10}},
			Images:           []api.Image{{Names: []string{"web:1"}, SizeBytes: 1}},
			DeclaredFeatures: []string{"A"},
			CSINode:          wantCSINode(8),
		},
		NameLabelKeys: []string{"kubernetes.io/hostname"},
	}
	want := &decode.WholePlace{
		Cluster: &api.Cluster{
			Nodes: []api.Node{
				{
					Name: "a",
					NodeSpec: api.NodeSpec{
						Labels: api.Labels{{Key: "disk", Value: "ssd"}, {Key: "zone", Value: "z1"}},
						Taints: []api.Taint{{Key: "k", Value: "v", Effect: api.NoSchedule}},
						Allocatable: api.Resources{
							{Resource: "cpu", Amount: 8000}, {Resource: "ephemeral-storage", Amount: 100 << 30},
							{Resource: "example.com/gpu", Amount: 4}, {Resource: "memory", Amount: 32 << 30},
							{Resource: "pods", Amount: 110},
						},
						Images:  []api.Image{{Names: []string{"web:1"}, SizeBytes: 50 << 20}},
						CSINode: wantCSINode(16),
					},
					Unschedulable: true, AttachedVolumes: []string{"pv-1", "pv-gone"},
					PodCounts: []api.PodCount{{Template: 0, Count: 3, Terminating: true, Readiness: api.Ready}},
					Pods: []api.Pod{
						{Name: "own", Template: &api.PodTemplate{Namespace: "default"}, TemplateIndex: -1, StartTime: 1, Readiness: api.NotReady},
						{
							Name: "web-1-x", Template: &template, StartTime: 1_790_000_000_000_000_005, Preempted: true,
							ResourceClaimStatuses: []api.PodClaimStatus{{Name: "own", ResourceClaimName: "own-x7"}, {Name: "none"}},
							Unread:                []api.UnreadField{{Object: "Pod prod/web-1-x", Field: "spec.x", Consequence: "c"}},
							Labels:                api.Labels{{Key: "statefulset.kubernetes.io/pod-name", Value: "web-0"}},
							Terminating:           true,
							ResourceStatus: &api.PodResourceStatus{
								ResizeInfeasible: true,
								Containers: []api.ContainerResourceStatus{{
									Name:      "main",
									Allocated: api.Resources{{Resource: "cpu", Amount: 100}},
									Actuated:  api.Resources{{Resource: "cpu", Amount: 200}},
								}},
								Allocated:        api.Resources{{Resource: "memory", Amount: 1}},
								Actuated:         api.Resources{{Resource: "memory", Amount: 2}},
								ResourcesPresent: true,
							},
						},
					},
					Nominated: []api.Pod{
						{
							Name: "web-1-y", Template: &template,
							Labels:      api.Labels{{Key: "statefulset.kubernetes.io/pod-name", Value: "web-1"}},
							Terminating: true, ResourceStatus: &api.PodResourceStatus{ResourcesPresent: true},
						},
						{Name: "web-1-y", Template: &api.PodTemplate{Namespace: "default"}, TemplateIndex: -1},
					},
				},
				{Name: "b", NodeSpec: api.NodeSpec{DeclaredFeatures: []string{"B", "A", "B"}}},
				{Name: "c", Class: class},
			},
			Classes:   []*api.NodeClass{class},
			Templates: []*api.PodTemplate{&template},
			Namespaces: []api.Namespace{
				{Name: "prod", Labels: api.Labels{{Key: "kubernetes.io/metadata.name", Value: "prod"}}},
			},
			WorkloadSelectors: []api.WorkloadSelector{
				{
					Kind: api.Service, Namespace: "default", Name: "web",
					Selector: &api.LabelSelector{MatchLabels: api.Labels{{Key: "app", Value: "web"}}},
				},
				{Kind: api.ReplicaSet, Namespace: "prod", Name: "web-1", Selector: wantSelector("web")},
			},
			PodGroups: []api.PodGroup{
				{Name: "prod/crew", Minimum: 2, Priority: new(int32(0)), Keys: []string{"rack"}, Constrained: true, DisruptAll: true},
				{Name: "default/other", Joint: true, Steps: 5},
			},
			Budgets: []api.PodDisruptionBudget{
				{Namespace: "default", Name: "web"},
				{Namespace: "prod", Name: "all", Selector: &api.LabelSelector{}, DisruptionsAllowed: -1},
				{
					Namespace: "prod", Name: "web", Selector: wantSelector("web"), DisruptionsAllowed: 1,
					Disrupted:   []string{"web-1-x", "web-1-z"},
					AlwaysAllow: true, CurrentHealthy: 3, DesiredHealthy: 2, Outdated: true,
				},
			},
			Storage: wantStorage(),
			Devices: wantDevices(),
		},
		Queue: []engine.Pending{
			{Pod: api.Pod{Template: &template}, Count: 1},
			{Pod: api.Pod{Name: "pinned", Template: pinned, TemplateIndex: -1, NominatedNode: "c"}, Count: 5},
		},
		Options: engine.PlaceOptions{
			Profile: &api.Profile{
				Weights: api.Weights{
					TaintToleration: 3, NodeAffinity: 7, NodeResourcesFit: 1, PodTopologySpread: 2, InterPodAffinity: 2,
					BalancedAllocation: 1, ImageLocality: 1, VolumeBinding: 1, DynamicResources: 2,
				},
				AddedAffinity: &api.NodeAffinity{
					Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{wantNodeTerm()}},
				},
				Scoring: api.ScoringStrategy{
					Type:      api.RequestedToCapacityRatio,
					Resources: []api.ResourceWeight{{Resource: "example.com/gpu", Weight: 3}},
					Shape:     []api.ShapePoint{{}, {Utilization: 100, Score: 10}},
				},
				BalancedResources:                  []string{"cpu"},
				IgnoredResources:                   []string{"example.com/fpga"},
				IgnoredResourceGroups:              []string{"example.org"},
				IgnorePreferredTermsOfExistingPods: true,
				DisabledPostFilters:                api.PostFilters{DefaultPreemption: true},
				DisabledGroupPostFilters:           api.PostFilters{DynamicResources: true},
				DefaultSpread: []api.TopologySpreadConstraint{
					{MaxSkew: 4, TopologyKey: "zone", ScheduleAnyway: true, MinDomains: 1},
				},
				TolerationComparisonOperators: true,
			},
			Candidates: []uint32{0, 1, 2},
			Seed:       42,
			FewestPods: true,
			Explain:    true,
			Groups: []engine.PodGroup{{
				Name: "pinned", Entries: []int{1}, Minimum: 3, Joint: true, Steps: 9, Keys: []string{"rack", "zone"}, Preferred: true, Constrained: true,
				Priority: new(int32(7)), DisruptAll: true,
			}, {
				Name: "prod/crew", Entries: []int{0}, Minimum: 2, Priority: new(int32(0)), Keys: []string{"rack"}, Constrained: true, DisruptAll: true,
			}},
			Partial: true,
			Preempt: true,
		},
	}
	if diff := cmp.Diff(want, got, untuned); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	shared := got.Cluster.Templates[0]
	if got.Cluster.Nodes[0].Pods[1].Template != shared || got.Queue[0].Pod.Template != shared {
		t.Error("pods of a template of the cluster do not share it")
	}
}

func minimal() *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}}}},
		},
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{}},
	}
}

func TestDefaults(t *testing.T) {
	got, err := decode.Filter(minimal())
	if err != nil {
		t.Fatal(err)
	}
	want := &decode.WholeFilter{
		Cluster: &api.Cluster{Nodes: []api.Node{{Name: "a"}}},
		Pod:     &api.Pod{Template: &api.PodTemplate{Namespace: "default"}, TemplateIndex: -1},
		Options: engine.FilterOptions{Profile: api.Kube137()},
	}
	if diff := cmp.Diff(want, got, untuned); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEmptyProfileIsTheDefault(t *testing.T) {
	r := minimal()
	r.Context.Profile = &stowagev1.Profile{
		ScoringStrategy: &stowagev1.ScoringStrategy{},
		DefaultSpread:   &stowagev1.DefaultSpread{},
	}
	got, err := decode.Filter(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Kube137(), got.Options.Profile); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPresentCandidatesWithoutEntriesAreNone(t *testing.T) {
	r := minimal()
	r.CandidateNodes = &stowagev1.CandidateNodes{}
	got, err := decode.Filter(r)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Options.Candidates; c == nil || len(c) != 0 {
		t.Errorf("candidates are %v, want an empty list that is not nil", c)
	}
}

func TestControllers(t *testing.T) {
	for _, test := range []struct {
		version, kind string
		want          api.ControllerReference
	}{
		{"v1", "ReplicationController", api.ControllerReference{Kind: api.ReplicationController, Name: "x"}},
		{"apps/v1", "ReplicaSet", api.ControllerReference{Kind: api.ReplicaSet, Name: "x"}},
		{"apps/v1", "StatefulSet", api.ControllerReference{Kind: api.StatefulSet, Name: "x"}},
		{"apps/v1", "DaemonSet", api.ControllerReference{Kind: api.DaemonSet}},
		{"apps/v1", "DaemonSet gone", api.ControllerReference{Kind: api.DaemonSet, Gone: true}},
		{"v1", "Node", api.ControllerReference{Kind: api.DaemonSet, Mirror: true}},
		{"v1", "Node gone", api.ControllerReference{Kind: api.OtherController, Gone: true}},
		{"batch/v1", "Job", api.ControllerReference{Kind: api.OtherController}},
		{"apps/v1beta1", "StatefulSet", api.ControllerReference{Kind: api.OtherController}},
		{"v1", "ReplicaSet", api.ControllerReference{Kind: api.OtherController}},
		{"", "", api.ControllerReference{}},
	} {
		kind, gone := strings.CutSuffix(test.kind, " gone")
		r := minimal()
		r.Pod.Source = &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
			Controller: &stowagev1.ControllerReference{ApiVersion: test.version, Kind: kind, Name: "x", Gone: gone},
		}}
		got, err := decode.Filter(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Pod.Template.Controller); diff != "" {
			t.Errorf("%s %s: -want +got:\n%s", test.version, test.kind, diff)
		}
	}
}

// In a required term a number that is none is kube-scheduler's to judge: the term matches nothing.
func TestBadNumbersInRequiredTermsPass(t *testing.T) {
	r := minimal()
	r.Pod.Source = &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Affinity: &stowagev1.Affinity{NodeAffinity: &stowagev1.NodeAffinity{Required: &stowagev1.NodeSelector{
			Terms: []*stowagev1.NodeSelectorTerm{{MatchExpressions: []*stowagev1.NodeSelectorRequirement{{
				Key: "cores", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT, Values: []string{"many"},
			}}}},
		}}},
	}}}
	got, err := decode.Filter(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []api.Requirement{{Key: "cores", Operator: api.LessThan, Values: []string{"many"}}}
	if diff := cmp.Diff(want, got.Pod.Template.Spec.NodeAffinity.Required.Terms[0].MatchExpressions); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestScoreAgreesWithFilter(t *testing.T) {
	p := request()
	filter, err := decode.Filter(&stowagev1.FilterRequest{
		Context: p.Context, Pod: p.Queue[0].Pod, CandidateNodes: p.CandidateNodes,
	})
	if err != nil {
		t.Fatal(err)
	}
	score, err := decode.Score(&stowagev1.ScoreRequest{
		Context: p.Context, Pod: p.Queue[0].Pod, CandidateNodes: p.CandidateNodes,
		IncludePluginScores: true, IncludeRejections: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &decode.WholeScore{
		Cluster: filter.Cluster, Pod: filter.Pod,
		Options: engine.ScoreOptions{Profile: filter.Options.Profile, Candidates: filter.Options.Candidates, Rejections: true},
	}
	if diff := cmp.Diff(want, score); diff != "" {
		t.Errorf("-filter +score:\n%s", diff)
	}
}

func TestRequestIsNotChanged(t *testing.T) {
	r := request()
	before := proto.Clone(r)
	if _, err := decode.Place(r); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(before, r) {
		t.Error("the request was changed")
	}
}

// untuned leaves out what only the engine's own tests set.
var untuned = cmpopts.IgnoreUnexported(engine.PlaceOptions{})

// TestWeightZero says that a plugin with the weight 0 does not score, and that the others have their defaults.
func TestWeightZero(t *testing.T) {
	r := minimal()
	r.Context.Profile = &stowagev1.Profile{PluginWeights: []*stowagev1.PluginWeight{
		{Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, Weight: new(int32(0))},
	}}
	got, err := decode.Filter(r)
	if err != nil {
		t.Fatal(err)
	}
	want := api.Kube137().Weights
	want.InterPodAffinity = 0
	if got.Options.Profile.Weights != want {
		t.Errorf("weights %+v, want %+v", got.Options.Profile.Weights, want)
	}
}
