package expect

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Grouped are the answers to Place for a case with pod groups.
type Grouped struct {
	// Alone has the placements of the entries without a group, nil for the others.
	Alone  []*stowagev1.Placement
	Groups []Group
	// Ran is the oracle's result of Groups.
	Ran []*oracle.Group
	// Bindings are the claims that all placed pods bind.
	Bindings []*stowagev1.ClaimBinding
}

// Group lists the allowed answers about a group.
type Group struct {
	Entries []int
	Answers []GroupAnswer
}

// GroupAnswer is one answer about a group, and the placements of its entries.
type GroupAnswer struct {
	Group      *stowagev1.PodGroupPlacement
	Placements []*stowagev1.Placement
}

// Groups returns kube-scheduler's answers to a case with pod groups. The scheduler must be fresh and is used up.
func Groups(c *scenario.Case, s *oracle.Scheduler) (*Grouped, error) {
	candidates := candidatesOf(c)
	choose := func(best []uint32) uint32 { return first(c, best) }
	out := &Grouped{Alone: make([]*stowagev1.Placement, len(c.Queue))}
	done := map[string]bool{}
	for i, entry := range c.Queue {
		name := oracle.GroupOf(s.Queue[i])
		if name == "" {
			p, err := s.PlaceEntry(i, entry.Count, choose)
			if err != nil {
				return nil, fmt.Errorf("queue[%d]: %w", i, err)
			}
			if out.Alone[i], err = placement(p, entry.Count, candidates); err != nil {
				return nil, err
			}
			out.Bindings = append(out.Bindings, claimBindings(p.Bindings)...)
			continue
		}
		if done[name] {
			continue
		}
		done[name] = true
		ran, err := s.PlaceGroup(i, choose)
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", name, err)
		}
		group := Group{Entries: ran.Entries}
		for j := range ran.Outcomes {
			answer, err := groupAnswer(c, s, name, ran, &ran.Outcomes[j])
			if err != nil {
				return nil, err
			}
			group.Answers = append(group.Answers, *answer)
			out.Bindings = append(out.Bindings, claimBindings(ran.Outcomes[j].Bindings)...)
		}
		out.Groups, out.Ran = append(out.Groups, group), append(out.Ran, ran)
	}
	return out, nil
}

// groupsInOrder places a queue with pod groups in order. Of a group that is not placed nothing is said but that. The pods of a group with
// too few of them are not attempted.
func groupsInOrder(c *scenario.Case) (*stowagev1.PlaceResponse, error) {
	out := &stowagev1.PlaceResponse{}
	attempted := *c
	attempted.Queue = nil
	var at []int // in the queue of c
	for i, entry := range c.Queue {
		unplaced := &stowagev1.Placement{Nodes: &stowagev1.NodeList{}, UnplacedCount: uint32(entry.Count)}
		out.Placements = append(out.Placements, unplaced)
		if !waits(c, GroupOf(entry.Pod)) {
			attempted.Queue, at = append(attempted.Queue, entry), append(at, i)
		}
	}
	s, err := oracle.New(&attempted)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := Groups(&attempted, s)
	if err != nil {
		return nil, err
	}
	for i, p := range found.Alone {
		if p != nil {
			out.Placements[at[i]] = p
		}
	}
	for _, g := range found.Groups {
		for i, entry := range g.Entries {
			out.Placements[at[entry]] = g.Answers[0].Placements[i]
		}
	}
	for _, p := range out.Placements {
		out.PlacedCount += uint32(len(p.Nodes.Indexes))
		out.UnplacedCount += p.UnplacedCount
	}
	out.ClaimBindings = found.Bindings
	for _, b := range out.ClaimBindings {
		b.QueueIndex = uint32(at[b.QueueIndex])
	}
	return out, nil
}

// waits reports whether a group has too few pods to be attempted.
func waits(c *scenario.Case, group string) bool {
	pods := Running(c, group)
	for _, q := range c.Queue {
		if GroupOf(q.Pod) == group {
			pods += q.Count
		}
	}
	return group != "" && !Reaches(c, group, pods)
}

// GroupOf is the name of the group of a pod as a user wrote it; empty for none.
func GroupOf(p *corev1.Pod) string {
	if p.Namespace == "" {
		p = p.DeepCopy()
		p.Namespace = corev1.NamespaceDefault
	}
	return oracle.GroupOf(p)
}

