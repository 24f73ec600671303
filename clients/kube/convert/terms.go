package convert

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// converter collects the errors of one object, so that one error lists all of them.
type converter struct {
	errs field.ErrorList
}

func (c *converter) err() error {
	return c.errs.ToAggregate()
}

// enum translates a Kubernetes constant into one of the contract.
func enum[K ~string, V any](c *converter, table map[K]V, value K, path *field.Path) V {
	v, ok := table[value]
	if !ok {
		c.errs = append(c.errs, field.NotSupported(path, value, slices.Sorted(maps.Keys(table))))
	}
	return v
}

var labelOperators = map[metav1.LabelSelectorOperator]stowagev1.LabelSelectorOperator{
	metav1.LabelSelectorOpIn:           stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_IN,
	metav1.LabelSelectorOpNotIn:        stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_NOT_IN,
	metav1.LabelSelectorOpExists:       stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_EXISTS,
	metav1.LabelSelectorOpDoesNotExist: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST,
}

var nodeOperators = map[corev1.NodeSelectorOperator]stowagev1.NodeSelectorOperator{
	corev1.NodeSelectorOpIn:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN,
	corev1.NodeSelectorOpNotIn:        stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN,
	corev1.NodeSelectorOpExists:       stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS,
	corev1.NodeSelectorOpDoesNotExist: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST,
	corev1.NodeSelectorOpGt:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT,
	corev1.NodeSelectorOpLt:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT,
}

// labelSelector converts a selector; nil, which selects nothing, stays nil.
func (c *converter) labelSelector(s *metav1.LabelSelector, path *field.Path) *stowagev1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &stowagev1.LabelSelector{MatchLabels: maps.Clone(s.MatchLabels)}
	for i, r := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, &stowagev1.LabelSelectorRequirement{
			Key:      r.Key,
			Operator: enum(c, labelOperators, r.Operator, path.Child("matchExpressions").Index(i).Child("operator")),
			Values:   slices.Clone(r.Values),
		})
	}
	return out
}

// nodeSelector converts a node selector; one without terms selects no node, nil every node.
func (c *converter) nodeSelector(s *corev1.NodeSelector, path *field.Path) *stowagev1.NodeSelector {
	if s == nil {
		return nil
	}
	out := &stowagev1.NodeSelector{}
	for i := range s.NodeSelectorTerms {
		out.Terms = append(out.Terms, c.nodeSelectorTerm(&s.NodeSelectorTerms[i], path.Child("nodeSelectorTerms").Index(i)))
	}
	return out
}

func (c *converter) nodeSelectorTerm(t *corev1.NodeSelectorTerm, path *field.Path) *stowagev1.NodeSelectorTerm {
	return &stowagev1.NodeSelectorTerm{
		MatchExpressions: c.nodeRequirements(t.MatchExpressions, path.Child("matchExpressions")),
		MatchFields:      c.nodeRequirements(t.MatchFields, path.Child("matchFields")),
	}
}

func (c *converter) nodeRequirements(rs []corev1.NodeSelectorRequirement, path *field.Path) []*stowagev1.NodeSelectorRequirement {
	var out []*stowagev1.NodeSelectorRequirement
	for i, r := range rs {
		out = append(out, &stowagev1.NodeSelectorRequirement{
			Key:      r.Key,
			Operator: enum(c, nodeOperators, r.Operator, path.Index(i).Child("operator")),
			Values:   slices.Clone(r.Values),
		})
	}
	return out
}

// affinity converts a pod's affinity. In a merged pod, the API server has merged matchLabelKeys and mismatchLabelKeys into
// the label selectors and kube-scheduler ignores the keys. In others, the Stowage server merges them.
func (c *converter) affinity(a *corev1.Affinity, merged bool, path *field.Path) *stowagev1.Affinity {
	if a == nil {
		return nil
	}
	out := &stowagev1.Affinity{NodeAffinity: c.nodeAffinity(a.NodeAffinity, path.Child("nodeAffinity"))}
	if p := a.PodAffinity; p != nil {
		out.PodAffinity = c.podAffinity(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, merged, path.Child("podAffinity"))
	}
	if p := a.PodAntiAffinity; p != nil {
		out.PodAntiAffinity = c.podAffinity(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, merged, path.Child("podAntiAffinity"))
	}
	if out.NodeAffinity == nil && out.PodAffinity == nil && out.PodAntiAffinity == nil {
		return nil
	}
	return out
}

