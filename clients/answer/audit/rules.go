package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	corev1 "k8s.io/api/core/v1"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/stowage-scheduler/stowage/clients/review"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// nodeFilters are filters that reject a node because of its state or of volumes, not because of a rule of the pod. They have their own
// findings.
var nodeFilters = []stowagev1.Plugin{
	stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE, stowagev1.Plugin_PLUGIN_TAINT_TOLERATION, stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT,
	stowagev1.Plugin_PLUGIN_VOLUME_RESTRICTIONS, stowagev1.Plugin_PLUGIN_NODE_VOLUME_LIMITS, stowagev1.Plugin_PLUGIN_VOLUME_BINDING,
	stowagev1.Plugin_PLUGIN_VOLUME_ZONE,
}

// rules finds the pods whose node would reject them today: it removes each from its node, and places it there again.
func (a *audit) rules(ctx context.Context) error {
	profile := &stowagev1.Profile{}
	if p := a.Profile(); p != nil {
		profile = proto.CloneOf(p)
	}
	for _, plugin := range nodeFilters {
		if !slices.Contains(profile.DisabledFilters, plugin) {
			profile.DisabledFilters = append(profile.DisabledFilters, plugin)
		}
	}
	units := a.units()
	request := &stowagev1.WhatIfRequest{Context: a.context(profile)}
	for _, u := range units {
		p := a.pods[u.pods[0]]
		again := pending(p.converted)
		again.NominatedNodeName = a.cluster.Nodes[p.node].Name // evaluated first, and alone if it is feasible
		request.Scenarios = append(request.Scenarios, a.takenOff(p, again))
	}
	var broken []*unit
	err := a.whatIf(ctx, request, func(r *stowagev1.WhatIfResponse) {
		u := units[r.ScenarioIndex]
		if on := placedOn(r); on != a.pods[u.pods[0]].node {
			broken = append(broken, u)
			for _, i := range u.pods {
				a.broken[i] = true
			}
		}
	})
	if err != nil {
		return err
	}
	return a.whyBroken(ctx, profile, broken)
}

// takenOff is a scenario that removes a pod from its node and places another pod.
func (a *audit) takenOff(p pod, again *stowagev1.Pod) *stowagev1.Scenario {
	return &stowagev1.Scenario{
		Evictions: []*stowagev1.NodeEvictions{{
			NodeName: a.cluster.Nodes[p.node].Name,
			Pods:     []*stowagev1.NamespacedName{{Namespace: p.object.Namespace, Name: p.object.Name}},
		}},
		Queue: []*stowagev1.PendingPods{{Pod: again}},
	}
}

// placedOn is the node of a scenario's only pod, -1 for none.
func placedOn(r *stowagev1.WhatIfResponse) int {
	if nodes := r.GetPlacement().GetPlacements()[0].GetNodes().GetIndexes(); len(nodes) == 1 {
		return int(nodes[0])
	}
	return -1
}

// whyBroken requests the reasons why nodes reject their pods. Bound pods get the reasons other than their own binding, as from
// kube-scheduler.
func (a *audit) whyBroken(ctx context.Context, profile *stowagev1.Profile, broken []*unit) error {
	request := &stowagev1.WhatIfRequest{Context: a.context(profile)}
	for _, u := range broken {
		p := a.pods[u.pods[0]]
		template := p.converted.GetTemplate()
		if template == nil {
			template = a.cluster.PodTemplates[p.converted.GetTemplateIndex()]
		}
		template = proto.CloneOf(template)
		if template.Spec == nil {
			template.Spec = &stowagev1.PodSpec{}
		}
		template.Spec.NodeName = a.cluster.Nodes[p.node].Name
		again := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}, Labels: p.converted.Labels}
		request.Scenarios = append(request.Scenarios, a.takenOff(p, again))
	}
	var found groups
	err := a.whatIf(ctx, request, func(r *stowagev1.WhatIfResponse) {
		u := broken[r.ScenarioIndex]
		why := reasons(r.GetPlacement().GetPlacements()[0], a.pods[u.pods[0]].node)
		for _, i := range u.pods {
			found.add(groupKey{a.pods[i].workload, why}, why, 1, a.pods[i].node)
		}
	})
	if err != nil {
		return err
	}
	a.report(&found, review.Broken, RuleBroken, func(pods, nodes, why string) string {
		if pods != words.Plural(1, "pod") {
			return fmt.Sprintf("%s on %s: each of them alone would be rejected there today: %s", pods, nodes, why)
		}
		return fmt.Sprintf("%s on %s would be rejected there today: %s", pods, nodes, why)
	})
	return nil
}

// reasons are the reasons why a node rejects the pod of a placement.
func reasons(p *stowagev1.Placement, node int) string {
	for _, r := range p.GetRejections() {
		if !slices.Contains(r.GetNodes().GetIndexes(), uint32(node)) {
			continue
		}
		var out []string
		for _, reason := range r.GetReasons() {
			out = append(out, reason.GetMessage())
		}
		return strings.Join(out, ", ")
	}
	return p.GetMessage()
}

// taints finds the pods that do not tolerate a taint of their node. It skips taints that describe a node's state, and taints whose
// toleration depends on feature gates.
func (a *audit) taints() {
	var found groups
	for _, p := range a.pods {
		spec := &p.object.Spec
		if slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Operator == corev1.TolerationOpGt || t.Operator == corev1.TolerationOpLt
		}) {
			continue
		}
		taint, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), a.nodes[p.node].Spec.Taints, spec.Tolerations,
			func(t *corev1.Taint) bool {
				return t.Effect != corev1.TaintEffectPreferNoSchedule && !strings.HasPrefix(t.Key, "node.kubernetes.io/") &&
					!strings.HasPrefix(t.Key, "node.cloudprovider.kubernetes.io/")
			}, false)
		if refused {
			found.add(groupKey{p.workload, taint.ToString()}, taint.ToString(), 1, p.node)
		}
	}
	a.report(&found, review.Warning, UntoleratedTaint,
		plainly("%s on %s would not be placed there again: the taint %s is not tolerated"))
}
