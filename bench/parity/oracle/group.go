package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingconversion "k8s.io/kubernetes/pkg/apis/scheduling/v1beta1"
	"k8s.io/kubernetes/pkg/apis/scheduling/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Group is the result of kube-scheduler's pod group cycle for a pod group.
type Group struct {
	// Entries are the queue's entries whose pods are in the group.
	Entries []int
	// Outcomes are the possible results, as kube-scheduler goes through the domains and the running pods in any order. A placed
	// group has a single outcome: kube-scheduler chooses any of the domains with the highest score, and the contract defines which.
	Outcomes []Outcome
	// Domains is in how many placements it was tried, and Ties how many of them have the highest score.
	Domains, Ties int
	// Running is how many of its pods are on nodes.
	Running int
	// Topology says that it has a topology key.
	Topology bool
}

var policyPath = field.NewPath("spec", "schedulingPolicy")

func (s *Scheduler) admitGroups(c *scenario.Case) error {
	known := map[string]bool{}
	for _, g := range c.PodGroups {
		known[cmp.Or(g.Namespace, corev1.NamespaceDefault)+"/"+g.Name] = true
	}
	for _, q := range c.Queue {
		pod := q.Pod.DeepCopy()
		pod.Namespace = cmp.Or(pod.Namespace, corev1.NamespaceDefault)
		if name := GroupOf(pod); name != "" && !known[name] {
			return &InvalidError{Object: "pod " + pod.Name, Errs: field.ErrorList{
				field.NotFound(field.NewPath("spec", "schedulingGroup"), name),
			}}
		}
	}
	for _, g := range c.PodGroups {
		group := g.DeepCopy()
		if group.Namespace == "" {
			group.Namespace = corev1.NamespaceDefault
		}
		var internal scheduling.PodGroup
		if err := schedulingconversion.Convert_v1beta1_PodGroup_To_scheduling_PodGroup(group, &internal, nil); err != nil {
			return err
		}
		errs := validation.ValidatePodGroup(&internal)
		if p := group.Spec.SchedulingPolicy; (p.Gang == nil) == (p.Basic == nil) {
			errs = append(errs, field.Required(policyPath, "one of basic and gang"))
		} else if p.Gang != nil && p.Gang.MinCount < 1 {
			errs = append(errs, field.Invalid(policyPath.Child("gang", "minCount"), p.Gang.MinCount, "at least 1"))
		}
		if len(errs) > 0 {
			return &InvalidError{Object: "pod group " + g.Name, Errs: errs}
		}
		group.UID = types.UID(group.Namespace + "/" + group.Name)
		s.PodGroups = append(s.PodGroups, group)
	}
	return nil
}

// GroupOf is the name of a pod's group; empty for none.
func GroupOf(p *corev1.Pod) string {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return p.Namespace + "/" + *g.PodGroupName
	}
	return ""
}

// member is a pod of a group, and the queue's entry that it is of.
type member struct {
	*corev1.Pod
	entry int
}

// fillGroups makes kube-scheduler know the groups and all of their pods.
func (s *Scheduler) fillGroups(c *scenario.Case) error {
	s.members = map[string][]member{}
	known := map[string]*schedulingv1beta1.PodGroup{}
	for _, g := range s.PodGroups {
		s.scheduler.Cache.AddPodGroup(g)
		known[g.Namespace+"/"+g.Name] = g
	}
	for i, pod := range s.Queue {
		name := GroupOf(pod)
		if name == "" {
			continue
		}
		for k := range c.Queue[i].Count {
			p := pod
			if k > 0 {
				p = pod.DeepCopy()
				p.Name = fmt.Sprintf("%s-%d", pod.Name, k)
				p.UID = types.UID(fmt.Sprintf("%s-%d", pod.UID, k))
			}
			s.scheduler.Cache.AddPodGroupMember(p)
			s.members[name] = append(s.members[name], member{p, i})
		}
	}
	for name, members := range s.members {
		running := 0
		for _, p := range s.Pods {
			if GroupOf(p) == name {
				running++
			}
		}
		if gang := known[name].Spec.SchedulingPolicy.Gang; gang != nil && int(gang.MinCount) > len(members)+running {
			return &InvalidError{Object: "pod group " + name, Errs: field.ErrorList{
				field.Invalid(policyPath.Child("gang", "minCount"), gang.MinCount, "the pods would wait for others"),
			}}
		}
	}
	return nil
}

