package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// GroupPreemption is what DefaultPreemption finds for a pod group.
type GroupPreemption struct {
	// Message is its text.
	Message string
	// Victims are the pods to evict, the most important first. Pods that are evicted together are in the order of a map.
	Victims []Victim
	// Violations is -1 if it is unknown: all victims are terminating, and so no pod is evicted.
	Violations, Disruptions int
	// Nodes are the nodes that the group's pods are nominated to, by entry.
	Nodes   map[int][]uint32
	Ongoing bool
	// Whole counts the victims that are evicted together with others, and Kept the pods that leave and come back.
	Whole, Kept int
}

// groupPreemption records the plugin's part of one cycle.
type groupPreemption struct {
	ran     bool
	result  *fwk.PodGroupPostFilterResult
	status  *fwk.Status
	victims []*corev1.Pod // as the candidate has them; nil if no pod is evicted
	gone    map[types.UID]*corev1.Pod
	all     int // pods before
	left    int // pods that may not be preempted

	violations, disruptions int
	// texts are the cycle's possible results for a cluster without the victims that does not fit the group either, if they depend on
	// the order of the domains. The first is the actual result.
	texts []*fwk.Status
}

// preemptingGroups is kube-scheduler's DefaultPreemption, which evicts no pod, and whose cycle of the group takes the nodes and
// the domain that the contract takes.
type preemptingGroups struct {
	*defaultpreemption.DefaultPreemption
	s *Scheduler
}

const preemptingName = "ParityPreemption"

func (s *Scheduler) newPreemptingGroups(ctx context.Context, h fwk.Handle, fts feature.Features) (fwk.Plugin, error) {
	fts.EnableAsyncPreemption = false // the candidate is noted before the cycle goes on
	args := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}
	own, err := defaultpreemption.New(ctx, args, &notingHandle{h, s}, fts)
	if err != nil {
		return nil, err
	}
	evict := own.Executor.PreemptPod
	own.Executor.PreemptPod = func(
		ctx context.Context, c preemption.Candidate, e preemption.ExecutorPreemptor, v *corev1.Pod, name string,
	) (bool, error) {
		s.noteMutex.Lock()
		defer s.noteMutex.Unlock()
		if s.whole != nil {
			s.whole.attempt.group.victims = c.Victims()
			return evict(ctx, c, e, v, name)
		}
		if y := s.cycle; y != nil {
			y.preempted.victims = c.Victims().Pods
			y.preempted.violations, y.preempted.disruptions = int(c.Victims().NumPDBViolations), c.NumPodGroupDisruptions()
		}
		return true, nil
	}
	return &preemptingGroups{own, s}, nil
}

func (*preemptingGroups) Name() string { return preemptingName }

func (p *preemptingGroups) PodGroupPostFilter(
	ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, place fwk.PodGroupSchedulingFunc,
) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	y := p.s.cycle
	if q := p.s.whole; q != nil {
		return q.preemptForGroup(p.DefaultPreemption, ctx, state, group, place)
	}
	if y == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	y.preempted = groupPreemption{ran: true, all: p.s.countPods()}
	without := func(ctx context.Context) (*fwk.PodGroupAssignments, *fwk.Status) { return y.without(ctx, place) }
	result, status := p.DefaultPreemption.PodGroupPostFilter(ctx, state, group, without)
	if err := p.s.limit(); err != nil {
		y.err = errors.Join(y.err, err)
	}
	y.preempted.result, y.preempted.status = result, status
	return result, status
}