func (c *converter) nodeAffinity(a *corev1.NodeAffinity, path *field.Path) *stowagev1.NodeAffinity {
	if a == nil {
		return nil
	}
	out := &stowagev1.NodeAffinity{
		Required: c.nodeSelector(a.RequiredDuringSchedulingIgnoredDuringExecution,
			path.Child("requiredDuringSchedulingIgnoredDuringExecution")),
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		out.Preferred = append(out.Preferred, &stowagev1.PreferredSchedulingTerm{
			Weight:     p.Weight,
			Preference: c.nodeSelectorTerm(&p.Preference, at.Child("preference")),
		})
	}
	if out.Required == nil && out.Preferred == nil {
		return nil
	}
	return out
}

func (c *converter) podAffinity(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, merged bool,
	path *field.Path,
) *stowagev1.PodAffinity {
	if len(required) == 0 && len(preferred) == 0 {
		return nil
	}
	out := &stowagev1.PodAffinity{}
	for i := range required {
		at := path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i)
		out.Required = append(out.Required, c.podAffinityTerm(&required[i], merged, at))
	}
	for i := range preferred {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		out.Preferred = append(out.Preferred, &stowagev1.WeightedPodAffinityTerm{
			Weight: preferred[i].Weight,
			Term:   c.podAffinityTerm(&preferred[i].PodAffinityTerm, merged, at.Child("podAffinityTerm")),
		})
	}
	return out
}

func (c *converter) podAffinityTerm(t *corev1.PodAffinityTerm, merged bool, path *field.Path) *stowagev1.PodAffinityTerm {
	out := &stowagev1.PodAffinityTerm{
		LabelSelector:     c.labelSelector(t.LabelSelector, path.Child("labelSelector")),
		Namespaces:        slices.Clone(t.Namespaces),
		NamespaceSelector: c.labelSelector(t.NamespaceSelector, path.Child("namespaceSelector")),
		TopologyKey:       t.TopologyKey,
	}
	if !merged {
		out.MatchLabelKeys = slices.Clone(t.MatchLabelKeys)
		out.MismatchLabelKeys = slices.Clone(t.MismatchLabelKeys)
	}
	return out
}

var taintEffects = map[corev1.TaintEffect]stowagev1.TaintEffect{
	corev1.TaintEffectNoSchedule:       stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE,
	corev1.TaintEffectPreferNoSchedule: stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE,
	corev1.TaintEffectNoExecute:        stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE,
}

var tolerationOperators = map[corev1.TolerationOperator]stowagev1.TolerationOperator{
	"":                        stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL,
	corev1.TolerationOpEqual:  stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL,
	corev1.TolerationOpExists: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS,
	skew.TolerationOpLt:       stowagev1.TolerationOperator_TOLERATION_OPERATOR_LT,
	skew.TolerationOpGt:       stowagev1.TolerationOperator_TOLERATION_OPERATOR_GT,
}

var unsatisfiableActions = map[corev1.UnsatisfiableConstraintAction]stowagev1.UnsatisfiableAction{
	corev1.DoNotSchedule:  stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
	corev1.ScheduleAnyway: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY,
}

var inclusionPolicies = map[corev1.NodeInclusionPolicy]stowagev1.NodeInclusionPolicy{
	corev1.NodeInclusionPolicyHonor:  stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR,
	corev1.NodeInclusionPolicyIgnore: stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE,
}

func (c *converter) taints(ts []corev1.Taint, path *field.Path) []*stowagev1.Taint {
	var out []*stowagev1.Taint
	for i, t := range ts {
		out = append(out, &stowagev1.Taint{
			Key:    t.Key,
			Value:  t.Value,
			Effect: enum(c, taintEffects, t.Effect, path.Index(i).Child("effect")),
		})
	}
	return out
}

func (c *converter) tolerations(ts []corev1.Toleration, path *field.Path) []*stowagev1.Toleration {
	var out []*stowagev1.Toleration
	for i, t := range ts {
		o := &stowagev1.Toleration{
			Key:      t.Key,
			Operator: enum(c, tolerationOperators, t.Operator, path.Index(i).Child("operator")),
			Value:    t.Value,
		}
		if t.Effect != "" {
			o.Effect = enum(c, taintEffects, t.Effect, path.Index(i).Child("effect"))
		}
		out = append(out, o)
	}
	return out
}

