package decode_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

type place = stowagev1.PlaceRequest

// queued makes the sound request one that kube-scheduler's queue takes, and returns its group.
func queued(r *place) *stowagev1.PodGroup {
	r.QueueMode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	g := r.PodGroups[0]
	g.Mode, g.MaxSteps, g.Topology, g.DisruptionMode = 0, nil, &stowagev1.PodGroupTopology{Keys: []string{"rack"}}, 0
	return g
}

// malformation makes the sound request malformed in one field.
type malformation struct {
	field, reason, description string
	change                     func(r *place)
}

// malformed has a malformation for each kind of malformed field.
var malformed = slices.Concat(malformedStorage, malformedDevices, []malformation{
	{"context", "REQUIRED", "is required", func(r *place) {
		r.Context = nil
		r.Queue, r.PodGroups = nil, nil
		r.CandidateNodes = nil
	}},
	{"context.base", "REQUIRED", "one of cluster and snapshot is required", func(r *place) {
		r.Context.Base = nil
		r.Queue, r.PodGroups = nil, nil
		r.CandidateNodes = nil
	}},
	{"context.cluster.nodes[1].name", "REQUIRED", "is required", func(r *place) {
		node(r, 1).Name = ""
		r.CandidateNodes = nil
	}},
	{"context.cluster.nodes[2].name", "DUPLICATE", "duplicates context.cluster.nodes[0]", func(r *place) {
		node(r, 2).Name = "a"
	}},
	{"context.cluster.nodes[2].name", "TOO_LONG", "at most 253", func(r *place) { node(r, 2).Name = strings.Repeat("a", 254) }},
	{`context.cluster.nodes[1].labels[""]`, "REQUIRED", "empty key", func(r *place) {
		node(r, 1).Labels = map[string]string{"": "v"}
	}},
	{`context.cluster.nodes[1].labels["k"]`, "TOO_LONG", "value of 64 bytes", func(r *place) {
		node(r, 1).Labels = map[string]string{"k": strings.Repeat("v", 64)}
	}},
	{`context.cluster.nodes[1].labels["` + strings.Repeat("k", 64) + `"...]`, "TOO_LONG", "key of 318 bytes", func(r *place) {
		node(r, 1).Labels = map[string]string{strings.Repeat("k", 318): "v"}
	}},
	{"context.cluster.nodes[1].labels", "WRONG_COUNT", "at most 10000", func(r *place) {
		node(r, 1).Labels = make(map[string]string)
		for i := range decode.MaxLabels + 1 {
			node(r, 1).Labels[fmt.Sprint("k", i)] = ""
		}
	}},
	{"context.cluster.nodes[0].taints[0].key", "REQUIRED", "is required", func(r *place) { node(r, 0).Taints[0].Key = "" }},
	{"context.cluster.nodes[0].taints[0].value", "TOO_LONG", "at most 63", func(r *place) {
		node(r, 0).Taints[0].Value = strings.Repeat("v", 64)
	}},
	{"context.cluster.nodes[0].taints[0].effect", "UNKNOWN_VALUE", "must be TAINT_EFFECT_NO_SCHEDULE", func(r *place) {
		node(r, 0).Taints[0].Effect = 0
	}},
	{"context.cluster.nodes[0].taints[0].effect", "UNKNOWN_VALUE", "must be TAINT_EFFECT_NO_SCHEDULE", func(r *place) {
		node(r, 0).Taints[0].Effect = 9
	}},
	{"context.cluster.nodes[0].taints", "WRONG_COUNT", "at most 1000", func(r *place) {
		node(r, 0).Taints = make([]*stowagev1.Taint, 1_001)
	}},
	{"context.cluster.nodes[0].allocatable.cpu_millis", "OUT_OF_RANGE", "is -1", func(r *place) {
		node(r, 0).Allocatable.CpuMillis = proto.Int64(-1)
	}},
	{"context.cluster.nodes[0].allocatable.memory_bytes", "OUT_OF_RANGE", "is -2, at least 0 is required", func(r *place) {
		node(r, 0).Allocatable.MemoryBytes = proto.Int64(-2)
	}},
	{"context.cluster.nodes[0].allocatable.ephemeral_storage_bytes", "OUT_OF_RANGE", "is -1", func(r *place) {
		node(r, 0).Allocatable.EphemeralStorageBytes = proto.Int64(-1)
	}},
	{"context.cluster.nodes[0].allocatable.pods", "OUT_OF_RANGE", "is -1", func(r *place) {
		node(r, 0).Allocatable.Pods = proto.Int64(-1)
	}},
	{`context.cluster.nodes[0].allocatable.scalars["example.com/gpu"]`, "OUT_OF_RANGE", "is -1", func(r *place) {
		node(r, 0).Allocatable.Scalars["example.com/gpu"] = -1
	}},
	{`context.cluster.nodes[0].allocatable.scalars["cpu"]`, "NOT_ALLOWED", "field of its own", func(r *place) {
		node(r, 0).Allocatable.Scalars["cpu"] = 1
	}},
	{`context.cluster.nodes[0].allocatable.scalars[""]`, "REQUIRED", "empty name", func(r *place) {
		node(r, 0).Allocatable.Scalars[""] = 1
	}},
	{`context.cluster.nodes[0].allocatable.scalars["` + strings.Repeat("k", 64) + `"...]`, "TOO_LONG", "name of 318 bytes", func(r *place) {
		node(r, 0).Allocatable.Scalars[strings.Repeat("k", 318)] = 1
	}},
	{"context.cluster.nodes[0].images[0].size_bytes", "OUT_OF_RANGE", "is -1", func(r *place) {
		node(r, 0).Images[0].SizeBytes = -1
	}},
	{"context.cluster.nodes[0].images[0].size_bytes", "OUT_OF_RANGE", "are allowed", func(r *place) {
		node(r, 0).Images[0].SizeBytes = 1<<44 + 1
	}},
	{"context.cluster.nodes[0].images[0].names", "WRONG_COUNT", "at most 1000", func(r *place) {
		node(r, 0).Images[0].Names = make([]string, 1_001)
	}},
	{"context.cluster.nodes[0].images", "WRONG_COUNT", "at most 10000", func(r *place) {
		node(r, 0).Images = make([]*stowagev1.ContainerImage, 10_001)
	}},
	{"context.cluster.nodes[1].declared_features[1]", "REQUIRED", "is empty", func(r *place) {
		node(r, 1).DeclaredFeatures = []string{"A", ""}
	}},
	{"context.cluster.nodes[1].declared_features[0]", "TOO_LONG", "at most 253", func(r *place) {
		node(r, 1).DeclaredFeatures = []string{strings.Repeat("A", 254)}
	}},
	{"context.cluster.nodes[1].declared_features", "WRONG_COUNT", "at most 1000", func(r *place) {
		node(r, 1).DeclaredFeatures = slices.Repeat([]string{"A"}, 1_001)
	}},
	{"context.cluster.nodes[0].pod_counts[0].template_index", "NOT_FOUND", "is 1, but cluster.pod_templates has 1", func(r *place) {
		node(r, 0).PodCounts[0].TemplateIndex = 1
	}},
	{"context.cluster.nodes[0].pod_counts[0].count", "OUT_OF_RANGE", "is 0", func(r *place) { node(r, 0).PodCounts[0].Count = 0 }},
	{"context.cluster.nodes", "WRONG_COUNT", "pods in all", func(r *place) {
		small := &stowagev1.PodTemplate{}
		cluster(r).PodTemplates = append(cluster(r).PodTemplates, small)
		node(r, 1).PodCounts = []*stowagev1.PodCount{{TemplateIndex: 1, Count: 1<<32 - 1}}
	}},
	{"context.cluster.nodes[0].pods[0].template_index", "NOT_FOUND", "is 4294967295", func(r *place) {
		node(r, 0).Pods[0].Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 1<<32 - 1}
	}},
	{"context.cluster.nodes[0].pods[0].source", "REQUIRED", "is required", func(r *place) { node(r, 0).Pods[0].Source = nil }},
	{"context.cluster.nodes[0].pods[0].name", "TOO_LONG", "at most 253", func(r *place) {
		node(r, 0).Pods[0].Name = strings.Repeat("a", 254)
	}},
	{`context.cluster.nodes[0].pods[0].labels[""]`, "REQUIRED", "empty key", func(r *place) {
		node(r, 0).Pods[0].Labels[""] = ""
	}},
	{"context.cluster.nodes[0].pods[1].template.spec.node_name", "NOT_ALLOWED", "must be empty", func(r *place) {
		node(r, 0).Pods[1].GetTemplate().Spec = &stowagev1.PodSpec{NodeName: "a"}
	}},
	{"context.cluster.nodes[0].pods[0].template_index", "NOT_ALLOWED", "template with a node_name", func(r *place) {
		spec(r).NodeName = "a"
		node(r, 0).PodCounts, node(r, 0).NominatedPods = nil, nil
	}},
	{"context.cluster.nodes[0].pod_counts[0].template_index", "NOT_ALLOWED", "template with a node_name", func(r *place) {
		spec(r).NodeName = "a"
		node(r, 0).Pods, node(r, 0).NominatedPods = nil, nil
	}},
	{"context.cluster.nodes[0].pods[0].nominated_node_name", "NOT_ALLOWED", "must be empty", func(r *place) {
		node(r, 0).Pods[0].NominatedNodeName = "a"
	}},
	{"context.cluster.nodes[0].nominated_pods[0].nominated_node_name", "NOT_ALLOWED", "must be empty", func(r *place) {
		node(r, 0).NominatedPods[0].NominatedNodeName = "a"
	}},
	{"context.cluster.nodes[0].nominated_pods[0].name", "REQUIRED", "is required in nominated_pods", func(r *place) {
		node(r, 0).NominatedPods[0].Name = ""
	}},
	{"context.cluster.nodes[0].nominated_pods[1].name", "TOO_LONG", "at most 253", func(r *place) {
		node(r, 0).NominatedPods[1].Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.nodes[0].nominated_pods[1].name", "DUPLICATE", "duplicates nominated_pods[0]", func(r *place) {
		node(r, 0).NominatedPods[1].GetTemplate().Namespace = "prod"
	}},
	{"context.cluster.nodes[0].nominated_pods[0].template_index", "NOT_FOUND", "is 7", func(r *place) {
		node(r, 0).NominatedPods[0].Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 7}
	}},
	{"context.cluster.nodes[0].nominated_pods[0].source", "REQUIRED", "is required", func(r *place) {
		node(r, 0).NominatedPods[0].Source = nil
	}},
	{"context.cluster.nodes[0].nominated_pods[0].template_index", "NOT_ALLOWED", "template with a node_name", func(r *place) {
		spec(r).NodeName = "a"
		node(r, 0).PodCounts, node(r, 0).Pods = nil, nil
	}},
	{"context.cluster.nodes[0].nominated_pods[1].template.spec.node_name", "NOT_ALLOWED", "must be empty", func(r *place) {
		node(r, 0).NominatedPods[1].GetTemplate().Spec = &stowagev1.PodSpec{NodeName: "a"}
	}},
	{"context.cluster.nodes[0].nominated_pods[0].resource_status.containers[0].name", "REQUIRED", "is required", func(r *place) {
		node(r, 0).NominatedPods[0].ResourceStatus.Containers = []*stowagev1.ContainerResourceStatus{{}}
	}},
	{"context.cluster.nodes[0].pods[0].start_time", "OUT_OF_RANGE", "is 0 s and 0 ns after 1970", func(r *place) {
		node(r, 0).Pods[0].StartTime = &timestamppb.Timestamp{}
	}},
	{"context.cluster.nodes[0].pods[0].start_time", "OUT_OF_RANGE", "is -1 s and 999999999 ns after 1970", func(r *place) {
		node(r, 0).Pods[0].StartTime = &timestamppb.Timestamp{Seconds: -1, Nanos: 999_999_999}
	}},
	{"context.cluster.nodes[0].pods[0].start_time", "OUT_OF_RANGE", "before 2262 are allowed", func(r *place) {
		node(r, 0).Pods[0].StartTime = timestamppb.New(time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC))
	}},
	{"context.cluster.nodes[0].pods[1].start_time", "OUT_OF_RANGE", "before 2262 are allowed", func(r *place) {
		node(r, 0).Pods[1].StartTime = &timestamppb.Timestamp{Seconds: math.MaxInt64}
	}},
	{"context.cluster.nodes[0].pods[0].start_time", "OUT_OF_RANGE", "must have nanos of 0 to 999999999", func(r *place) {
		node(r, 0).Pods[0].StartTime.Nanos = 1_000_000_000
	}},
	{"context.cluster.nodes[0].pods[0].start_time", "OUT_OF_RANGE", "must have nanos of 0 to 999999999", func(r *place) {
		node(r, 0).Pods[0].StartTime.Nanos = -1
	}},
	{"context.cluster.nodes[0].nominated_pods[0].start_time", "NOT_ALLOWED", "must be absent", func(r *place) {
		node(r, 0).NominatedPods[0].StartTime = &timestamppb.Timestamp{Seconds: 1}
	}},
	{"queue[0].pod.start_time", "NOT_ALLOWED", "must be absent", func(r *place) {
		r.Queue[0].Pod.StartTime = &timestamppb.Timestamp{Seconds: 1}
	}},
	{"context.cluster.nodes[0].pods[1].preempted", "NOT_ALLOWED", "must be false if terminating is", func(r *place) {
		node(r, 0).Pods[1].Preempted = true
	}},
	{"context.cluster.nodes[0].nominated_pods[0].preempted", "NOT_ALLOWED", "must be false: only pods that run", func(r *place) {
		node(r, 0).NominatedPods[0].Preempted = true
	}},
	{"queue[1].pod.preempted", "NOT_ALLOWED", "must be false: only pods that run", func(r *place) {
		r.Queue[1].Pod.Preempted, r.Queue[1].Pod.Terminating = true, true
	}},
	{"context.cluster.nodes[0].pods[1].readiness", "UNKNOWN_VALUE", "must be POD_READINESS_READY", func(r *place) {
		node(r, 0).Pods[1].Readiness = 9
	}},
	{"context.cluster.nodes[0].pod_counts[0].readiness", "UNKNOWN_VALUE", "must be POD_READINESS_READY", func(r *place) {
		node(r, 0).PodCounts[0].Readiness = 9
	}},
	{"context.cluster.nodes[0].nominated_pods[0].readiness", "NOT_ALLOWED", "must be absent", func(r *place) {
		node(r, 0).NominatedPods[0].Readiness = stowagev1.PodReadiness_POD_READINESS_READY
	}},
	{"queue[1].pod.readiness", "NOT_ALLOWED", "must be absent", func(r *place) {
		r.Queue[1].Pod.Readiness = stowagev1.PodReadiness_POD_READINESS_PENDING
	}},
	{"context.cluster.nodes", "WRONG_COUNT", "have 1073741825 pods in all", func(r *place) {
		node(r, 0).PodCounts[0].Count = decode.MaxClusterPods - 3
	}},
	{"queue[1].pod.nominated_node_name", "TOO_LONG", "has 254 bytes, at most 253", func(r *place) {
		r.Queue[1].Pod.NominatedNodeName = strings.Repeat("a", 254)
	}},
	{"context.cluster.nodes[0].pods[0].resource_status.containers[0].name", "REQUIRED", "is required", func(r *place) {
		node(r, 0).Pods[0].ResourceStatus.Containers[0].Name = ""
	}},
	{"context.cluster.nodes[0].pods[0].resource_status.containers", "WRONG_COUNT", "at most 2000", func(r *place) {
		node(r, 0).Pods[0].ResourceStatus.Containers = make([]*stowagev1.ContainerResourceStatus, 2*decode.MaxContainers+1)
	}},
	{"context.cluster.nodes[0].pods[0].resource_status.containers[0].allocated.cpu_millis", "OUT_OF_RANGE", "is -5", func(r *place) {
		node(r, 0).Pods[0].ResourceStatus.Containers[0].Allocated.CpuMillis = proto.Int64(-5)
	}},
	{"context.cluster.nodes[0].pods[0].resource_status.actuated.memory_bytes", "OUT_OF_RANGE", "is -5", func(r *place) {
		node(r, 0).Pods[0].ResourceStatus.Actuated.MemoryBytes = proto.Int64(-5)
	}},
	{"queue[0].pod.unread[0].object", "REQUIRED", "is required", func(r *place) {
		r.Queue[0].Pod.Unread = []*stowagev1.UnreadField{{Field: "spec.resourceClaims[0]"}}
	}},
	{"queue[0].pod.unread[0].field", "REQUIRED", "is required", func(r *place) {
		r.Queue[0].Pod.Unread = []*stowagev1.UnreadField{{Object: "Pod default/web"}}
	}},
	{"queue[0].pod.unread[0].object", "TOO_LONG", "has 1025 bytes, at most 1024", func(r *place) {
		r.Queue[0].Pod.Unread = []*stowagev1.UnreadField{{Object: strings.Repeat("o", 1025), Field: "spec.resourceClaims[0]"}}
	}},
	{"queue[0].pod.unread[0].field", "TOO_LONG", "has 1025 bytes, at most 1024", func(r *place) {
		r.Queue[0].Pod.Unread = []*stowagev1.UnreadField{{Object: "Pod default/web", Field: strings.Repeat("f", 1025)}}
	}},
	{"queue[0].pod.unread[0].consequence", "TOO_LONG", "has 4097 bytes, at most 4096", func(r *place) {
		long := strings.Repeat("c", 4097)
		r.Queue[0].Pod.Unread = []*stowagev1.UnreadField{{Object: "Pod default/web", Field: "spec.nodeName", Consequence: long}}
	}},
	{"queue[0].pod.unread", "WRONG_COUNT", "at most 1000", func(r *place) {
		r.Queue[0].Pod.Unread = make([]*stowagev1.UnreadField, 1_001)
	}},
	{"context.cluster.namespaces[0].name", "REQUIRED", "is required", func(r *place) { cluster(r).Namespaces[0].Name = "" }},
	{"context.cluster.namespaces[1].name", "DUPLICATE", "duplicates context.cluster.namespaces[0]", func(r *place) {
		cluster(r).Namespaces = append(cluster(r).Namespaces, &stowagev1.Namespace{Name: "prod"})
	}},
	{`context.cluster.namespaces[0].labels[""]`, "REQUIRED", "empty key", func(r *place) {
		cluster(r).Namespaces[0].Labels[""] = ""
	}},
	{"context.cluster.workload_selectors[0].kind", "UNKNOWN_VALUE", "must be WORKLOAD_KIND_SERVICE", func(r *place) {
		cluster(r).WorkloadSelectors[0].Kind = 0
	}},
	{"context.cluster.workload_selectors[0].name", "REQUIRED", "is required", func(r *place) {
		cluster(r).WorkloadSelectors[0].Name = ""
	}},
	{"context.cluster.workload_selectors[0].namespace", "TOO_LONG", "at most 63", func(r *place) {
		cluster(r).WorkloadSelectors[0].Namespace = strings.Repeat("n", 64)
	}},
	{"context.cluster.workload_selectors[0].selector.match_expressions", "NOT_ALLOWED", "must be empty with WORKLOAD_KIND_SERVICE", func(r *place) {
		cluster(r).WorkloadSelectors[0].Selector = selector("web")
	}},
	{"context.cluster.workload_selectors[2].name", "DUPLICATE", "duplicates context.cluster.workload_selectors[1]", func(r *place) {
		cluster(r).WorkloadSelectors = append(cluster(r).WorkloadSelectors, cluster(r).WorkloadSelectors[1])
	}},
	{"context.cluster.pod_disruption_budgets[0].name", "REQUIRED", "is required", func(r *place) { budget(r).Name = "" }},
	{"context.cluster.pod_disruption_budgets[0].name", "TOO_LONG", "at most 253", func(r *place) {
		budget(r).Name = strings.Repeat("b", 254)
	}},
	{"context.cluster.pod_disruption_budgets[0].namespace", "TOO_LONG", "at most 63", func(r *place) {
		budget(r).Namespace = strings.Repeat("n", 64)
	}},
	{"context.cluster.pod_disruption_budgets[3].name", "DUPLICATE",
		"duplicates context.cluster.pod_disruption_budgets[2], names must be unique per namespace", func(r *place) {
			cluster(r).PodDisruptionBudgets = append(cluster(r).PodDisruptionBudgets,
				&stowagev1.PodDisruptionBudget{Namespace: "default", Name: "web"})
		}},
	{`context.cluster.pod_disruption_budgets[0].selector.match_labels["a b"]`, "INVALID_SYNTAX",
		"must be a label key", func(r *place) { budget(r).Selector.MatchLabels["a b"] = "" }},
	{"context.cluster.pod_disruption_budgets[0].selector.match_expressions[0].operator", "UNKNOWN_VALUE",
		"must be LABEL_SELECTOR_OPERATOR_IN", func(r *place) { budget(r).Selector.MatchExpressions[0].Operator = 7 }},
	{"context.cluster.pod_disruption_budgets[0].selector.match_expressions[0].values", "REQUIRED", "at least one", func(r *place) {
		budget(r).Selector.MatchExpressions[0].Values = nil
	}},
	{"context.cluster.pod_disruption_budgets[0].unhealthy_pod_eviction_policy", "UNKNOWN_VALUE",
		"must be UNHEALTHY_POD_EVICTION_POLICY_IF_HEALTHY_BUDGET or", func(r *place) { budget(r).UnhealthyPodEvictionPolicy = 9 }},
	{"context.cluster.pod_disruption_budgets[0].disrupted_pods[1]", "REQUIRED", "is empty", func(r *place) {
		budget(r).DisruptedPods = []string{"b", ""}
	}},
	{"context.cluster.pod_disruption_budgets[0].disrupted_pods[1]", "TOO_LONG", "at most 253", func(r *place) {
		budget(r).DisruptedPods = []string{"b", strings.Repeat("a", 254)}
	}},
	{"context.cluster.pod_disruption_budgets[0].disrupted_pods", "WRONG_COUNT", "at most 100000", func(r *place) {
		budget(r).DisruptedPods = slices.Repeat([]string{"p"}, 100_001)
	}},

	{"context.cluster.pod_groups[1].name", "REQUIRED", "is required", func(r *place) { cluster(r).PodGroups[1].Name = "" }},
	{"context.cluster.pod_groups[1].name", "INVALID_SYNTAX", "must be a namespace and a name", func(r *place) {
		cluster(r).PodGroups[1].Name = "other"
	}},
	{"context.cluster.pod_groups[1].name", "INVALID_SYNTAX", "must be a namespace and a name", func(r *place) {
		cluster(r).PodGroups[1].Name = "a/b/c"
	}},
	{"context.cluster.pod_groups[1].name", "DUPLICATE", "duplicates context.cluster.pod_groups[0], names must be", func(r *place) {
		cluster(r).PodGroups[1].Name = "prod/crew"
	}},
	{"context.cluster.pod_groups[0].min_count", "OUT_OF_RANGE", "is 0", func(r *place) {
		cluster(r).PodGroups[0].MinCount = new(uint32(0))
	}},
	{"context.cluster.pod_groups[0].max_steps", "NOT_ALLOWED", "only allowed with POD_GROUP_MODE_JOINT", func(r *place) {
		cluster(r).PodGroups[0].MaxSteps = new(uint32(1))
	}},
	{"context.cluster.pod_groups[0].topology.keys[0]", "INVALID_SYNTAX", "", func(r *place) {
		cluster(r).PodGroups[0].Topology.Keys[0] = "a b"
	}},
	{"context.cluster.pod_groups[0].disruption_mode", "UNKNOWN_VALUE", "", func(r *place) { cluster(r).PodGroups[0].DisruptionMode = 3 }},
	{"context.cluster.pod_templates[0].spec.scheduling_group", "TOO_LONG", "at most 253", func(r *place) {
		spec(r).SchedulingGroup = strings.Repeat("g", 254)
	}},
	{"context.cluster.pod_templates[0].spec.required_node_features[1]", "REQUIRED", "is empty", func(r *place) {
		spec(r).RequiredNodeFeatures = []string{"A", ""}
	}},
	{"context.cluster.pod_templates[0].spec.required_node_features[0]", "TOO_LONG", "at most 253", func(r *place) {
		spec(r).RequiredNodeFeatures = []string{strings.Repeat("A", 254)}
	}},
	{"context.cluster.pod_templates[0].spec.required_node_features", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).RequiredNodeFeatures = slices.Repeat([]string{"A"}, 1_001)
	}},

	{"context.cluster.pod_templates[0].namespace", "TOO_LONG", "at most 63", func(r *place) {
		template(r).Namespace = strings.Repeat("n", 64)
	}},
	{`context.cluster.pod_templates[0].labels[""]`, "REQUIRED", "empty key", func(r *place) { template(r).Labels[""] = "" }},
	{"context.cluster.pod_templates[0].controller.name", "TOO_LONG", "at most 253", func(r *place) {
		template(r).Controller.Name = strings.Repeat("n", 254)
	}},
	{`context.cluster.pod_templates[0].spec.node_selector[""]`, "REQUIRED", "empty key", func(r *place) {
		spec(r).NodeSelector[""] = ""
	}},
	{requiredTerm + "match_expressions[0].key", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		required(r).MatchExpressions[0].Key = "a b"
	}},
	{requiredTerm + "match_expressions[0].operator", "UNKNOWN_VALUE", "must be NODE_SELECTOR_OPERATOR_IN", func(r *place) {
		required(r).MatchExpressions[0].Operator = 0
	}},
	{requiredTerm + "match_expressions[0].values", "WRONG_COUNT", "exactly one", func(r *place) {
		required(r).MatchExpressions[0].Values = []string{"1", "2"}
	}},
	{requiredTerm + "match_expressions[0].values", "REQUIRED", "at least one", func(r *place) {
		required(r).MatchExpressions[0] = &stowagev1.NodeSelectorRequirement{
			Key: "k", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN,
		}
	}},
	{requiredTerm + "match_expressions[0].values", "NOT_ALLOWED", "must be empty", func(r *place) {
		required(r).MatchExpressions[0].Operator = stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS
	}},
	{requiredTerm + "match_expressions", "WRONG_COUNT", "at most 1000", func(r *place) {
		required(r).MatchExpressions = make([]*stowagev1.NodeSelectorRequirement, 1_001)
	}},
	{requiredTerm + "match_expressions[0].values", "WRONG_COUNT", "at most 10000", func(r *place) {
		required(r).MatchExpressions[0].Values = make([]string, decode.MaxValues+1)
	}},
	{requiredTerm + "match_fields[0].key", "UNKNOWN_VALUE", `only "metadata.name"`, func(r *place) {
		required(r).MatchFields[0].Key = "metadata.uid"
	}},
	{requiredTerm + "match_fields[0].operator", "UNKNOWN_VALUE",
		"must be NODE_SELECTOR_OPERATOR_IN or NODE_SELECTOR_OPERATOR_NOT_IN", func(r *place) {
			required(r).MatchFields[0].Operator = stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS
		}},
	{requiredTerm + "match_fields", "WRONG_COUNT", "at most 1000", func(r *place) {
		required(r).MatchFields = make([]*stowagev1.NodeSelectorRequirement, 1_001)
	}},
	{requiredTerm + "match_fields[0].values", "WRONG_COUNT", "exactly one", func(r *place) {
		required(r).MatchFields[0].Values = []string{"a", "b"}
	}},
	{affinity + "node_affinity.required.terms", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Affinity.NodeAffinity.Required.Terms = make([]*stowagev1.NodeSelectorTerm, 1_001)
	}},
	{affinity + "node_affinity.preferred[0].weight", "OUT_OF_RANGE", "is 0", func(r *place) {
		spec(r).Affinity.NodeAffinity.Preferred[0].Weight = 0
	}},
	{affinity + "node_affinity.preferred[0].weight", "OUT_OF_RANGE", "is 101", func(r *place) {
		spec(r).Affinity.NodeAffinity.Preferred[0].Weight = 101
	}},
	{affinity + "node_affinity.preferred[0].preference", "REQUIRED", "is required", func(r *place) {
		spec(r).Affinity.NodeAffinity.Preferred[0].Preference = nil
	}},
	{affinity + "node_affinity.preferred", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Affinity.NodeAffinity.Preferred = make([]*stowagev1.PreferredSchedulingTerm, 1_001)
	}},
	{affinity + "pod_affinity.required[0].topology_key", "REQUIRED", "is required", func(r *place) {
		spec(r).Affinity.PodAffinity.Required[0].TopologyKey = ""
	}},
	{affinity + "pod_affinity.required[0].namespaces[0]", "REQUIRED", "is empty", func(r *place) {
		spec(r).Affinity.PodAffinity.Required[0].Namespaces[0] = ""
	}},
	{affinity + "pod_affinity.required[0].namespaces", "WRONG_COUNT", "at most 10000", func(r *place) {
		spec(r).Affinity.PodAffinity.Required[0].Namespaces = make([]string, decode.MaxValues+1)
	}},
	{affinity + "pod_affinity.required[0].match_label_keys[0]", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		spec(r).Affinity.PodAffinity.Required[0].MatchLabelKeys[0] = "a/b/c"
	}},
	{affinity + "pod_affinity.required[0].mismatch_label_keys[0]", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		spec(r).Affinity.PodAffinity.Required[0].MismatchLabelKeys[0] = "/b"
	}},
	{affinity + "pod_affinity.required", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Affinity.PodAffinity.Required = make([]*stowagev1.PodAffinityTerm, 1_001)
	}},
	{affinity + "pod_affinity.preferred[0].weight", "OUT_OF_RANGE", "is -1", func(r *place) {
		spec(r).Affinity.PodAffinity.Preferred[0].Weight = -1
	}},
	{affinity + "pod_affinity.preferred[0].term", "REQUIRED", "is required", func(r *place) {
		spec(r).Affinity.PodAffinity.Preferred[0].Term = nil
	}},
	{affinity + "pod_affinity.preferred", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Affinity.PodAffinity.Preferred = make([]*stowagev1.WeightedPodAffinityTerm, 1_001)
	}},
	{antiAffinity + "label_selector.match_expressions[0].operator", "UNKNOWN_VALUE", "must be LABEL_SELECTOR_OPERATOR_IN", func(r *place) {
		anti(r).LabelSelector.MatchExpressions[0].Operator = 5
	}},
	{antiAffinity + "label_selector.match_expressions[0].key", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		anti(r).LabelSelector.MatchExpressions[0].Key = ""
	}},
	{antiAffinity + "label_selector.match_expressions[0].values", "REQUIRED", "at least one", func(r *place) {
		anti(r).LabelSelector.MatchExpressions[0].Values = nil
	}},
	{antiAffinity + "label_selector.match_expressions[1].values", "NOT_ALLOWED", "must be empty", func(r *place) {
		anti(r).LabelSelector.MatchExpressions[1].Values = []string{"x"}
	}},
	{antiAffinity + `label_selector.match_labels["a b"]`, "INVALID_SYNTAX", "must be a label key", func(r *place) {
		anti(r).LabelSelector.MatchLabels["a b"] = ""
	}},
	{antiAffinity + "label_selector.match_expressions", "WRONG_COUNT", "at most 1000", func(r *place) {
		anti(r).LabelSelector.MatchExpressions = make([]*stowagev1.LabelSelectorRequirement, 1_001)
	}},
	{antiAffinity + "namespace_selector.match_expressions[0].operator", "UNKNOWN_VALUE", "must be LABEL_SELECTOR_OPERATOR_IN", func(r *place) {
		anti(r).NamespaceSelector.MatchExpressions = []*stowagev1.LabelSelectorRequirement{{Key: "k"}}
	}},

	{podSpec + "tolerations[1].operator", "NOT_ALLOWED", "must be TOLERATION_OPERATOR_EXISTS if key is empty", func(r *place) {
		spec(r).Tolerations[1].Key = ""
	}},
	{podSpec + "tolerations[0].value", "NOT_ALLOWED", "must be empty with TOLERATION_OPERATOR_EXISTS", func(r *place) {
		spec(r).Tolerations[0].Value = "v"
	}},
	{podSpec + "tolerations[1].operator", "UNKNOWN_VALUE", "must be TOLERATION_OPERATOR_EQUAL", func(r *place) {
		spec(r).Tolerations[1].Operator = 9
	}},
	{podSpec + "tolerations[1].effect", "UNKNOWN_VALUE", "TAINT_EFFECT_PREFER_NO_SCHEDULE or TAINT_EFFECT_NO_EXECUTE", func(r *place) {
		spec(r).Tolerations[1].Effect = -1
	}},
	{podSpec + "tolerations[1].key", "TOO_LONG", "at most 317", func(r *place) {
		spec(r).Tolerations[1].Key = strings.Repeat("k", 318)
	}},
	{podSpec + "tolerations", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Tolerations = make([]*stowagev1.Toleration, 1_001)
	}},
	{spread + "[0].max_skew", "OUT_OF_RANGE", "is 0", func(r *place) { spec(r).TopologySpreadConstraints[0].MaxSkew = 0 }},
	{spread + "[0].topology_key", "REQUIRED", "is required", func(r *place) {
		spec(r).TopologySpreadConstraints[0].TopologyKey = ""
	}},
	{spread + "[0].when_unsatisfiable", "UNKNOWN_VALUE", "must be UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE", func(r *place) {
		spec(r).TopologySpreadConstraints[0].WhenUnsatisfiable = 0
	}},
	{spread + "[0].min_domains", "OUT_OF_RANGE", "is 0", func(r *place) {
		spec(r).TopologySpreadConstraints[0].MinDomains = proto.Int32(0)
	}},
	{spread + "[1].min_domains", "NOT_ALLOWED", "only allowed with UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE", func(r *place) {
		spec(r).TopologySpreadConstraints[1].MinDomains = proto.Int32(1)
	}},
	{spread + "[0].node_affinity_policy", "UNKNOWN_VALUE", "must be NODE_INCLUSION_POLICY_HONOR", func(r *place) {
		spec(r).TopologySpreadConstraints[0].NodeAffinityPolicy = 3
	}},
	{spread + "[0].node_taints_policy", "UNKNOWN_VALUE", "must be NODE_INCLUSION_POLICY_HONOR", func(r *place) {
		spec(r).TopologySpreadConstraints[0].NodeTaintsPolicy = 3
	}},
	{spread + "[1].match_label_keys", "NOT_ALLOWED", "without label_selector", func(r *place) {
		spec(r).TopologySpreadConstraints[1].MatchLabelKeys = []string{"k"}
	}},
	{spread + "[0].match_label_keys[0]", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		spec(r).TopologySpreadConstraints[0].MatchLabelKeys[0] = "-"
	}},
	{spread + "[1].topology_key", "DUPLICATE", "another constraint", func(r *place) {
		spec(r).TopologySpreadConstraints[1].WhenUnsatisfiable = stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE
	}},
	{spread, "WRONG_COUNT", "at most 64", func(r *place) {
		spec(r).TopologySpreadConstraints = make([]*stowagev1.TopologySpreadConstraint, decode.MaxSpreadConstraints+1)
	}},
	{podSpec + "containers[0].requests.cpu_millis", "OUT_OF_RANGE", "is -1", func(r *place) {
		spec(r).Containers[0].Requests.CpuMillis = proto.Int64(-1)
	}},
	{podSpec + "containers[0].host_ports[0].port", "OUT_OF_RANGE", "is 0", func(r *place) {
		spec(r).Containers[0].HostPorts[0].Port = 0
	}},
	{podSpec + "containers[0].host_ports[0].port", "OUT_OF_RANGE", "is 65536", func(r *place) {
		spec(r).Containers[0].HostPorts[0].Port = 65536
	}},
	{podSpec + "containers[0].host_ports[0].protocol", "UNKNOWN_VALUE", "must be PROTOCOL_TCP", func(r *place) {
		spec(r).Containers[0].HostPorts[0].Protocol = 4
	}},
	{podSpec + "containers[0].host_ports", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Containers[0].HostPorts = make([]*stowagev1.HostPort, 1_001)
	}},
	{podSpec + "init_containers[0].restart_policy", "UNKNOWN_VALUE", "must be CONTAINER_RESTART_POLICY_ALWAYS", func(r *place) {
		spec(r).InitContainers[0].RestartPolicy = 4
	}},
	{podSpec + "containers", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Containers = make([]*stowagev1.Container, decode.MaxContainers+1)
	}},
	{podSpec + "init_containers", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).InitContainers = make([]*stowagev1.Container, decode.MaxContainers+1)
	}},
	{podSpec + "requests.cpu_millis", "OUT_OF_RANGE", "is -1", func(r *place) {
		spec(r).Requests.CpuMillis = proto.Int64(-1)
	}},
	{podSpec + "overhead.memory_bytes", "OUT_OF_RANGE", "is -1", func(r *place) {
		spec(r).Overhead.MemoryBytes = proto.Int64(-1)
	}},
	{podSpec + "containers[0].requests.pods", "NOT_ALLOWED", "must be absent", func(r *place) {
		spec(r).Containers[0].Requests.Pods = proto.Int64(0)
	}},
	{podSpec + "overhead.pods", "NOT_ALLOWED", "must be absent", func(r *place) { spec(r).Overhead.Pods = proto.Int64(-1) }},
	{"context.cluster.nodes[0].pods[0].resource_status.actuated.pods", "NOT_ALLOWED", "must be absent", func(r *place) {
		node(r, 0).Pods[0].ResourceStatus.Actuated.Pods = proto.Int64(1)
	}},
	{podSpec + "preemption_policy", "UNKNOWN_VALUE",
		"must be PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY or PREEMPTION_POLICY_NEVER", func(r *place) {
			spec(r).PreemptionPolicy = 3
		}},
	{"queue[1].pod.template.spec.preemption_policy", "UNKNOWN_VALUE", "or PREEMPTION_POLICY_NEVER", func(r *place) {
		r.Queue[1].Pod.GetTemplate().Spec.PreemptionPolicy = -1
	}},
	{podSpec + "volumes", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).Volumes = slices.Repeat([]*stowagev1.Volume{{}}, decode.MaxContainers+1)
	}},
	{podSpec + "volumes[0].source", "REQUIRED", "is required", func(r *place) {
		spec(r).Volumes = []*stowagev1.Volume{{}}
	}},
	{podSpec + "scheduling_gates", "WRONG_COUNT", "at most 1000", func(r *place) {
		spec(r).SchedulingGates = make([]string, 1_001)
	}},

	{"queue[0].pod", "REQUIRED", "is required", func(r *place) { r.Queue[0].Pod = nil }},
	{"queue[0].pod.template_index", "NOT_FOUND", "is 1", func(r *place) {
		r.Queue[0].Pod.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 1}
	}},
	{"queue[1].pod.source", "REQUIRED", "is required", func(r *place) { r.Queue[1].Pod.Source = nil }},
	{"queue[1].pod.template.spec.scheduler_name", "TOO_LONG", "at most 253", func(r *place) {
		r.Queue[1].Pod.GetTemplate().Spec.SchedulerName = strings.Repeat("s", 254)
	}},
	{"context.cluster.nodes[0].pods[0].unread[0].field", "REQUIRED", "is required", func(r *place) {
		r.Context.GetCluster().Nodes[0].Pods[0].Unread = []*stowagev1.UnreadField{{Object: "Pod default/web"}}
	}},
	{"queue[1].pod.template.spec.node_name", "TOO_LONG", "at most 253", func(r *place) {
		r.Queue[1].Pod.GetTemplate().Spec.NodeName = strings.Repeat("n", 254)
	}},
	{"queue[1].pod_group", "NOT_FOUND", "is none of pod_groups", func(r *place) {
		r.Queue[1].PodGroup, r.PodGroups[0].MinCount = "other", nil
	}},
	{"pod_groups[0].name", "REQUIRED", "is required", func(r *place) {
		r.PodGroups[0].Name, r.PodGroups[0].MinCount, r.Queue[1].PodGroup = "", nil, ""
	}},
	{"pod_groups[1].name", "DUPLICATE", "duplicates pod_groups[0]", func(r *place) {
		r.PodGroups = append(r.PodGroups, &stowagev1.PodGroup{Name: "pinned"})
	}},
	{"pod_groups[0].mode", "UNKNOWN_VALUE", "must be POD_GROUP_MODE_IN_ORDER or POD_GROUP_MODE_JOINT", func(r *place) {
		r.PodGroups[0].Mode = 7
	}},
	{"pod_groups[0].disruption_mode", "UNKNOWN_VALUE", "must be POD_GROUP_DISRUPTION_MODE_SINGLE or POD_GROUP_DISRUPTION_MODE_ALL", func(r *place) {
		r.PodGroups[0].DisruptionMode = 3
	}},
	{"pod_groups[0].max_steps", "NOT_ALLOWED", "only allowed with POD_GROUP_MODE_JOINT", func(r *place) {
		r.PodGroups[0].Mode = 0
	}},
	{"pod_groups[0].min_count", "OUT_OF_RANGE", "is 6, the group has 5 pods", func(r *place) {
		r.PodGroups[0].MinCount = new(uint32(6))
	}},
	{"pod_groups[0].min_count", "OUT_OF_RANGE", "is 0", func(r *place) { r.PodGroups[0].MinCount = new(uint32(0)) }},
	{"pod_groups[0].max_steps", "OUT_OF_RANGE", "is 0", func(r *place) { r.PodGroups[0].MaxSteps = new(uint32(0)) }},
	{"pod_groups[0].max_steps", "OUT_OF_RANGE", "1 to 67108864 are allowed", func(r *place) {
		r.PodGroups[0].MaxSteps = new(uint32(decode.MaxSteps + 1))
	}},
	{"pod_groups[0].topology.keys", "WRONG_COUNT", "at most 8", func(r *place) {
		r.PodGroups[0].Topology.Keys = make([]string, 8+1)
	}},
	{"pod_groups[0].topology.keys[1]", "DUPLICATE", "duplicates keys[0]", func(r *place) {
		r.PodGroups[0].Topology.Keys = []string{"zone", "zone"}
	}},
	{"pod_groups[0].topology.keys[0]", "INVALID_SYNTAX", "", func(r *place) { r.PodGroups[0].Topology.Keys = []string{"a b"} }},
	{"pod_groups[0].topology.policy", "UNKNOWN_VALUE",
		"must be POD_GROUP_TOPOLOGY_POLICY_REQUIRED or POD_GROUP_TOPOLOGY_POLICY_PREFERRED", func(r *place) {
			r.PodGroups[0].Topology.Policy = 7
		}},
	{"pod_groups[0]", "WRONG_COUNT", "at most 1000 can be placed jointly", func(r *place) {
		r.Queue[1].Count = new(uint32(engine.MaxJointPods + 1))
	}},
	{"pod_groups", "WRONG_COUNT", "entries", func(r *place) { r.PodGroups = make([]*stowagev1.PodGroup, decode.MaxPodGroups+1) }},
	{"tie_break", "UNKNOWN_VALUE", "must be TIE_BREAK_FIRST or TIE_BREAK_FEWEST_PODS", func(r *place) { r.TieBreak = 3 }},
	{"queue_mode", "UNKNOWN_VALUE", "must be QUEUE_MODE_IN_ORDER or QUEUE_MODE_KUBE_SCHEDULER", func(r *place) { r.QueueMode = 3 }},
	{"pod_groups[0].mode", "NOT_ALLOWED", "POD_GROUP_MODE_JOINT is only allowed with QUEUE_MODE_IN_ORDER", func(r *place) {
		queued(r).Mode = stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT
	}},
	{"pod_groups[0].topology.keys", "NOT_ALLOWED", "more than one key is only allowed with QUEUE_MODE_IN_ORDER", func(r *place) {
		queued(r).Topology.Keys = []string{"rack", "zone"}
	}},
	{"pod_groups[0].topology.policy", "NOT_ALLOWED", "PREFERRED is only allowed with QUEUE_MODE_IN_ORDER", func(r *place) {
		queued(r).Topology.Policy = stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_PREFERRED
	}},
	{"queue", "WRONG_COUNT", "pods in all", func(r *place) {
		r.Queue[0].Count = new(uint32(decode.MaxQueuePods))
	}},
	{"queue", "WRONG_COUNT", "entries", func(r *place) {
		r.PodGroups, r.Queue = nil, make([]*stowagev1.PendingPods, decode.MaxQueuePods+1)
	}},

	{"context.profile.scheduler_name", "TOO_LONG", "at most 253", func(r *place) {
		r.Context.Profile.SchedulerName = strings.Repeat("s", 254)
	}},
	{"context.profile.name", "UNKNOWN_VALUE", "only \"kube-1.37\"", func(r *place) { r.Context.Profile.Name = "kube-1.2" }},
	{"context.profile.plugin_weights", "WRONG_COUNT", "at most 64", func(r *place) {
		r.Context.Profile.PluginWeights = make([]*stowagev1.PluginWeight, decode.MaxWeights+1)
	}},
	{"context.profile.scoring_strategy.resources", "WRONG_COUNT", "at most 64", func(r *place) {
		r.Context.Profile.ScoringStrategy.Resources = make([]*stowagev1.ResourceWeight, decode.MaxWeights+1)
	}},
	{"context.profile.plugin_weights[0].plugin", "UNKNOWN_VALUE", "must be a plugin that scores", func(r *place) {
		r.Context.Profile.PluginWeights[0].Plugin = stowagev1.Plugin_PLUGIN_NODE_PORTS
	}},
	{"context.profile.plugin_weights[0].weight", "REQUIRED", "is required", func(r *place) {
		r.Context.Profile.PluginWeights[0].Weight = nil
	}},
	{"context.profile.plugin_weights[0].weight", "OUT_OF_RANGE", "is -1", func(r *place) {
		r.Context.Profile.PluginWeights[0].Weight = new(int32(-1))
	}},
	{"context.profile.plugin_weights[0].weight", "OUT_OF_RANGE", "is 1000001", func(r *place) {
		r.Context.Profile.PluginWeights[0].Weight = new(int32(1000001))
	}},
	{"context.profile.plugin_weights[1].plugin", "DUPLICATE", "has a weight already", func(r *place) {
		r.Context.Profile.PluginWeights = append(r.Context.Profile.PluginWeights, r.Context.Profile.PluginWeights[0])
	}},
	{"context.profile.added_affinity.required.terms[0].match_expressions[0].values[0]", "INVALID_SYNTAX", "decimal integer", func(r *place) {
		r.Context.Profile.AddedAffinity.Required.Terms[0].MatchExpressions[0].Values[0] = "many"
	}},
	{"context.profile.added_affinity.required.terms[0].match_expressions[0].values[0]", "INVALID_SYNTAX", "must be a label value", func(r *place) {
		r.Context.Profile.AddedAffinity.Required.Terms[0].MatchExpressions[0].Values[0] = "-5"
	}},
	{"context.profile.scoring_strategy.type", "UNKNOWN_VALUE", "must be SCORING_STRATEGY_TYPE_LEAST_ALLOCATED", func(r *place) {
		r.Context.Profile.ScoringStrategy.Type = 4
	}},
	{"context.profile.scoring_strategy.resources[0].weight", "OUT_OF_RANGE", "is 101", func(r *place) {
		r.Context.Profile.ScoringStrategy.Resources[0].Weight = 101
	}},
	{"context.profile.scoring_strategy.resources[0].name", "REQUIRED", "is required", func(r *place) {
		r.Context.Profile.ScoringStrategy.Resources[0].Name = ""
	}},
	{"context.profile.balanced_allocation_resources[1]", "DUPLICATE", "is there already", func(r *place) {
		p := r.Context.Profile
		p.BalancedAllocationResources = append(p.BalancedAllocationResources, p.BalancedAllocationResources[0])
	}},
	{"context.profile.scoring_strategy.shape", "NOT_ALLOWED", "must be empty", func(r *place) {
		r.Context.Profile.ScoringStrategy.Type = stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_MOST_ALLOCATED
	}},
	{affinity + "pod_affinity.required[0].topology_key", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		spec(r).Affinity.PodAffinity.Required[0].TopologyKey = "a b"
	}},
	{"context.profile.default_spread.constraints[0].topology_key", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		r.Context.Profile.DefaultSpread.Constraints[0].TopologyKey = "a b"
	}},
	{"context.profile.scoring_strategy.shape", "REQUIRED", "is required", func(r *place) {
		r.Context.Profile.ScoringStrategy.Shape = nil
	}},
	{"context.profile.scoring_strategy.shape[1].utilization", "OUT_OF_RANGE", "must be greater", func(r *place) {
		r.Context.Profile.ScoringStrategy.Shape[1].Utilization = 0
	}},
	{"context.profile.scoring_strategy.shape[1].utilization", "OUT_OF_RANGE", "is 101", func(r *place) {
		r.Context.Profile.ScoringStrategy.Shape[1].Utilization = 101
	}},
	{"context.profile.scoring_strategy.shape[1].score", "OUT_OF_RANGE", "is 11", func(r *place) {
		r.Context.Profile.ScoringStrategy.Shape[1].Score = 11
	}},
	{"context.profile.ignored_resources[0]", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		r.Context.Profile.IgnoredResources[0] = ""
	}},
	{"context.profile.ignored_resource_groups[0]", "INVALID_SYNTAX", "must not contain a slash", func(r *place) {
		r.Context.Profile.IgnoredResourceGroups[0] = "example.org/x"
	}},
	{"context.profile.ignored_resource_groups[0]", "INVALID_SYNTAX", "must be a label key", func(r *place) {
		r.Context.Profile.IgnoredResourceGroups[0] = "example org"
	}},
	{"context.profile.balanced_allocation_resources[0]", "REQUIRED", "is required", func(r *place) {
		r.Context.Profile.BalancedAllocationResources[0] = ""
	}},
	{"context.profile.disabled_filters[0]", "UNKNOWN_VALUE", "must be a plugin that filters", func(r *place) {
		r.Context.Profile.DisabledFilters = []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY}
	}},
	{"context.profile.disabled_filters[0]", "UNKNOWN_VALUE", "must be a plugin that filters", func(r *place) {
		r.Context.Profile.DisabledFilters = []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_UNSPECIFIED}
	}},
	{"context.profile.disabled_post_filters[0]", "UNKNOWN_VALUE", "must be a PostFilter plugin", func(r *place) {
		r.Context.Profile.DisabledPostFilters = []stowagev1.PostFilter{stowagev1.PostFilter_POST_FILTER_UNSPECIFIED}
	}},
	{"context.profile.disabled_pod_group_post_filters[0]", "UNKNOWN_VALUE", "must be a PostFilter plugin", func(r *place) {
		r.Context.Profile.DisabledPodGroupPostFilters = []stowagev1.PostFilter{9}
	}},
	{"context.profile.disabled_post_filters[1]", "DUPLICATE", "is there already", func(r *place) {
		r.Context.Profile.DisabledPostFilters = slices.Repeat(
			[]stowagev1.PostFilter{stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION}, 2)
	}},
	{"context.profile.disabled_post_filters", "WRONG_COUNT", "at most", func(r *place) {
		r.Context.Profile.DisabledPostFilters = make([]stowagev1.PostFilter, 3)
	}},
	{"context.profile.feature_gates[0].name", "UNKNOWN_VALUE", "is \"DRA\"", func(r *place) {
		r.Context.Profile.FeatureGates[0].Name = "DRA"
	}},
	{"context.profile.feature_gates[0].enabled", "REQUIRED", "is required", func(r *place) {
		r.Context.Profile.FeatureGates[0].Enabled = nil
	}},
	{"context.profile.feature_gates[1].name", "DUPLICATE", "is there already", func(r *place) {
		r.Context.Profile.FeatureGates = append(r.Context.Profile.FeatureGates, r.Context.Profile.FeatureGates[0])
	}},
	{"context.profile.feature_gates", "WRONG_COUNT", "at most", func(r *place) {
		r.Context.Profile.FeatureGates = slices.Repeat(r.Context.Profile.FeatureGates, decode.MaxWeights+1)
	}},
	{"context.profile.disabled_filters[1]", "DUPLICATE", "is there already", func(r *place) {
		r.Context.Profile.DisabledFilters = []stowagev1.Plugin{
			stowagev1.Plugin_PLUGIN_NODE_PORTS, stowagev1.Plugin_PLUGIN_NODE_PORTS,
		}
	}},
	{"context.profile.hard_pod_affinity_weight", "OUT_OF_RANGE", "is 101", func(r *place) {
		r.Context.Profile.HardPodAffinityWeight = proto.Int32(101)
	}},
	{"context.profile.hard_pod_affinity_weight", "OUT_OF_RANGE", "is -1", func(r *place) {
		r.Context.Profile.HardPodAffinityWeight = proto.Int32(-1)
	}},
	{"context.profile.default_spread.type", "UNKNOWN_VALUE", "must be DEFAULTING_TYPE_SYSTEM or DEFAULTING_TYPE_LIST", func(r *place) {
		r.Context.Profile.DefaultSpread.Type = 3
	}},
	{"context.profile.default_spread.constraints", "NOT_ALLOWED", "must be empty with DEFAULTING_TYPE_SYSTEM", func(r *place) {
		r.Context.Profile.DefaultSpread.Type = stowagev1.DefaultingType_DEFAULTING_TYPE_SYSTEM
	}},
	{"context.profile.default_spread.constraints[0].label_selector", "NOT_ALLOWED", "must be absent", func(r *place) {
		r.Context.Profile.DefaultSpread.Constraints[0].LabelSelector = &stowagev1.LabelSelector{}
	}},
	{"context.profile.default_spread.constraints[0].max_skew", "OUT_OF_RANGE", "is 0", func(r *place) {
		r.Context.Profile.DefaultSpread.Constraints[0].MaxSkew = 0
	}},
	{"context.profile.default_spread.constraints[1].topology_key", "DUPLICATE", "another constraint", func(r *place) {
		spread := r.Context.Profile.DefaultSpread
		spread.Constraints = append(spread.Constraints, spread.Constraints[0])
	}},

	{"candidate_nodes.indexes[0]", "NOT_FOUND", "is 3, but cluster.nodes has 3", func(r *place) {
		r.CandidateNodes.Indexes[0] = 3
	}},
	{"candidate_nodes.names[0]", "NOT_FOUND", `no node is called "d"`, func(r *place) { r.CandidateNodes.Names[0] = "d" }},
})

