package advice

import (
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/remedy"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// apart is advice about a workload whose pods must be apart from each other and have too few nodes: the rule as a preference in all of
// its pods, and fewer replicas. A change of the pending pod alone does not help, because the pods on nodes keep it away, too.
func (q *Question) apart(ctx context.Context) ([]Advice, error) {
	pod, workload := q.Pods[0].Object(), q.Pods[0].Workload
	if workload.Kind == "Pod" || pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil, nil
	}
	siblings := q.siblings(workload)
	own := metav1.GetControllerOfNoCopy(pod)
	if slices.ContainsFunc(siblings, func(p kube.OnNode) bool { return own == nil || metav1.GetControllerOfNoCopy(p.Pod).Name != own.Name }) {
		return nil, nil // a rollout is under way
	}
	all := uint32(len(siblings)) + q.pods()
	fits := uint32(len(siblings)) + q.Placed
	unchanged, err := q.Snapshot.PendingPod(pod)
	if err != nil || fits == 0 {
		return nil, err
	}
	var scenarios []*stowagev1.Scenario
	var at int
	add := func(pod *stowagev1.Pod, count uint32) {
		var s *stowagev1.Scenario
		s, at = q.scenario(pod, count)
		q.evict(s, siblings...)
		scenarios = append(scenarios, s)
	}
	add(unchanged, all)
	var rules []*stowagev1.Change
	terms := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms[:min(len(terms), maximumRules)] {
		c := &stowagev1.Change{Kind: &stowagev1.Change_PreferredRule{PreferredRule: &stowagev1.PodRule{
			Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY,
			Index: uint32(i), TopologyKey: terms[i].TopologyKey,
		}}}
		changed, err := remedy.Edited(c, pod)
		if err != nil {
			return nil, err
		}
		converted, err := q.Snapshot.PendingPod(changed)
		if err != nil {
			return nil, err
		}
		rules = append(rules, c)
		add(converted, all)
	}
	if len(rules) == 0 {
		return nil, nil
	}
	answers, err := q.play(ctx, q.Mode, scenarios...)
	if err != nil || placed(answers[0], at) { // then it is the order, or where its pods are
		return nil, err
	}
	var out []Advice
	for i, c := range rules {
		if placed(answers[i+1], at) && !q.offers(c) {
			out = append(out, q.preferred(c, workload, len(siblings), all))
		}
	}
	if len(out) > 0 && scaled[workload.Kind] { // pending pods are deleted first, and the others have nodes
		out = append(out, Advice{
			Kind: FewerReplicas, Replicas: fits,
			Text: fmt.Sprintf("%s of %s instead of %d", words.Plural(int(fits), "replica"), workload.Kind+" "+workload.Name, all),
			Fix:  remedy.Scaled(remedy.Workload(workload), fits),
		})
	}
	return out, nil
}

// scaled are the controllers that delete pending pods first when they are scaled down.
var scaled = map[string]bool{"Deployment": true, "ReplicaSet": true, "ReplicationController": true}

// siblings are the pods of a workload on nodes that do not leave.
func (q *Question) siblings(workload kube.Origin) []kube.OnNode {
	var out []kube.OnNode
	for p := range q.Snapshot.OnNodes() {
		if p.Workload == workload && p.Pod.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out
}

// offers reports whether the rule as a preference of the pending pod alone places it.
func (q *Question) offers(c *stowagev1.Change) bool {
	r := c.GetPreferredRule()
	return slices.ContainsFunc(q.Offered, func(o *stowagev1.Change) bool {
		p := o.GetPreferredRule()
		return p.GetRule() == r.GetRule() && p.GetIndex() == r.GetIndex()
	})
}

// preferred advises to make a rule a preference in all pods of a workload. Old pods keep the new ones away while they are there: a rolling
// update that may make no more pods unavailable is stuck, so that the old ones have to leave first.
func (q *Question) preferred(c *stowagev1.Change, workload kube.Origin, siblings int, all uint32) Advice {
	out := Advice{Kind: SoftRule, Rule: c.GetPreferredRule(), Text: fmt.Sprintf("anti-affinity by %s preferred instead of required in all pods of %s %s",
		c.GetPreferredRule().GetTopologyKey(), workload.Kind, workload.Name)}
	then := fmt.Sprintf("; then all %d have a node", all)
	out.Fix, out.Refused = remedy.Of(c, q.Pods[0].Object(), remedy.WorkloadOf(q.Pods[0].Origin, q.Pods[0].Object()), q.Snapshot.Cluster.GetNodes())
	if siblings == 0 {
		out.Text += then
		return out
	}
	unavailable, known := q.Snapshot.MaxUnavailable(workload)
	switch {
	case known && int(all)-siblings < unavailable: // the rolling update makes room
	case workload.Kind == "Deployment":
		out.Text += ", with strategy Recreate, as the old pods must leave first"
		if out.Fix != nil {
			out.Fix, out.Refused = remedy.Recreated(out.Fix)
		}
	default:
		out.Text += ", and its old pods deleted"
		out.Fix, out.Refused = nil, fmt.Errorf("the pods of %s %s must be deleted after the patch", workload.Kind, workload.Name)
	}
	out.Text += then
	return out
}
