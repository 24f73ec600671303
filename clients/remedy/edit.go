package remedy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// anyWeight is the weight of a required rule that becomes a preferred one: the highest.
const anyWeight = 100

var effects = map[stowagev1.TaintEffect]corev1.TaintEffect{
	stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE:        corev1.TaintEffectNoSchedule,
	stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE: corev1.TaintEffectPreferNoSchedule,
	stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE:         corev1.TaintEffectNoExecute,
}

var tolerationOperators = map[stowagev1.TolerationOperator]corev1.TolerationOperator{
	stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL:  corev1.TolerationOpEqual,
	stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS: corev1.TolerationOpExists,
}

var errNoSpec = errors.New("no command or patch makes the change")

// edit makes a change of a pod's spec.
func edit(spec *corev1.PodSpec, namespace string, c *stowagev1.Change) error {
	honor := corev1.NodeInclusionPolicyHonor
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_RemovedSchedulingGates:
		spec.SchedulingGates = nil
	case *stowagev1.Change_AddedTolerations:
		for _, t := range k.AddedTolerations.GetTolerations() {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: t.GetKey(), Operator: tolerationOperators[t.GetOperator()], Value: t.GetValue(), Effect: effects[t.GetEffect()],
			})
		}
	case *stowagev1.Change_ChangedNodeRequirement:
		return editRequirement(spec, k.ChangedNodeRequirement)
	case *stowagev1.Change_HonoredPolicy:
		constraint := &spec.TopologySpreadConstraints[k.HonoredPolicy.GetIndex()]
		if k.HonoredPolicy.GetPolicy() == stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_TAINTS_POLICY {
			constraint.NodeTaintsPolicy = &honor
		} else {
			constraint.NodeAffinityPolicy = &honor
		}
	case *stowagev1.Change_RaisedMaxSkew:
		spec.TopologySpreadConstraints[k.RaisedMaxSkew.GetIndex()].MaxSkew = k.RaisedMaxSkew.GetTo()
	case *stowagev1.Change_LoweredMinDomains:
		spec.TopologySpreadConstraints[k.LoweredMinDomains.GetIndex()].MinDomains = new(k.LoweredMinDomains.GetTo())
	case *stowagev1.Change_LoweredRequest:
		return editRequest(spec, k.LoweredRequest)
	default:
		return editRule(spec, namespace, c)
	}
	return nil
}

// editRule makes a change of a spread constraint or a required term that the change names by a PodRule.
func editRule(spec *corev1.PodSpec, namespace string, c *stowagev1.Change) error {
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_RenamedTopologyKey:
		if constraint, term := rule(spec, k.RenamedTopologyKey.GetRule()); term != nil {
			term.TopologyKey = k.RenamedTopologyKey.GetTo()
		} else {
			constraint.TopologyKey = k.RenamedTopologyKey.GetTo()
		}
	case *stowagev1.Change_AddedMatchLabelKey:
		if constraint, term := rule(spec, k.AddedMatchLabelKey.GetRule()); term != nil {
			term.MatchLabelKeys = append(term.MatchLabelKeys, k.AddedMatchLabelKey.GetKey())
		} else {
			constraint.MatchLabelKeys = append(constraint.MatchLabelKeys, k.AddedMatchLabelKey.GetKey())
		}
	case *stowagev1.Change_AddedNamespace:
		_, term := rule(spec, k.AddedNamespace.GetRule())
		if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
			term.Namespaces = []string{namespace}
		}
		term.Namespaces = append(term.Namespaces, k.AddedNamespace.GetAdded())
	case *stowagev1.Change_PreferredRule:
		return prefer(spec, k.PreferredRule)
	default:
		return errNoSpec
	}
	return nil
}

// rule returns a spread constraint or a required term.
func rule(spec *corev1.PodSpec, r *stowagev1.PodRule) (*corev1.TopologySpreadConstraint, *corev1.PodAffinityTerm) {
	switch r.GetRule() {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		return &spec.TopologySpreadConstraints[r.GetIndex()], nil
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY:
		return nil, &spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[r.GetIndex()]
	}
	return nil, &spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[r.GetIndex()]
}

// prefer makes a required rule a preferred one.
func prefer(spec *corev1.PodSpec, r *stowagev1.PodRule) error {
	i := int(r.GetIndex())
	weighted := func(required *[]corev1.PodAffinityTerm, preferred *[]corev1.WeightedPodAffinityTerm) {
		*preferred = append(*preferred, corev1.WeightedPodAffinityTerm{Weight: anyWeight, PodAffinityTerm: (*required)[i]})
		*required = slices.Delete(*required, i, i+1)
	}
	switch r.GetRule() {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		preferSpread(spec, i)
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY:
		a := spec.Affinity.PodAffinity
		weighted(&a.RequiredDuringSchedulingIgnoredDuringExecution, &a.PreferredDuringSchedulingIgnoredDuringExecution)
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY:
		a := spec.Affinity.PodAntiAffinity
		weighted(&a.RequiredDuringSchedulingIgnoredDuringExecution, &a.PreferredDuringSchedulingIgnoredDuringExecution)
	default:
		return preferNodes(spec)
	}
	return nil
}

// preferSpread makes a spread constraint a preference. A pod has one of them by topology key at most: if there is one, the constraint
// goes.
func preferSpread(spec *corev1.PodSpec, i int) {
	all := spec.TopologySpreadConstraints
	if slices.ContainsFunc(all, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == all[i].TopologyKey && c.WhenUnsatisfiable == corev1.ScheduleAnyway
	}) {
		spec.TopologySpreadConstraints = slices.Delete(all, i, i+1)
		return
	}
	all[i].WhenUnsatisfiable = corev1.ScheduleAnyway
	all[i].MinDomains = nil // DoNotSchedule alone has it
}