const (
	podSpec      = "context.cluster.pod_templates[0].spec."
	affinity     = podSpec + "affinity."
	antiAffinity = affinity + "pod_anti_affinity.required[0]."
	requiredTerm = affinity + "node_affinity.required.terms[0]."
	spread       = podSpec + "topology_spread_constraints"
)

func cluster(r *stowagev1.PlaceRequest) *stowagev1.Cluster      { return r.GetContext().GetCluster() }
func node(r *stowagev1.PlaceRequest, i int) *stowagev1.Node     { return cluster(r).Nodes[i] }
func template(r *stowagev1.PlaceRequest) *stowagev1.PodTemplate { return cluster(r).PodTemplates[0] }
func spec(r *stowagev1.PlaceRequest) *stowagev1.PodSpec         { return template(r).Spec }

func budget(r *stowagev1.PlaceRequest) *stowagev1.PodDisruptionBudget {
	return cluster(r).PodDisruptionBudgets[0]
}

func required(r *stowagev1.PlaceRequest) *stowagev1.NodeSelectorTerm {
	return spec(r).Affinity.NodeAffinity.Required.Terms[0]
}

func anti(r *stowagev1.PlaceRequest) *stowagev1.PodAffinityTerm {
	return spec(r).Affinity.PodAntiAffinity.Required[0]
}

