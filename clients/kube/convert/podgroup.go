package convert

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Annotations of a PodGroup for features that kube-scheduler does not have.
const (
	// PodGroupModeAnnotation is "joint" for a group that is placed as a whole, and "in-order" for kube-scheduler's way.
	PodGroupModeAnnotation = "stowage.scheduling/mode"
	// PodGroupTopologyPolicyAnnotation is "preferred" for a group that may be placed outside the domains if none takes it,
	// and "required" for kube-scheduler's way.
	PodGroupTopologyPolicyAnnotation = "stowage.scheduling/topology-policy"
	// PodGroupTopologyLevelsAnnotation lists further topology keys, separated by commas: wider domains to try after those
	// of spec.schedulingConstraints.topology.
	PodGroupTopologyLevelsAnnotation = "stowage.scheduling/topology-levels"
	// PodGroupMaxStepsAnnotation bounds the search for a joint placement.
	PodGroupMaxStepsAnnotation = "stowage.scheduling/max-steps"
)

// CompositeUnsupported is why a CompositePodGroup of scheduling.k8s.io/v1alpha3, and a PodGroup of one, is refused.
const CompositeUnsupported = "kube-scheduler places the groups of a composite pod group together, which is not supported"

// maximumTopologyKeys is the contract's limit of topology keys per group.
const maximumTopologyKeys = 8

var podGroupModes = map[string]stowagev1.PodGroupMode{
	"":         stowagev1.PodGroupMode_POD_GROUP_MODE_UNSPECIFIED,
	"in-order": stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER,
	"joint":    stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT,
}

var podGroupTopologyPolicies = map[string]stowagev1.PodGroupTopologyPolicy{
	"":          stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_UNSPECIFIED,
	"required":  stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_REQUIRED,
	"preferred": stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_PREFERRED,
}

// PodGroupName is the name of a pod's group in requests, "namespace/name"; "" if it is in none.
func PodGroupName(p *corev1.Pod) string {
	if name := skew.PodGroupName(&p.Spec); name != nil {
		return object.Namespace(p) + "/" + *name
	}
	return ""
}

// PodGroup converts a PodGroup of k8s.io/api/scheduling/v1beta1, typed or unstructured. Its priority is the API server's, or its own before
// admission: such a group that is about to be created may get another one. As for kube-scheduler, the basic policy requires one pod
// (pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go getMinCount, v1.37).
func PodGroup(o metav1.Object) (*stowagev1.PodGroup, error) {
	g, err := skew.ReadPodGroup(o)
	if err != nil {
		return nil, err
	}
	c := &converter{}
	out := RunningPodGroup(g)
	policy := field.NewPath("spec", "schedulingPolicy")
	gang := g.Spec.SchedulingPolicy.Gang
	switch {
	case gang != nil && g.Spec.SchedulingPolicy.Basic != nil:
		c.errs = append(c.errs, field.Forbidden(policy, "has both basic and gang"))
	case gang == nil && g.Spec.SchedulingPolicy.Basic == nil:
		c.errs = append(c.errs, field.Required(policy, "one of basic and gang"))
	case gang != nil && gang.MinCount < 1:
		c.errs = append(c.errs, field.Invalid(policy.Child("gang", "minCount"), gang.MinCount, "must be at least 1"))
	case gang != nil:
		out.MinCount = new(uint32(gang.MinCount))
	}
	annotations := field.NewPath("metadata", "annotations")
	out.Mode = enum(c, podGroupModes, g.Annotations[PodGroupModeAnnotation], annotations.Key(PodGroupModeAnnotation))
	if text, ok := g.Annotations[PodGroupMaxStepsAnnotation]; ok {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			c.errs = append(c.errs, field.Invalid(annotations.Key(PodGroupMaxStepsAnnotation), text, "must be a positive number"))
		}
		out.MaxSteps = new(uint32(n))
	}
	out.Topology = c.groupTopology(g, annotations)
	if g.Spec.ParentCompositePodGroupName != nil {
		c.errs = append(c.errs, field.Forbidden(field.NewPath("spec", "parentCompositePodGroupName"), CompositeUnsupported))
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// RunningPodGroup converts what preemption reads of a PodGroup, for one whose pending pods wait.
func RunningPodGroup(o metav1.Object) *stowagev1.PodGroup {
	g, _ := skew.ReadPodGroup(o) // an unreadable spec has no priority
	return &stowagev1.PodGroup{
		Name: object.Namespace(g) + "/" + g.Name, MinCount: new(uint32(1)), Priority: priorityOf(g), DisruptionMode: disruptionMode(g),
	}
}

// priorityOf returns a group's priority: the API server's, or its own before admission.
func priorityOf(g *skew.PodGroup) *int32 {
	if object.Admitted(g) && g.Spec.Priority == nil {
		return new(int32(0))
	}
	return g.Spec.Priority
}

func disruptionMode(g *skew.PodGroup) stowagev1.PodGroupDisruptionMode {
	if mode := g.Spec.DisruptionMode; mode != nil && mode.All != nil {
		return stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_ALL
	}
	return stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_UNSPECIFIED
}

func (c *converter) groupTopology(g *skew.PodGroup, annotations *field.Path) *stowagev1.PodGroupTopology {
	out := &stowagev1.PodGroupTopology{}
	seen := map[string]bool{}
	add := func(key string, path *field.Path) {
		c.errs = append(c.errs, metav1validation.ValidateLabelName(key, path)...)
		if seen[key] {
			c.errs = append(c.errs, field.Duplicate(path, key))
		}
		seen[key] = true
		out.Keys = append(out.Keys, key)
	}
	if s := g.Spec.SchedulingConstraints; s != nil {
		for i, t := range s.Topology {
			add(t.Key, field.NewPath("spec", "schedulingConstraints", "topology").Index(i).Child("key"))
		}
	}
	levels := annotations.Key(PodGroupTopologyLevelsAnnotation)
	if text, ok := g.Annotations[PodGroupTopologyLevelsAnnotation]; ok {
		for key := range strings.SplitSeq(text, ",") {
			add(strings.TrimSpace(key), levels)
		}
	}
	if len(out.Keys) > maximumTopologyKeys {
		c.errs = append(c.errs, field.TooMany(levels, len(out.Keys), maximumTopologyKeys))
	}
	path := annotations.Key(PodGroupTopologyPolicyAnnotation)
	policy := g.Annotations[PodGroupTopologyPolicyAnnotation]
	out.Policy = enum(c, podGroupTopologyPolicies, policy, path)
	if len(out.Keys) == 0 {
		if policy != "" {
			c.errs = append(c.errs, field.Forbidden(path, "the group has no topology"))
		}
		if g.Spec.SchedulingConstraints == nil {
			return nil
		}
	}
	return out
}