func (c *converter) spread(ts []corev1.TopologySpreadConstraint, path *field.Path) []*stowagev1.TopologySpreadConstraint {
	var out []*stowagev1.TopologySpreadConstraint
	for i := range ts {
		t, at := &ts[i], path.Index(i)
		o := &stowagev1.TopologySpreadConstraint{
			MaxSkew:           t.MaxSkew,
			TopologyKey:       t.TopologyKey,
			WhenUnsatisfiable: enum(c, unsatisfiableActions, t.WhenUnsatisfiable, at.Child("whenUnsatisfiable")),
			LabelSelector:     c.labelSelector(t.LabelSelector, at.Child("labelSelector")),
			// kube-scheduler reads these even where the API server has merged them into the selector.
			MatchLabelKeys: slices.Clone(t.MatchLabelKeys),
		}
		if t.MinDomains != nil {
			minDomains := *t.MinDomains
			o.MinDomains = &minDomains
		}
		// Defaults are written out, so that a pod that sets a default shares the template of one that does not.
		o.NodeAffinityPolicy = stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
		if p := t.NodeAffinityPolicy; p != nil {
			o.NodeAffinityPolicy = enum(c, inclusionPolicies, *p, at.Child("nodeAffinityPolicy"))
		}
		o.NodeTaintsPolicy = stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
		if p := t.NodeTaintsPolicy; p != nil {
			o.NodeTaintsPolicy = enum(c, inclusionPolicies, *p, at.Child("nodeTaintsPolicy"))
		}
		out = append(out, o)
	}
	return out
}

// NodeAffinity converts node affinity that is not part of a pod, such as NodeAffinityArgs.addedAffinity.
func NodeAffinity(a *corev1.NodeAffinity, path *field.Path) (*stowagev1.NodeAffinity, field.ErrorList) {
	c := &converter{}
	return c.nodeAffinity(a, path), c.errs
}

// SpreadConstraints converts spread constraints that are not part of a pod, such as PodTopologySpreadArgs.defaultConstraints.
func SpreadConstraints(all []corev1.TopologySpreadConstraint, path *field.Path) ([]*stowagev1.TopologySpreadConstraint, field.ErrorList) {
	c := &converter{}
	return c.spread(all, path), c.errs
}

// ServiceSelector converts a Service's selector.
func ServiceSelector(s *corev1.Service) *stowagev1.WorkloadSelector {
	return mapSelector(stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, s, s.Spec.Selector)
}

// ReplicationControllerSelector converts a ReplicationController's selector, which defaults to its template's labels.
func ReplicationControllerSelector(rc *corev1.ReplicationController) *stowagev1.WorkloadSelector {
	selector := rc.Spec.Selector
	if len(selector) == 0 && rc.Spec.Template != nil {
		selector = rc.Spec.Template.Labels
	}
	return mapSelector(stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER, rc, selector)
}

// DeploymentSelector converts a Deployment's selector, which is of no kind that default spreading reads.
func DeploymentSelector(d *appsv1.Deployment) (*stowagev1.WorkloadSelector, error) {
	return labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_UNSPECIFIED, d, d.Spec.Selector)
}

// ReplicaSetSelector converts a ReplicaSet's selector.
func ReplicaSetSelector(rs *appsv1.ReplicaSet) (*stowagev1.WorkloadSelector, error) {
	return labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET, rs, rs.Spec.Selector)
}

// StatefulSetSelector converts a StatefulSet's selector.
func StatefulSetSelector(ss *appsv1.StatefulSet) (*stowagev1.WorkloadSelector, error) {
	return labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_STATEFUL_SET, ss, ss.Spec.Selector)
}

func mapSelector(kind stowagev1.WorkloadKind, o metav1.Object, selector map[string]string) *stowagev1.WorkloadSelector {
	out := &stowagev1.WorkloadSelector{Kind: kind, Namespace: object.Namespace(o), Name: o.GetName()}
	// A nil selector selects nothing, where an empty one selects everything.
	if selector != nil {
		out.Selector = &stowagev1.LabelSelector{MatchLabels: maps.Clone(selector)}
	}
	return out
}

func labelSelectorOf(kind stowagev1.WorkloadKind, o metav1.Object, selector *metav1.LabelSelector) (*stowagev1.WorkloadSelector, error) {
	c := &converter{}
	return &stowagev1.WorkloadSelector{
		Kind:      kind,
		Namespace: object.Namespace(o),
		Name:      o.GetName(),
		Selector:  c.labelSelector(selector, field.NewPath("spec", "selector")),
	}, c.err()
}