func TestMalformed(t *testing.T) {
	for _, test := range malformed {
		t.Run(test.field, func(t *testing.T) {
			r := request()
			test.change(r)
			_, err := decode.Place(r)
			var e *decode.Error
			if !errors.As(err, &e) {
				t.Fatalf("got error %v, want a *decode.Error", err)
			}
			if len(e.Violations) != 1 {
				t.Errorf("got %d violations, want 1: %v", len(e.Violations), e.Violations)
			}
			if v := e.Violations[0]; v.Field != test.field || v.Reason.Short() != test.reason ||
				!strings.Contains(v.Description, test.description) {
				t.Errorf("got %s: %s: %s\nwant %s: %s: ...%s...",
					v.Field, v.Reason.Short(), v.Description, test.field, test.reason, test.description)
			}
		})
	}
}

// TestMalformedOnTheWayToTheEngine decodes clusters into what compiles them, as the service does.
func TestMalformedOnTheWayToTheEngine(t *testing.T) {
	for _, test := range malformed {
		if !strings.HasPrefix(test.field, "context.cluster.") {
			continue
		}
		t.Run(test.field, func(t *testing.T) {
			r := request()
			test.change(r)
			refused := func(what string, r *decode.Request) {
				var e *decode.Error
				if err := r.Err(); !errors.As(err, &e) || e.Violations[0].Field != test.field {
					t.Errorf("%s: %v", what, err)
				}
			}
			message := decode.NewRequest(t.Context())
			message.Message(cluster(r))
			refused("message", message)
			raw, err := proto.Marshal(cluster(r))
			if err != nil {
				return // what is no UTF-8 has no encoding
			}
			for _, wired := range []*decode.Request{decode.NewRequest(t.Context()), decode.NewInline(t.Context(), nil)} {
				wired.Part("context.cluster", wire.Pieces{raw})
				refused("wire", wired)
			}
		})
	}
}