// Running is how many pods of a group are on nodes.
func Running(c *scenario.Case, group string) (pods int) {
	for _, p := range c.Pods {
		if GroupOf(p) == group {
			pods++
		}
	}
	return pods
}

// Reaches reports whether the case has the group and so many pods are enough to attempt it.
func Reaches(c *scenario.Case, group string, pods int) bool {
	return slices.ContainsFunc(c.PodGroups, func(g *schedulingv1beta1.PodGroup) bool {
		gang := g.Spec.SchedulingPolicy.Gang
		return namespaceOf(g)+"/"+g.Name == group && (gang == nil || int(gang.MinCount) <= pods)
	})
}

// Member is the answers to Filter and Score for the only pod of a queue, which is in a pod group. Nodes are the nodes on which the
// pod group cycle attempted it. Without them, kube-scheduler fails the group with one of Failures.
type Member struct {
	Filter   *stowagev1.FilterResponse
	Score    *stowagev1.ScoreResponse
	Nodes    []uint32
	Failures []string
	Failed   bool // with an internal error
}

// MemberOf returns kube-scheduler's answers. The scheduler must be fresh and is used up. It returns nil if the group may go to
// several domains.
func MemberOf(c *scenario.Case, s *oracle.Scheduler) (*Member, error) {
	ran, err := s.PlaceGroup(0, Best(c))
	if err != nil || ran.Domains > 1 {
		return nil, err
	}
	out := &Member{}
	for _, o := range ran.Outcomes {
		out.Failures, out.Failed = append(out.Failures, o.Message), o.Failed
	}
	m := ran.Outcomes[0].Placements[0]
	if m.First == nil {
		return out, nil
	}
	out.Nodes = m.Among
	if out.Filter, err = filterAnswer(m.First, nil, m.Among); err != nil {
		return nil, err
	}
	out.Filter.Explanation = nil
	if len(m.First.Feasible) > 0 && !m.First.Failed() {
		out.Score, err = scoreAnswer(m.First)
	}
	return out, err
}

// PlacedOf returns how many of some pods of a group kube-scheduler's pod group cycle places; -1 if the group may go to several domains.
// A cycle that ends with an error places none: fewer pods are tried then.
func PlacedOf(c *scenario.Case, pods int) (int, error) {
	for ; pods > 0; pods-- {
		more := *c
		more.Queue = []scenario.Pending{{Pod: c.Queue[0].Pod, Count: pods}}
		ran, err := placeGroup(&more)
		if err != nil || ran.Domains > 1 {
			return -1, err
		}
		if p := &ran.Outcomes[0].Placements[0]; p.Unplaced == nil || !p.Unplaced.Failed() {
			return len(p.Nodes), nil
		}
	}
	return 0, nil
}

func placeGroup(c *scenario.Case) (*oracle.Group, error) {
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.PlaceGroup(0, Best(c))
}

// PreemptOf returns kube-scheduler's preemption for the only pod of a queue, which is in no group.
func PreemptOf(s *oracle.Scheduler, c *scenario.Case) (*stowagev1.PreemptResponse, error) {
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		return nil, err
	}
	filter, err := filterAnswer(d, nil, candidatesOf(c))
	if err != nil {
		return nil, err
	}
	found, err := s.Preempt(s.Queue[0])
	if err != nil {
		return nil, err
	}
	return preemptAnswer(found, filter)
}

func placement(p *oracle.Placement, count int, candidates []uint32) (*stowagev1.Placement, error) {
	out := &stowagev1.Placement{Nodes: &stowagev1.NodeList{Indexes: p.Nodes}, UnplacedCount: uint32(count - len(p.Nodes))}
	if p.Unplaced == nil {
		return out, nil
	}
	out.Message, out.InternalError = messageOf(p.Unplaced), p.Unplaced.Failed()
	var err error
	out.Rejections, err = unplaced(p.Unplaced, candidates)
	return out, err
}

