package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// claimName is how findings name a claim.
func claimName(c *stowagev1.PersistentVolumeClaim) string {
	return c.GetNamespace() + "/" + c.GetName()
}

// volumes finds claims without a node, claims of one pod that several use, and nodes at their attach limits.
func (a *audit) volumes(ctx context.Context) error {
	a.sharedClaims()
	if err := a.pinnedClaims(ctx); err != nil {
		return err
	}
	return a.attachLimits(ctx)
}

// sharedClaims finds ReadWriteOncePod claims that several pods on nodes use: kube-scheduler would have placed the first alone.
func (a *audit) sharedClaims() {
	users := map[string][]int{}
	for i := range a.pods {
		for _, c := range compact.Claims(a.cluster, a.pods[i].converted) {
			users[claimName(c)] = append(users[claimName(c)], i)
		}
	}
	for _, c := range a.cluster.PersistentVolumeClaims {
		using := users[claimName(c)]
		if !c.GetSpec().GetAccessModes().GetReadWriteOncePod() || len(using) < 2 {
			continue
		}
		on, names := map[int]bool{}, []string(nil)
		for _, i := range using {
			on[a.pods[i].node] = true
			names = append(names, a.pods[i].object.Name)
		}
		a.found = append(a.found, review.Finding{
			Severity: review.Broken, Rule: SharedClaim, Object: review.Object{Kind: "PersistentVolumeClaim", Namespace: c.GetNamespace(), Name: c.GetName()},
			Pods: len(using), Nodes: a.nodeNames(on), Message: fmt.Sprintf("one pod alone may use it (ReadWriteOncePod), and %s do", words.Names(names)),
		})
	}
}

// pinnedClaims finds bound claims whose volumes no node with room for one more pod can use. A pod that asks for nothing but the claim stands
// for a pod that comes back. Claims whose volumes the same nodes can use are tried once.
func (a *audit) pinnedClaims(ctx context.Context) error {
	volumes := map[string]*stowagev1.PersistentVolume{}
	for _, v := range a.cluster.PersistentVolumes {
		volumes[v.GetName()] = v
	}
	var order []string
	of := map[string][]*stowagev1.PersistentVolumeClaim{}
	for _, c := range a.cluster.PersistentVolumeClaims {
		v := volumes[c.GetVolumeName()]
		if v == nil || !c.GetBindCompleted() || c.GetTerminating() || c.GetLost() || c.GetSpec().GetAccessModes().GetReadWriteOncePod() {
			continue
		}
		key, err := proto.MarshalOptions{Deterministic: true}.Marshal(&stowagev1.PersistentVolume{
			Labels: v.GetLabels(), NodeAffinity: v.GetNodeAffinity(), MigratedNodeAffinity: v.GetMigratedNodeAffinity(), InTreePlugin: v.GetInTreePlugin(),
		})
		if err != nil {
			return err
		}
		if of[string(key)] == nil {
			order = append(order, string(key))
		}
		of[string(key)] = append(of[string(key)], c)
	}
	request := &stowagev1.WhatIfRequest{Context: a.context(a.Profile())}
	for _, key := range order {
		c := of[key][0]
		template := &stowagev1.PodTemplate{Namespace: c.GetNamespace(), Spec: &stowagev1.PodSpec{
			Tolerations: []*stowagev1.Toleration{{Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS}},
			Volumes: []*stowagev1.Volume{{Source: &stowagev1.Volume_PersistentVolumeClaim{
				PersistentVolumeClaim: &stowagev1.PersistentVolumeClaimVolumeSource{ClaimName: c.GetName()},
			}}},
		}}
		request.Scenarios = append(request.Scenarios, &stowagev1.Scenario{Queue: []*stowagev1.PendingPods{{
			Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}},
		}}})
	}
	x := words.Explanation{Cluster: a.cluster}
	return a.whatIf(ctx, request, func(r *stowagev1.WhatIfResponse) {
		p := r.GetPlacement().GetPlacements()[0]
		if p.GetUnplacedCount() == 0 {
			return
		}
		for _, c := range of[order[r.GetScenarioIndex()]] {
			where := ""
			if place := x.VolumePlace(c.GetVolumeName()); place != "" {
				where = ", which nodes with " + place + " alone can use"
			}
			a.found = append(a.found, review.Finding{
				Severity: review.Warning, Rule: PinnedClaim, Object: review.Object{Kind: "PersistentVolumeClaim", Namespace: c.GetNamespace(), Name: c.GetName()},
				Message: fmt.Sprintf("no node has room for a pod with volume %s%s: %s", c.GetVolumeName(), where, p.GetMessage()),
			})
		}
	})
}