// without runs the cycle of the group in a cluster without victims.
func (y *groupCycle) without(ctx context.Context, place fwk.PodGroupSchedulingFunc) (*fwk.PodGroupAssignments, *fwk.Status) {
	run := func(only string) (*groupCycle, *fwk.PodGroupAssignments, *fwk.Status) {
		trial := &groupCycle{
			s: y.s, choose: y.choose, only: only, info: y.info, members: y.members,
			decisions: map[types.UID]*Decision{}, among: map[types.UID][]uint32{}, assumed: map[types.UID]string{},
			scored: map[string]*fwk.PodGroupAssignments{},
		}
		if err := y.s.limit(); err != nil { // the nodes of the candidates are others now
			y.err = errors.Join(y.err, err)
		}
		y.trial = trial
		a, status := place(ctx)
		y.trial = nil
		y.err = errors.Join(y.err, trial.err)
		return trial, a, status
	}
	y.preempted.left = y.s.countPods()
	whole, a, status := run("")
	switch {
	case len(whole.domains) < 2:
		y.preempted.texts = []*fwk.Status{status}
	case status.IsSuccess():
		for _, p := range a.ProposedAssignments {
			whole.assumed[p.GetPod().UID] = p.GetNodeName()
		}
		best, err := y.s.bestDomains(whole)
		if err == nil && y.s.domainOf(whole, best) < 0 {
			err = fmt.Errorf("without victims kube-scheduler takes none of the domains with the highest score: %v", best)
		}
		if err != nil {
			y.err = errors.Join(y.err, err)
			return a, status
		}
		_, a, status = run(y.bestDomain(best).only())
	default:
		for _, d := range whole.domains {
			_, _, alone := run(d.only())
			if status.IsError() && !alone.IsError() {
				continue
			}
			text := strings.Replace(alone.Message(), "0/1 placements are", fmt.Sprintf("0/%d placements are", len(whole.domains)), 1)
			y.preempted.texts = append(y.preempted.texts, fwk.NewStatus(alone.Code(), text))
		}
	}
	if status.IsSuccess() {
		y.err = errors.Join(y.err, y.s.orderPaths(a))
	}
	return a, status
}

// bestDomain is the domain that the contract takes among some.
func (y *groupCycle) bestDomain(best []domain) domain {
	leads := make([]uint32, len(best))
	for i, d := range best {
		leads[i] = y.choose(d.nodes)
	}
	return best[slices.Index(leads, y.choose(leads))]
}

// orderPaths makes PodTopologySpread's states of pods the states that it has if it goes through the domains in the order of their
// first nodes. It goes through a map. Its types are not exported, their fields are.
func (s *Scheduler) orderPaths(a *fwk.PodGroupAssignments) error {
	for _, p := range a.ProposedAssignments {
		data, err := p.GetCycleState().Read("PreFilter" + names.PodTopologySpread)
		if err != nil {
			continue // the plugin skips the pod
		}
		state := reflect.ValueOf(data).Elem()
		constraints, paths := state.FieldByName("Constraints"), state.FieldByName("CriticalPaths")
		counts := state.FieldByName("TpValueToMatchNum")
		for i := range constraints.Len() {
			key := constraints.Index(i).FieldByName("TopologyKey").String()
			byValue := counts.Index(i).Interface().(map[string]int)
			var values []string
			for _, n := range s.Nodes {
				if v, ok := n.Labels[key]; ok && !slices.Contains(values, v) {
					if _, counted := byValue[v]; counted {
						values = append(values, v)
					}
				}
			}
			if len(values) != len(byValue) {
				return fmt.Errorf("domains of %s: %d of %d found", key, len(values), len(byValue))
			}
			slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(byValue[a], byValue[b]) })
			pair := paths.Index(i).Elem()
			was := pair.Index(0).FieldByName("MatchNum").Int()
			for j := range min(2, len(values)) {
				pair.Index(j).FieldByName("TopologyValue").SetString(values[j])
				pair.Index(j).FieldByName("MatchNum").SetInt(int64(byValue[values[j]]))
			}
			if len(values) > 0 && was != int64(byValue[values[0]]) {
				return fmt.Errorf("the minimum of %s is %d, of the domains %d", key, was, byValue[values[0]])
			}
		}
	}
	return nil
}

// notingHandle notes which pods are gone when preemption is done.
type notingHandle struct {
	fwk.Handle
	s *Scheduler
}

func (h *notingHandle) MutableSnapshotSharedLister() fwk.MutableSnapshotSharedLister {
	return &notingSnapshot{h.Handle.MutableSnapshotSharedLister(), h.s}
}

type notingSnapshot struct {
	fwk.MutableSnapshotSharedLister
	s *Scheduler
}

// PodGroupStates has the pods of a group in the order of their nodes, and per node in the order of the case. kube-scheduler has them
// in the order of a map, in which it evicts the pods of a group together and reprieves them: PodTopologySpread's counts may depend
// on it.
func (n *notingSnapshot) PodGroupStates() fwk.PodGroupStateLister {
	return orderedGroups{n.MutableSnapshotSharedLister.PodGroupStates(), n.s}
}

type orderedGroups struct {
	fwk.PodGroupStateLister
	s *Scheduler
}

