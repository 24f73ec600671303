package decode_test

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func selector(app string) *stowagev1.LabelSelector {
	return &stowagev1.LabelSelector{
		MatchLabels: map[string]string{"app": app},
		MatchExpressions: []*stowagev1.LabelSelectorRequirement{
			{
				Key: "tier", Operator: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_IN,
				Values: []string{"a", "b"},
			},
			{Key: "canary", Operator: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST},
		},
	}
}

func nodeTerm() *stowagev1.NodeSelectorTerm {
	return &stowagev1.NodeSelectorTerm{
		MatchExpressions: []*stowagev1.NodeSelectorRequirement{
			{
				Key: "example.com/cores", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT,
				Values: []string{"8"},
			},
		},
		MatchFields: []*stowagev1.NodeSelectorRequirement{
			{
				Key: "metadata.name", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN,
				Values: []string{"c"},
			},
		},
	}
}

func podTerm() *stowagev1.PodAffinityTerm {
	return &stowagev1.PodAffinityTerm{
		LabelSelector:     selector("db"),
		Namespaces:        []string{"prod"},
		NamespaceSelector: &stowagev1.LabelSelector{},
		TopologyKey:       "topology.kubernetes.io/zone",
		MatchLabelKeys:    []string{"pod-template-hash"},
		MismatchLabelKeys: []string{"release"},
	}
}