// TestListsOfAClusterAreBounded: a budget too many is refused, and the bounds that requests share equal the annotations.
func TestListsOfAClusterAreBounded(t *testing.T) {
	lists := (&stowagev1.Cluster{}).ProtoReflect().Descriptor().Fields()
	for name, most := range map[protoreflect.Name]uint64{
		"nodes": decode.MaxNodes, "pod_groups": decode.MaxPodGroups,
	} {
		rules, err := protovalidate.ResolveFieldRules(lists.ByName(name))
		if err != nil || rules.GetRepeated().GetMaxItems() != most {
			t.Errorf("%s: %v, want at most %d, error %v", name, rules, most, err)
		}
	}
	if testing.Short() {
		t.Skip("decodes a million budgets")
	}
	var raw []byte
	for i := range 1_000_001 {
		item := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), strconv.Itoa(i)) // its name
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 6, protowire.BytesType), item)
	}
	r := decode.NewRequest(t.Context())
	r.Part("context.cluster", wire.Pieces{raw})
	var e *decode.Error
	if !errors.As(r.Err(), &e) {
		t.Fatal("not refused")
	}
	if v := e.Violations[0]; v.Field != "context.cluster.pod_disruption_budgets" || v.Reason.Short() != "WRONG_COUNT" {
		t.Errorf("%v", e.Violations)
	}
}