// groupOfEntry is the group of a queue entry.
func (s *Scheduler) groupOfEntry(entry int) *schedulingv1beta1.PodGroup {
	name := GroupOf(s.Queue[entry])
	i := slices.IndexFunc(s.PodGroups, func(g *schedulingv1beta1.PodGroup) bool { return g.Namespace+"/"+g.Name == name })
	return s.PodGroups[i]
}

// TopologyKey is the topology key of a queue entry's group, empty for none.
func (s *Scheduler) TopologyKey(entry int) string {
	if c := s.groupOfEntry(entry).Spec.SchedulingConstraints; c != nil && len(c.Topology) > 0 {
		return c.Topology[0].Key
	}
	return ""
}

// PlaceGroup runs kube-scheduler's pod group cycle for the group of a queue entry, and assumes the pods that it places. choose
// picks among equally good nodes, and among equally good domains by the nodes that it picks of each.
func (s *Scheduler) PlaceGroup(entry int, choose func([]uint32) uint32) (*Group, error) {
	name, g := GroupOf(s.Queue[entry]), s.groupOfEntry(entry)
	out := &Group{Topology: s.TopologyKey(entry) != ""}
	for _, m := range s.members[name] {
		if !slices.Contains(out.Entries, m.entry) {
			out.Entries = append(out.Entries, m.entry)
		}
	}
	for _, p := range s.Pods {
		if GroupOf(p) == name {
			out.Running++
		}
	}
	whole, err := s.groupCycle(g, choose, "")
	if err != nil {
		return nil, err
	}
	out.Domains = len(whole.domains)
	switch {
	case whole.placed():
		outcome, err := s.placedGroup(g, whole, out, choose)
		if err != nil {
			return nil, err
		}
		out.Outcomes = []Outcome{*outcome}
		return out, nil
	case out.Domains > 1:
		return out, s.unplacedGroup(g, whole, out, choose)
	case whole.status.IsError() && out.Running > 1:
		return out, s.failedGroup(g, out, choose)
	}
	out.Outcomes, err = whole.outcomes(s, out.Entries, 1)
	return out, err
}

// placedGroup returns the outcome in the domain that the contract takes among those with the highest score.
func (s *Scheduler) placedGroup(
	g *schedulingv1beta1.PodGroup, whole *groupCycle, out *Group, choose func([]uint32) uint32,
) (*Outcome, error) {
	best, err := s.bestDomains(whole)
	if err != nil {
		return nil, err
	}
	out.Ties = len(best)
	if taken := s.domainOf(whole, best); taken < 0 {
		return nil, fmt.Errorf("kube-scheduler takes none of the domains with the highest score: %v", best)
	}
	in := whole.bestDomain(best)
	again := whole
	if len(whole.domains) > 1 {
		if again, err = s.groupCycle(g, choose, in.only()); err != nil {
			return nil, err
		}
	}
	if !again.placed() {
		return nil, fmt.Errorf("kube-scheduler places a group in domain %q of several, and not alone: %s", in.name, again.message())
	}
	o := again.outcome(s, out.Entries, 1)
	o.Domain = in.name
	o.Bindings, err = again.commit(s)
	return &o, err
}