// request is a sound request in which every field of the contract is set.
func request() *stowagev1.PlaceRequest { //nolint:funlen // every field of the contract
	template := &stowagev1.PodTemplate{
		Namespace: "prod",
		Labels:    map[string]string{"tier": "a", "app": "web"},
		Controller: &stowagev1.ControllerReference{
			ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1",
		},
		Spec: &stowagev1.PodSpec{
			NodeSelector: map[string]string{"disk": "ssd"},
			Affinity: &stowagev1.Affinity{
				NodeAffinity: &stowagev1.NodeAffinity{
					Required:  &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{nodeTerm()}},
					Preferred: []*stowagev1.PreferredSchedulingTerm{{Weight: 10, Preference: nodeTerm()}},
				},
				PodAffinity: &stowagev1.PodAffinity{
					Required:  []*stowagev1.PodAffinityTerm{podTerm()},
					Preferred: []*stowagev1.WeightedPodAffinityTerm{{Weight: 100, Term: podTerm()}},
				},
				PodAntiAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{podTerm()}},
			},
			Tolerations: []*stowagev1.Toleration{
				{Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS},
				{Key: "k", Value: "v", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE},
			},
			TopologySpreadConstraints: []*stowagev1.TopologySpreadConstraint{
				{
					MaxSkew: 2, TopologyKey: "zone",
					WhenUnsatisfiable:  stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
					LabelSelector:      selector("web"),
					MinDomains:         proto.Int32(3),
					NodeAffinityPolicy: stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE,
					NodeTaintsPolicy:   stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR,
					MatchLabelKeys:     []string{"pod-template-hash"},
				},
				{
					MaxSkew: 1, TopologyKey: "zone",
					WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY,
				},
			},
			Containers: []*stowagev1.Container{{
				Name: "main", Image: "web:1",
				Requests: &stowagev1.Resources{
					CpuMillis: proto.Int64(500), MemoryBytes: proto.Int64(0),
					Scalars: map[string]int64{"example.com/gpu": 1, "attachable-volumes-csi": 2},
				},
				HostPorts:     []*stowagev1.HostPort{{Port: 80, Protocol: stowagev1.Protocol_PROTOCOL_UDP, HostIp: "10.0.0.1"}},
				RestartPolicy: stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS,
			}},
			InitContainers: []*stowagev1.Container{
				{Name: "proxy", RestartPolicy: stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS},
				{Name: "setup", RestartPolicy: stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_NEVER},
			},
			Requests: &stowagev1.Resources{CpuMillis: proto.Int64(600)},
			Overhead: &stowagev1.Resources{MemoryBytes: proto.Int64(1 << 20)},
			Volumes: []*stowagev1.Volume{
				{Source: &stowagev1.Volume_Image{Image: &stowagev1.ImageVolumeSource{Reference: "data:1"}}},
				{Source: &stowagev1.Volume_EmptyDir{EmptyDir: &stowagev1.EmptyDirVolumeSource{}}},
				{Source: &stowagev1.Volume_PersistentVolumeClaim{PersistentVolumeClaim: &stowagev1.PersistentVolumeClaimVolumeSource{
					ClaimName: "data", OfPod: true, ClaimTemplate: claimSpec(),
				}}},
				{Source: &stowagev1.Volume_Ephemeral{Ephemeral: &stowagev1.EphemeralVolumeSource{VolumeName: "scratch", ClaimTemplate: claimSpec()}}},
				{Source: &stowagev1.Volume_Disk{Disk: &stowagev1.DiskVolumeSource{
					Kind: stowagev1.DiskKind_DISK_KIND_RBD, Id: "pool/image", Monitors: []string{"m1", "m2"}, ReadOnly: true,
					CsiDriver: "rbd.csi.ceph.com", VolumeHandle: "rbd-1",
				}}},
			},
			Priority: 9, PreemptionPolicy: stowagev1.PreemptionPolicy_PREEMPTION_POLICY_NEVER, SchedulerName: "mine", SchedulingGroup: "crew",
			RequiredNodeFeatures: []string{"B", "A"}, ResourceClaims: podResourceClaims(),
		},
	}
	return &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{
			Nodes: []*stowagev1.Node{
				{
					Name:          "a",
					Labels:        map[string]string{"zone": "z1", "disk": "ssd"},
					Taints:        []*stowagev1.Taint{{Key: "k", Value: "v", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE}},
					Unschedulable: true,
					Allocatable: &stowagev1.Resources{
						CpuMillis: proto.Int64(8000), MemoryBytes: proto.Int64(32 << 30),
						EphemeralStorageBytes: proto.Int64(100 << 30), Pods: proto.Int64(110),
						Scalars: map[string]int64{"example.com/gpu": 4},
					},
					Images:  []*stowagev1.ContainerImage{{Names: []string{"web:1"}, SizeBytes: 50 << 20}},
					CsiNode: csiNode(16), AttachedVolumes: []string{"pv-1", "pv-gone"},
					PodCounts: []*stowagev1.PodCount{
						{TemplateIndex: 0, Count: 3, Terminating: true, Readiness: stowagev1.PodReadiness_POD_READINESS_READY},
					},
					Pods: []*stowagev1.Pod{
						{
							Name:        "web-1-x",
							Source:      &stowagev1.Pod_TemplateIndex{TemplateIndex: 0},
							Labels:      map[string]string{"statefulset.kubernetes.io/pod-name": "web-0"},
							Terminating: true,
							ResourceStatus: &stowagev1.PodResourceStatus{
								ResizeInfeasible: true,
								Containers: []*stowagev1.ContainerResourceStatus{{
									Name:      "main",
									Allocated: &stowagev1.Resources{CpuMillis: proto.Int64(100)},
									Actuated:  &stowagev1.Resources{CpuMillis: proto.Int64(200)},
								}},
								Allocated: &stowagev1.Resources{MemoryBytes: proto.Int64(1)},
								Actuated:  &stowagev1.Resources{MemoryBytes: proto.Int64(2)},
							},
							StartTime: &timestamppb.Timestamp{Seconds: 1_790_000_000, Nanos: 5},
							Preempted: true,
							Unread:    []*stowagev1.UnreadField{{Object: "Pod prod/web-1-x", Field: "spec.x", Consequence: "c"}},
							ResourceClaimStatuses: []*stowagev1.PodResourceClaimStatus{
								{Name: "own", ResourceClaimName: "own-x7"}, {Name: "none"},
							},
						},
						{
							Name: "own", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
								Spec: &stowagev1.PodSpec{PreemptionPolicy: stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY},
							}},
							StartTime: &timestamppb.Timestamp{Nanos: 1},
							Readiness: stowagev1.PodReadiness_POD_READINESS_NOT_READY,
						},
					},
					NominatedPods: []*stowagev1.Pod{
						{
							Name: "web-1-y", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0},
							Labels: map[string]string{"statefulset.kubernetes.io/pod-name": "web-1"}, Terminating: true,
							ResourceStatus: &stowagev1.PodResourceStatus{ResourcesPresent: true},
						},
						{Name: "web-1-y", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}},
					},
				},
				{Name: "b", DeclaredFeatures: []string{"B", "A", "B"}},
				{Name: "c", ClassIndex: proto.Uint32(0)},
			},
			NodeClasses: []*stowagev1.NodeClass{{
				Labels:           map[string]string{"pool": "p", "zone": "z2"},
				Taints:           []*stowagev1.Taint{{Key: "k", Effect: stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE}},
				Allocatable:      &stowagev1.Resources{CpuMillis: proto.Int64(1000), Pods: proto.Int64(10)},
				Images:           []*stowagev1.ContainerImage{{Names: []string{"web:1"}, SizeBytes: 1}},
				NameLabelKeys:    []string{"kubernetes.io/hostname"},
				DeclaredFeatures: []string{"A"},
				CsiNode:          csiNode(8),
			}},
			PodTemplates: []*stowagev1.PodTemplate{template},
			Namespaces: []*stowagev1.Namespace{
				{Name: "prod", Labels: map[string]string{"kubernetes.io/metadata.name": "prod"}},
			},
			WorkloadSelectors: []*stowagev1.WorkloadSelector{
				{
					Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, Name: "web",
					Selector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				},
				{
					Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET, Namespace: "prod", Name: "web-1",
					Selector: selector("web"),
				},
			},
			PodGroups: []*stowagev1.PodGroup{
				{
					Name: "prod/crew", MinCount: new(uint32(2)), Priority: new(int32(0)),
					Topology:       &stowagev1.PodGroupTopology{Keys: []string{"rack"}},
					DisruptionMode: stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_ALL,
				},
				{Name: "default/other", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT, MaxSteps: new(uint32(5))},
			},
			PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{
				{
					Namespace: "prod", Name: "web", Selector: selector("web"), DisruptionsAllowed: 1,
					DisruptedPods:              []string{"web-1-z", "web-1-x", "web-1-z"},
					UnhealthyPodEvictionPolicy: stowagev1.UnhealthyPodEvictionPolicy_UNHEALTHY_POD_EVICTION_POLICY_ALWAYS_ALLOW,
					CurrentHealthy:             3, DesiredHealthy: 2, Outdated: true,
				},
				{Namespace: "prod", Name: "all", Selector: &stowagev1.LabelSelector{}, DisruptionsAllowed: -1},
				{Name: "web"},
			},
			StorageClasses:         storage().StorageClasses,
			CsiDrivers:             storage().CsiDrivers,
			CsiStorageCapacities:   storage().CsiStorageCapacities,
			PersistentVolumes:      storage().PersistentVolumes,
			PersistentVolumeClaims: storage().PersistentVolumeClaims,
			DeviceTypes:            devices().DeviceTypes,
			DeviceExpressions:      devices().DeviceExpressions,
			DeviceClasses:          devices().DeviceClasses,
			ResourceSlices:         devices().ResourceSlices,
			ResourceClaims:         devices().ResourceClaims,
		}}, Profile: &stowagev1.Profile{
			Name: "kube-1.37",
			PluginWeights: []*stowagev1.PluginWeight{
				{Plugin: stowagev1.Plugin_PLUGIN_NODE_AFFINITY, Weight: new(int32(7))},
			},
			AddedAffinity: &stowagev1.NodeAffinity{
				Required: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{nodeTerm()}},
			},
			ScoringStrategy: &stowagev1.ScoringStrategy{
				Type:      stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO,
				Resources: []*stowagev1.ResourceWeight{{Name: "example.com/gpu", Weight: 3}},
				Shape: []*stowagev1.UtilizationShapePoint{
					{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10},
				},
			},
			IgnoredResources:                   []string{"example.com/fpga"},
			IgnoredResourceGroups:              []string{"example.org"},
			BalancedAllocationResources:        []string{"cpu"},
			HardPodAffinityWeight:              proto.Int32(0),
			IgnorePreferredTermsOfExistingPods: true,
			DisabledPostFilters:                []stowagev1.PostFilter{stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION},
			DisabledPodGroupPostFilters:        []stowagev1.PostFilter{stowagev1.PostFilter_POST_FILTER_DYNAMIC_RESOURCES},
			DefaultSpread: &stowagev1.DefaultSpread{
				Type: stowagev1.DefaultingType_DEFAULTING_TYPE_LIST,
				Constraints: []*stowagev1.TopologySpreadConstraint{{
					MaxSkew: 4, TopologyKey: "zone",
					WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY,
				}},
			},
			FeatureGates: []*stowagev1.FeatureGate{{Name: "TaintTolerationComparisonOperators", Enabled: new(true)}},
		}},
		Queue: []*stowagev1.PendingPods{
			{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{}}},
			{
				Pod: &stowagev1.Pod{Name: "pinned", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
					Spec: &stowagev1.PodSpec{NodeName: "b", SchedulingGates: []string{"quota"}},
				}}, NominatedNodeName: "c"},
				Count: new(uint32(5)), PodGroup: "pinned",
			},
		},
		PodGroups: []*stowagev1.PodGroup{{
			Name: "pinned", MinCount: new(uint32(3)), Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT, MaxSteps: new(uint32(9)),
			Topology: &stowagev1.PodGroupTopology{
				Keys:   []string{"rack", "zone"},
				Policy: stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_PREFERRED,
			},
			Priority: new(int32(7)), DisruptionMode: stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_ALL,
		}},
		AllowPartial:   true,
		CandidateNodes: &stowagev1.CandidateNodes{Indexes: []uint32{2, 0, 2}, Names: []string{"b", "a"}},
		TieBreakSeed:   42,
		TieBreak:       stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS,
		Explain:        true,

		IncludePreemption: true,
		QueueMode:         stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
	}
}