func TestPodIsRequired(t *testing.T) {
	r := minimal()
	r.Pod = nil
	_, err := decode.Filter(r)
	if err == nil || err.Error() != "pod: is required" {
		t.Errorf("got error %v", err)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	r := request()
	node(r, 0).Taints[0].Effect = 0
	r.Queue[0].Pod = nil
	r.Context.Profile.Name = "x"
	_, err := decode.Place(r)
	const want = "context.cluster.nodes[0].taints[0].effect: must be TAINT_EFFECT_NO_SCHEDULE, " +
		"TAINT_EFFECT_PREFER_NO_SCHEDULE or TAINT_EFFECT_NO_EXECUTE (and 2 more)"
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestReportIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		key   string
	}{"many": {10_000, ""}, "long": {100, strings.Repeat("\x00", 1<<20)}} {
		t.Run(name, func(t *testing.T) {
			r := minimal()
			for i := range test.nodes {
				c := r.GetContext().GetCluster()
				c.Nodes = append(c.Nodes, &stowagev1.Node{
					Name: fmt.Sprint("n", i), Labels: map[string]string{test.key: ""},
				})
			}
			_, err := decode.Filter(r)
			var e *decode.Error
			if !errors.As(err, &e) {
				t.Fatalf("got error %v, want a *decode.Error", err)
			}
			size := 0
			for _, v := range e.Violations {
				size += len(v.Field) + len(v.Description)
			}
			last := e.Violations[len(e.Violations)-1]
			if n := len(e.Violations); n < 2 || n > decode.MaxViolations+1 || size > decode.MaxViolationBytes+100 || last.Field != "" {
				t.Errorf("got %d violations of %d bytes, the last %v", n, size, last)
			}
		})
	}
}