func (o orderedGroups) Get(namespace, name string) (fwk.PodGroupState, error) {
	state, err := o.PodGroupStateLister.Get(namespace, name)
	if err != nil {
		return nil, err
	}
	return orderedGroup{state, o.s}, nil
}

type orderedGroup struct {
	fwk.PodGroupState
	s *Scheduler
}

func (o orderedGroup) ScheduledPods() []*corev1.Pod {
	return slices.SortedFunc(slices.Values(o.PodGroupState.ScheduledPods()), func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(o.s.index[a.Spec.NodeName], o.s.index[b.Spec.NodeName]),
			cmp.Compare(o.s.caseIndex(a), o.s.caseIndex(b)),
		)
	})
}

// caseIndex is the index of a pod in the case. Placed pods follow, in the order of placing.
func (s *Scheduler) caseIndex(p *corev1.Pod) int {
	i := slices.IndexFunc(s.Pods, func(o *corev1.Pod) bool { return o.UID == p.UID })
	if i >= 0 {
		return i
	}
	if i = len(s.Pods); s.whole != nil && s.whole.byUID[p.UID] != nil {
		i += s.whole.byUID[p.UID].Placed
	}
	return i
}

func (n *notingSnapshot) EndMutations() error {
	y, q := n.s.cycle, n.s.whole
	if y != nil || q != nil {
		before, err := n.pods()
		after := before
		if err == nil {
			err = n.MutableSnapshotSharedLister.EndMutations()
		}
		if err == nil {
			before, err = n.pods()
		}
		for uid := range after {
			delete(before, uid)
		}
		if q != nil {
			q.attempt.group.left = before
		} else {
			y.preempted.gone = before
		}
		return err
	}
	return n.MutableSnapshotSharedLister.EndMutations()
}

func (n *notingSnapshot) pods() (map[types.UID]*corev1.Pod, error) {
	nodes, err := n.NodeInfos().List()
	out := map[types.UID]*corev1.Pod{}
	for _, node := range nodes {
		for _, p := range node.GetPods() {
			out[p.GetPod().UID] = p.GetPod()
		}
	}
	return out, err
}

// preemption is the plugin's result; nil if it did not run.
func (y *groupCycle) preemption() (*GroupPreemption, error) {
	n := &y.preempted
	if !n.ran || n.status.IsError() {
		return nil, nil
	}
	out := &GroupPreemption{Message: n.status.Message(), Nodes: map[int][]uint32{}}
	if !n.status.IsSuccess() {
		return out, nil
	}
	out.Ongoing = strings.Contains(out.Message, "ongoing preemption")
	if out.Ongoing {
		return out, nil
	}
	if n.victims == nil { // none, or all are terminating
		for _, p := range n.gone {
			n.victims = append(n.victims, p)
		}
		out.Violations = -1
	} else {
		out.Violations, out.Disruptions = n.violations, n.disruptions
	}
	if len(n.gone) == 0 {
		out.Violations = 0
	}
	if len(n.victims) != len(n.gone) {
		return nil, fmt.Errorf("preemption says %d victims, %d pods are gone", len(n.victims), len(n.gone))
	}
	for _, p := range n.victims {
		if n.gone[p.UID] == nil {
			return nil, fmt.Errorf("the victim %s is not gone", p.Name)
		}
		out.Victims = append(out.Victims, y.s.victim(p))
	}
	out.Kept = n.all - n.left - len(n.gone)
	for _, v := range n.victims {
		if y.s.together(v) {
			out.Whole++
		}
	}
	for _, m := range y.members {
		info := n.result.NominatingInfos[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}]
		if info != nil {
			out.Nodes[m.entry] = append(out.Nodes[m.entry], y.s.index[info.NominatedNodeName])
		}
	}
	return out, nil
}

// countPods counts the pods of the snapshot.
func (s *Scheduler) countPods() int {
	n := 0
	nodes, _ := s.snapshot.NodeInfos().List()
	for _, node := range nodes {
		n += len(node.GetPods())
	}
	return n
}

// together reports whether a pod is in a group whose pods are evicted together.
func (s *Scheduler) together(p *corev1.Pod) bool {
	name := GroupOf(p)
	return slices.ContainsFunc(s.PodGroups, func(g *schedulingv1beta1.PodGroup) bool {
		return g.Namespace+"/"+g.Name == name && g.Spec.DisruptionMode != nil && g.Spec.DisruptionMode.All != nil
	})
}