// unplacedGroup adds what comes of a group that no domain takes enough pods of, for each domain that kube-scheduler may go to
// first.
func (s *Scheduler) unplacedGroup(
	g *schedulingv1beta1.PodGroup, whole *groupCycle, out *Group, choose func([]uint32) uint32,
) error {
	known := false
	for _, d := range whole.domains {
		alone, err := s.groupCycle(g, choose, d.only())
		if err != nil {
			return err
		}
		switch {
		case whole.status.IsError() && !alone.status.IsError():
			continue // an error in any domain ends the cycle
		case alone.placed():
			return fmt.Errorf("kube-scheduler places a group in domain %q alone, and not among several: %s", d.name, whole.message())
		}
		all, err := alone.outcomes(s, out.Entries, len(whole.domains))
		if err != nil {
			return err
		}
		out.Outcomes = append(out.Outcomes, all...)
		said := whole.outcome(s, out.Entries, 1).Message
		known = known || slices.ContainsFunc(all, func(o Outcome) bool { return o.Message == said })
	}
	if !known {
		return fmt.Errorf("kube-scheduler says %q of a group, and of no domain alone", whole.message())
	}
	return nil
}

// repetitions bounds how often a cycle runs that goes through the group's running pods in the order of a map.
const repetitions = 300

// failedGroup adds what kube-scheduler says of a group whose running pods are not in one domain.
func (s *Scheduler) failedGroup(g *schedulingv1beta1.PodGroup, out *Group, choose func([]uint32) uint32) error {
	for range repetitions {
		again, err := s.groupCycle(g, choose, "")
		if err != nil {
			return err
		}
		o := again.outcome(s, out.Entries, 1)
		if !slices.ContainsFunc(out.Outcomes, func(other Outcome) bool { return other.Message == o.Message }) {
			out.Outcomes = append(out.Outcomes, o)
		}
		if !strings.HasPrefix(o.Message, "cannot determine domain") && !strings.HasPrefix(o.Message, "all pods in a single pod group") {
			return nil
		}
	}
	return nil
}

// commit assumes the placed pods in the cache, and returns the claims that they bind.
func (y *groupCycle) commit(s *Scheduler) (bound []Binding, err error) {
	var errs []error
	for _, m := range y.members {
		node, ok := y.assumed[m.UID]
		if !ok {
			continue
		}
		binds, err := s.reserve(m.Pod, m.entry, s.index[node])
		bound, errs = append(bound, binds...), append(errs, err)
		pod := m.DeepCopy()
		pod.Spec.NodeName = node
		s.begin(pod)
		if s.entries == nil {
			s.entries = make(map[types.UID]int)
		}
		s.entries[pod.UID] = m.entry
		errs = append(errs, s.scheduler.Cache.AssumePod(logr.Discard(), pod))
		s.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(m.Pod)
	}
	return bound, errors.Join(append(errs, s.refresh())...)
}

// bestDomains returns the domains with the highest score, as kube-scheduler's plugins compute it for what the cycle found in
// each (pkg/scheduler/schedule_one_podgroup.go findBestPlacement, v1.37). There is one that has no score if it is the only one.
func (s *Scheduler) bestDomains(y *groupCycle) ([]domain, error) {
	if len(y.scored) == 0 {
		i := s.domainOf(y, y.domains)
		if i < 0 {
			return nil, errors.New("kube-scheduler takes none of the domains")
		}
		return y.domains[i : i+1], nil
	}
	state := framework.NewCycleState()
	assignments, states := make([]*fwk.PodGroupAssignments, 0, len(y.scored)), make([]fwk.PlacementCycleState, 0, len(y.scored))
	for _, a := range y.scored {
		assignments = append(assignments, a)
		placement := framework.NewCycleState()
		placement.SetPodGroupSchedulingCycle(state)
		states = append(states, placement)
	}
	scores, status := s.framework.RunPlacementScorePlugins(s.ctx, state, y.info, assignments, states)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	highest := slices.MaxFunc(scores, func(a, b fwk.PlacementPluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) })
	var best []domain
	for _, d := range y.domains {
		if slices.ContainsFunc(scores, func(p fwk.PlacementPluginScores) bool {
			return p.Placement.Name == d.name && p.TotalScore == highest.TotalScore
		}) {
			best = append(best, d)
		}
	}
	return best, nil
}

// domainOf is which of some domains the placed pods are in; -1 for none.
func (s *Scheduler) domainOf(y *groupCycle, domains []domain) int {
	return slices.IndexFunc(domains, func(d domain) bool {
		for _, node := range y.assumed {
			return slices.Contains(d.nodes, s.index[node])
		}
		return false
	})
}