func groupAnswer(c *scenario.Case, s *oracle.Scheduler, name string, ran *oracle.Group, o *oracle.Outcome) (*GroupAnswer, error) {
	group := &stowagev1.PodGroupPlacement{Name: name, Message: o.Message, InternalError: o.Failed}
	out := &GroupAnswer{Group: group}
	for i, entry := range ran.Entries {
		m := &o.Placements[i]
		p := &stowagev1.Placement{
			Nodes: &stowagev1.NodeList{Indexes: m.Nodes}, UnplacedCount: uint32(c.Queue[entry].Count - len(m.Nodes)),
			Message: m.Message, InternalError: m.Failed,
		}
		if m.Unplaced != nil {
			var err error
			if p.Rejections, err = unplaced(m.Unplaced, m.Candidates); err != nil {
				return nil, err
			}
		}
		group.PlacedCount += uint32(len(m.Nodes))
		group.UnplacedCount += p.UnplacedCount
		out.Placements = append(out.Placements, p)
	}
	if group.UnplacedCount > 0 {
		group.FirstUnplacedQueueIndex = new(uint32(ran.Entries[max(0, o.First)]))
	}
	switch {
	case group.PlacedCount == 0:
		group.Preemption = groupPreemption(s, ran.Entries, o.Preemption)
		group.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE
		return out, nil
	case group.UnplacedCount == 0:
		group.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE
	default:
		group.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT
	}
	if key := s.TopologyKey(ran.Entries[0]); key != "" {
		group.Domains = []*stowagev1.TopologyDomain{{TopologyKey: key, Value: o.Domain}}
	}
	return out, nil
}

// groupPreemption converts the preemption for a group. Pods that are evicted together are sorted by name.
func groupPreemption(s *oracle.Scheduler, entries []int, p *oracle.GroupPreemption) *stowagev1.PodGroupPreemption {
	if p == nil {
		return nil
	}
	out := &stowagev1.PodGroupPreemption{
		Message: p.Message, Ongoing: p.Ongoing, PdbViolations: uint64(max(0, p.Violations)),
		GroupDisruptionCount: uint32(p.Disruptions),
	}
	for _, v := range p.Victims {
		out.Victims = append(out.Victims, victim(&v))
	}
	for _, entry := range entries {
		if nodes := p.Nodes[entry]; len(nodes) > 0 {
			out.Nominations = append(out.Nominations, &stowagev1.PodGroupNomination{
				QueueIndex: uint32(entry), Nodes: &stowagev1.NodeList{Indexes: nodes},
			})
		}
	}
	Together{s.Pods, s.Queue, s.PodGroups}.Sort(out.Victims)
	if p.Violations < 0 {
		SortByName(out)
	}
	return out
}

// SortByName sorts all victims by name.
func SortByName(p *stowagev1.PodGroupPreemption) { slices.SortFunc(p.Victims, byName) }

// Together knows which pods are evicted together.
type Together struct {
	Pods, Queue []*corev1.Pod
	Groups      []*schedulingv1beta1.PodGroup
}

// Sort sorts the pods by name that are evicted together: kube-scheduler has them in the order of a map.
func (t Together) Sort(all []*stowagev1.PodReference) {
	sortTogether(t, all, func(p *stowagev1.PodReference) *stowagev1.PodReference { return p })
}

// SortUnplaced is Sort for what is said of pods.
func (t Together) SortUnplaced(all []*stowagev1.UnplacedPod) {
	sortTogether(t, all, (*stowagev1.UnplacedPod).GetPod)
}

func sortTogether[T any](t Together, all []T, of func(T) *stowagev1.PodReference) {
	for from := 0; from < len(all); {
		to := from + 1
		for unit := t.unit(of(all[from])); unit != "" && to < len(all) && t.unit(of(all[to])) == unit; {
			to++
		}
		slices.SortFunc(all[from:to], func(a, b T) int { return byName(of(a), of(b)) })
		from = to
	}
}

func byName(a, b *stowagev1.PodReference) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.GetNodeIndex(), b.GetNodeIndex()))
}

// unit is the group whose pods are evicted together with a victim; empty for none.
func (t Together) unit(v *stowagev1.PodReference) string {
	name := ""
	if q, ok := v.Origin.(*stowagev1.PodReference_QueueIndex); ok {
		name = oracle.GroupOf(t.Queue[q.QueueIndex])
	} else {
		same := func(p *corev1.Pod) bool { return p.Namespace == v.Namespace && p.Name == v.Name }
		if i := slices.IndexFunc(t.Pods, same); i >= 0 {
			name = oracle.GroupOf(t.Pods[i])
		}
	}
	for _, g := range t.Groups {
		if mode := g.Spec.DisruptionMode; g.Namespace+"/"+g.Name == name && mode != nil && mode.All != nil {
			return name
		}
	}
	return ""
}