func TestDistinctNamesAreBounded(t *testing.T) {
	r := minimal()
	allocatable := &stowagev1.Resources{Scalars: make(map[string]int64)}
	r.GetContext().GetCluster().Nodes[0].Allocatable = allocatable
	pod := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{}}}}
	r.Pod.Source = &stowagev1.Pod_Template{Template: pod}
	for i := range decode.MaxDistinctResources {
		allocatable.Scalars[fmt.Sprintf("r%05d", i)] = 1
	}
	for i := range decode.DistinctTopologyKeys {
		pod.Spec.Affinity.PodAffinity.Required = append(pod.Spec.Affinity.PodAffinity.Required,
			&stowagev1.PodAffinityTerm{TopologyKey: fmt.Sprint("k", i)})
	}
	if _, err := decode.Filter(r); err != nil {
		t.Fatal(err)
	}
	pod.Spec.Overhead = &stowagev1.Resources{Scalars: map[string]int64{"r00000": 1, "more": 1}}
	pod.Spec.Affinity.PodAntiAffinity = &stowagev1.PodAffinity{
		Required: []*stowagev1.PodAffinityTerm{{TopologyKey: "k0"}, {TopologyKey: "more"}},
	}
	_, err := decode.Filter(r)
	var e *decode.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a *decode.Error", err)
	}
	var fields []string
	for _, v := range e.Violations {
		fields = append(fields, v.Field)
	}
	const want = "[pod.template.spec.affinity.pod_anti_affinity.required[1].topology_key " +
		`pod.template.spec.overhead.scalars["more"]]`
	if got := fmt.Sprint(fields); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