// attachLimits finds the nodes to which a CSI driver cannot attach one more volume.
func (a *audit) attachLimits(ctx context.Context) error {
	drivers := map[string]bool{}
	collect := func(n *stowagev1.CSINode) {
		for _, d := range n.GetDrivers() {
			if d.AllocatableCount != nil {
				drivers[d.GetName()] = true
			}
		}
	}
	for _, n := range a.cluster.Nodes {
		collect(n.GetCsiNode())
	}
	for _, c := range a.cluster.NodeClasses {
		collect(c.GetCsiNode())
	}
	for _, driver := range slices.Sorted(maps.Keys(drivers)) {
		template := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Volumes: []*stowagev1.Volume{{Source: &stowagev1.Volume_Disk{
			Disk: &stowagev1.DiskVolumeSource{CsiDriver: driver, VolumeHandle: "one more"},
		}}}}}
		request := &stowagev1.FilterRequest{
			Context: a.context(a.Profile()), Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}}, Explain: true,
		}
		response, err := a.Client.Filter(ctx, request)
		if err != nil {
			return answer.Refused(request, err)
		}
		for _, s := range response.GetExplanation().GetAttachShortages() {
			name := a.cluster.Nodes[s.GetNodeIndex()].GetName()
			a.found = append(a.found, review.Finding{
				Severity: review.Warning, Rule: AttachLimit, Object: review.Object{Kind: "Node", Name: name}, Nodes: []string{name},
				Message: fmt.Sprintf("%d of %d volumes of %s are attached: it takes no pod with another one", s.GetAttached(), s.GetLimit(), s.GetCsiDriver()),
			})
		}
	}
	return nil
}

// pins are the volumes of claims, and the zones of nodes by their hostname.
type pins struct {
	volumes map[string]*stowagev1.PersistentVolume
	zones   map[string]string
}

func (a *audit) newPins() *pins {
	byName := map[string]*stowagev1.PersistentVolume{}
	for _, v := range a.cluster.PersistentVolumes {
		byName[v.GetName()] = v
	}
	out := &pins{map[string]*stowagev1.PersistentVolume{}, map[string]string{}}
	for _, c := range a.cluster.PersistentVolumeClaims {
		if v := byName[c.GetVolumeName()]; v != nil {
			out.volumes[claimName(c)] = v
		}
	}
	for _, n := range a.nodes {
		out.zones[n.Labels[corev1.LabelHostname]] = n.Labels[corev1.LabelTopologyZone]
	}
	return out
}

// volumesWithin finds workloads whose replicas are in one zone and have volumes there. The pods cannot leave it: a rule that spreads them does
// not help.
func (a *audit) volumesWithin(p *pins, workload kube.Origin, pods []int, zone string) {
	on := map[int]bool{}
	for _, i := range pods {
		on[a.pods[i].node] = true
		if !slices.ContainsFunc(compact.Claims(a.cluster, a.pods[i].converted), func(c *stowagev1.PersistentVolumeClaim) bool {
			return p.keepIn(p.volumes[claimName(c)], zone)
		}) {
			return
		}
	}
	a.found = append(a.found, review.Finding{
		Severity: review.Warning, Rule: VolumesInZone, Object: review.Object(workload), Pods: len(pods), Nodes: a.nodeNames(on),
		Message: fmt.Sprintf("the volumes of all %d replicas are in one zone, %s, and keep the pods there", len(pods), zone),
	})
}

// keepIn reports whether nodes of a zone alone can use a volume. A volume of several zones keeps pods in none of them.
func (p *pins) keepIn(v *stowagev1.PersistentVolume, zone string) bool {
	isZone := func(key string) bool { return strings.HasSuffix(key, "/zone") }
	for key, value := range v.GetLabels() {
		if isZone(key) && value == zone {
			return true
		}
	}
	keeps := func(r *stowagev1.NodeSelectorRequirement) bool {
		elsewhere := func(host string) bool { return p.zones[host] != zone }
		return r.GetOperator() == stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN &&
			(isZone(r.GetKey()) && slices.Equal(r.GetValues(), []string{zone}) ||
				r.GetKey() == corev1.LabelHostname && !slices.ContainsFunc(r.GetValues(), elsewhere))
	}
	terms := v.GetNodeAffinity().GetTerms()
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t *stowagev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(t.GetMatchExpressions(), keeps)
	})
}