// preferNodes makes the node selector and the required node affinity preferences: each term with the labels of the node selector.
func preferNodes(spec *corev1.PodSpec) error {
	if spec.RuntimeClassName != nil {
		return errors.New("its RuntimeClass may add to the node selector")
	}
	var labels []corev1.NodeSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		labels = append(labels, corev1.NodeSelectorRequirement{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{spec.NodeSelector[key]},
		})
	}
	spec.NodeSelector = nil
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	a := spec.Affinity.NodeAffinity
	terms := []corev1.NodeSelectorTerm{{}}
	if a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms = a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	for _, t := range terms {
		t.MatchExpressions = slices.Concat(labels, t.MatchExpressions)
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: anyWeight, Preference: t})
	}
	a.RequiredDuringSchedulingIgnoredDuringExecution = nil
	return nil
}

var nodeOperators = map[stowagev1.NodeSelectorOperator]corev1.NodeSelectorOperator{
	stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN:             corev1.NodeSelectorOpIn,
	stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN:         corev1.NodeSelectorOpNotIn,
	stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS:         corev1.NodeSelectorOpExists,
	stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST: corev1.NodeSelectorOpDoesNotExist,
	stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT:             corev1.NodeSelectorOpGt,
	stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT:             corev1.NodeSelectorOpLt,
}

// editRequirement changes a requirement on nodes' labels, or gives it up.
func editRequirement(spec *corev1.PodSpec, r *stowagev1.ChangedNodeRequirement) error {
	to := r.GetTo()
	if r.TermIndex == nil {
		key := r.GetFrom().GetKey()
		if value, ok := spec.NodeSelector[key]; !ok || !slices.Contains(r.GetFrom().GetValues(), value) {
			return fmt.Errorf("the node selector %s is not the pod's own: its RuntimeClass adds it", key)
		}
		delete(spec.NodeSelector, key)
		if to != nil {
			spec.NodeSelector[to.GetKey()] = to.GetValues()[0]
		}
		return nil
	}
	a := spec.Affinity.NodeAffinity
	term, i := &a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[r.GetTermIndex()], int(r.GetExpressionIndex())
	switch {
	case to != nil && to.GetKey() != r.GetFrom().GetKey(): // whose values may be more than the change lists
		term.MatchExpressions[i].Key = to.GetKey()
	case to != nil:
		term.MatchExpressions[i] = corev1.NodeSelectorRequirement{
			Key: to.GetKey(), Operator: nodeOperators[to.GetOperator()], Values: to.GetValues(),
		}
	case len(term.MatchExpressions)+len(term.MatchFields) == 1:
		a.RequiredDuringSchedulingIgnoredDuringExecution = nil
	default:
		term.MatchExpressions = slices.Delete(term.MatchExpressions, i, i+1)
	}
	return nil
}

// editRequest lowers the request of the container that has the pod's request alone. A limit of an extended resource, which equals the
// request, follows.
func editRequest(spec *corev1.PodSpec, r *stowagev1.LoweredRequest) error {
	from, err := resource.ParseQuantity(words.Quantity(r.GetResource(), r.GetFrom()))
	if err != nil {
		return err
	}
	lowered, err := resource.ParseQuantity(words.Quantity(r.GetResource(), r.GetTo()))
	if err != nil {
		return err
	}
	name := corev1.ResourceName(r.GetResource())
	all := requester(spec, name, from, lowered)
	if all == nil {
		return fmt.Errorf("the request of %s is in several places: lower their sum to %s", name, &lowered)
	}
	if all.Requests == nil {
		all.Requests = corev1.ResourceList{}
	}
	all.Requests[name] = lowered
	if _, limited := all.Limits[name]; limited && extended(r.GetResource()) {
		all.Limits[name] = lowered
	}
	return nil
}

// requester returns the resources of the container that alone makes up the pod's request of a resource, from, and still does when that
// is lowered. It returns nil if there is none.
func requester(spec *corev1.PodSpec, name corev1.ResourceName, from, lowered resource.Quantity) *corev1.ResourceRequirements {
	if len(spec.Overhead) > 0 || spec.Resources != nil || spec.RuntimeClassName != nil { // which may add an overhead
		return nil
	}
	if len(spec.Containers) == 1 && len(spec.InitContainers) == 0 {
		return &spec.Containers[0].Resources
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		q := requested(&c.Resources, name)
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways // which runs beside the containers
		if sidecar && !q.IsZero() || q.Cmp(lowered) > 0 {
			return nil
		}
	}
	var own *corev1.ResourceRequirements
	for i := range spec.Containers {
		all := &spec.Containers[i].Resources
		q := requested(all, name)
		if q.IsZero() {
			continue
		}
		if own != nil || q.Cmp(from) != 0 { // a LimitRange may add requests
			return nil
		}
		own = all
	}
	return own
}

// requested returns a container's request of a resource, which is the limit unless the container has one.
func requested(all *corev1.ResourceRequirements, name corev1.ResourceName) resource.Quantity {
	if q, ok := all.Requests[name]; ok {
		return q
	}
	return all.Limits[name]
}

// extended reports whether a resource's request has to equal its limit: it has a prefix that is not Kubernetes' own, or is of huge
// pages.
func extended(resource string) bool {
	prefix, _, prefixed := strings.Cut(resource, "/")
	return strings.HasPrefix(resource, corev1.ResourceHugePagesPrefix) || prefixed && prefix != "kubernetes.io"
}
