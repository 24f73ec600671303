package variety

import stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"

// Keys of bigcluster's nodes.
const (
	hostname     = "kubernetes.io/hostname"
	zone         = "topology.kubernetes.io/zone"
	rack         = "example.com/rack"
	instanceType = "node.kubernetes.io/instance-type"
)

const (
	hard = stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE
	soft = stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY
)

// pod is a pod without constraints.
func pod(app string, cpuMillis int) *stowagev1.PodTemplate {
	return &stowagev1.PodTemplate{
		Namespace: "default", Labels: map[string]string{"app": app},
		Spec: &stowagev1.PodSpec{Containers: []*stowagev1.Container{{
			Name: "main", Image: "example.com/" + app + ":v1",
			Requests: &stowagev1.Resources{CpuMillis: new(int64(cpuMillis)), MemoryBytes: new(int64(256 << 20))},
		}}},
	}
}

func selects(key, value string) *stowagev1.LabelSelector {
	return &stowagev1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func spread(p *stowagev1.PodTemplate, key string, skew int32, action stowagev1.UnsatisfiableAction, of *stowagev1.LabelSelector) {
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, &stowagev1.TopologySpreadConstraint{
		TopologyKey: key, MaxSkew: skew, WhenUnsatisfiable: action, LabelSelector: of,
	})
}

func affinity(p *stowagev1.PodTemplate) *stowagev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &stowagev1.Affinity{}
	}
	return p.Spec.Affinity
}

// together is the pod's affinity to other pods.
func together(p *stowagev1.PodTemplate) *stowagev1.PodAffinity {
	a := affinity(p)
	if a.PodAffinity == nil {
		a.PodAffinity = &stowagev1.PodAffinity{}
	}
	return a.PodAffinity
}

// apart is the pod's anti-affinity to other pods.
func apart(p *stowagev1.PodTemplate) *stowagev1.PodAffinity {
	a := affinity(p)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &stowagev1.PodAffinity{}
	}
	return a.PodAntiAffinity
}

func term(key string, of *stowagev1.LabelSelector) *stowagev1.PodAffinityTerm {
	return &stowagev1.PodAffinityTerm{TopologyKey: key, LabelSelector: of}
}

func prefer(in *stowagev1.PodAffinity, weight int32, key string, of *stowagev1.LabelSelector) {
	in.Preferred = append(in.Preferred, &stowagev1.WeightedPodAffinityTerm{Weight: weight, Term: term(key, of)})
}

// preferNodes prefers nodes with a label.
func preferNodes(p *stowagev1.PodTemplate, key, value string) {
	affinity(p).NodeAffinity = &stowagev1.NodeAffinity{Preferred: []*stowagev1.PreferredSchedulingTerm{{
		Weight: 20, Preference: &stowagev1.NodeSelectorTerm{MatchExpressions: []*stowagev1.NodeSelectorRequirement{{
			Key: key, Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{value},
		}}},
	}}}
}
