package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/topologyaware"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// groupCycle is one run of kube-scheduler's pod group cycle, and what it found. Nothing of the cycle is imitated: it is
// Scheduler.ScheduleOne with a group at the head of the queue. The pods that it would bind are noted where it assumes them
// in the cache, which is refused, so that it changes nothing and can run again.
type groupCycle struct {
	s      *Scheduler
	choose func([]uint32) uint32
	only   string // the domain to try, as domain.only; empty for all
	info   *framework.PodGroupInfo

	members   []member
	domains   []domain // with the nodes that are candidates
	decisions map[types.UID]*Decision
	among     map[types.UID][]uint32
	statuses  map[types.UID]*fwk.Status
	assumed   map[types.UID]string // node by pod
	status    *fwk.Status          // nil for success
	ended     bool
	err       error

	preempted groupPreemption
	trial     *groupCycle // the one in a cluster without victims, while it runs

	mutex  sync.Mutex // plugins score placements in parallel
	scored map[string]*fwk.PodGroupAssignments
}

// now is the cycle that runs: this one, or the one without victims.
func (y *groupCycle) now() *groupCycle {
	if y.trial != nil {
		return y.trial
	}
	return y
}

// domain is a placement that kube-scheduler tries.
type domain struct {
	name  string
	nodes []uint32
}

// only names a domain, which may have the empty value.
func (d domain) only() string { return "domain " + d.name }

func (y *groupCycle) placed() bool { return y.status.IsSuccess() }

func (y *groupCycle) message() string { return y.status.Message() }

// groupCycle runs the cycle of a group, in one domain or in all of them.
func (s *Scheduler) groupCycle(g *schedulingv1beta1.PodGroup, choose func([]uint32) uint32, only string) (*groupCycle, error) {
	y := &groupCycle{
		s: s, choose: choose, only: only,
		decisions: map[types.UID]*Decision{}, among: map[types.UID][]uint32{}, statuses: map[types.UID]*fwk.Status{},
		assumed: map[types.UID]string{}, scored: map[string]*fwk.PodGroupAssignments{},
		members: s.members[g.Namespace+"/"+g.Name],
	}
	key := fwk.PodGroupKey(g.Namespace, g.Name)
	y.info = &framework.PodGroupInfo{Namespace: g.Namespace, Name: g.Name, Type: fwk.PodGroupKeyType, PodGroup: g}
	queued := &framework.QueuedPodGroupInfo{PodGroupInfo: y.info, QueuedPodInfos: map[fwk.EntityKey][]*framework.QueuedPodInfo{}}
	for _, m := range y.members {
		if gate, err := s.gate(m.Pod); err != nil {
			return nil, err
		} else if gate != nil {
			return nil, fmt.Errorf("pod %s of a group is held back: %v", m.Name, gate)
		}
		info, _ := framework.NewPodInfo(m.Pod) // as in scheduleIn
		queued.QueuedPodInfos[key] = append(queued.QueuedPodInfos[key], &framework.QueuedPodInfo{PodInfo: info})
		y.info.UnscheduledPods = append(y.info.UnscheduledPods, m.Pod)
	}

	u := s.scheduler
	next, fails, schedule, cache, queue := u.NextEntity, u.FailureHandler, u.SchedulePod, u.Cache, u.SchedulingQueue
	defer func() {
		u.NextEntity, u.FailureHandler, u.SchedulePod, u.Cache, u.SchedulingQueue = next, fails, schedule, cache, queue
		s.cycle = nil
	}()
	u.NextEntity = func(klog.Logger) (framework.QueuedEntityInfo, error) { return queued, nil }
	u.FailureHandler = y.failed
	u.SchedulePod = y.schedulePod(schedule)
	u.Cache, u.SchedulingQueue = &notingCache{cache, y}, &notingQueue{queue, y}
	s.cycle = y
	u.ScheduleOne(s.ctx)
	switch {
	case y.err != nil:
		return nil, y.err
	case !y.ended:
		return nil, errors.New("the pod group cycle did not end")
	}
	return y, nil
}

// schedulePod runs kube-scheduler's own, and takes the node that the contract takes among the best ones.
func (y *groupCycle) schedulePod(own schedulePod) schedulePod {
	return func(
		ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo,
	) (scheduler.ScheduleResult, error) {
		result, err := own(ctx, f, state, info)
		d := &Decision{}
		if y.s.snapshot.NumNodesInPlacement() > 0 {
			var problem error
			if d, problem = y.s.details(info.Pod); problem == nil {
				problem = y.s.agrees(result, err, d)
			}
			if problem != nil {
				y.err = errors.Join(y.err, problem)
				return result, err
			}
		} else {
			d.Message = err.Error()
		}
		nodes, _ := y.s.snapshot.ListNodesInPlacement()
		at := y.now()
		at.decisions[info.Pod.UID], at.among[info.Pod.UID] = d, y.s.indexes(nodes)
		if err == nil {
			result.SuggestedHost = y.s.Nodes[y.choose(d.Best)].Name
		}
		return result, err
	}
}

func (s *Scheduler) indexes(nodes []fwk.NodeInfo) []uint32 {
	out := make([]uint32, len(nodes))
	for i, n := range nodes {
		out[i] = s.index[n.Node().Name]
	}
	slices.Sort(out)
	return out
}

// failed is called for each pod that does not proceed to binding. A pod that does is noted before.
func (y *groupCycle) failed(
	_ context.Context, _ framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, _ *fwk.NominatingInfo, _ time.Time,
) {
	y.statuses[info.Pod.UID] = status
}

// notingCache notes the pods that are assumed to be bound, and refuses them.
type notingCache struct {
	internalcache.Cache
	y *groupCycle
}

func (c *notingCache) AssumePod(_ klog.Logger, pod *corev1.Pod) error {
	c.y.assumed[pod.UID] = pod.Spec.NodeName
	return errors.New("noted")
}

// UpdateSnapshot limits the snapshot to the case's candidates, too.
func (c *notingCache) UpdateSnapshot(klog.Logger, *internalcache.Snapshot) error {
	return c.y.s.refreshFrom(c.Cache)
}

// notingQueue notes how the cycle ended.
type notingQueue struct {
	internalqueue.SchedulingQueue
	y *groupCycle
}

func (q *notingQueue) AddAttemptedPodGroupIfNeeded(
	_ klog.Logger, _ *framework.QueuedPodGroupInfo, _ int64, status *fwk.Status,
) error {
	q.y.status, q.y.ended = status, true
	return nil
}

func (q *notingQueue) Done(types.UID) {}

// The names of the plugins that stand around kube-scheduler's in the cycle of a group.
const (
	orderedName = "ParityOrderedPlacements"
	notingName  = "ParityNotedPlacements"
)

// groupPlugins puts them into the profile. With whole, what notingName says breaks ties.
func groupPlugins(p *schedulerv1.Plugins, fit int32, whole bool) {
	one := int32(1)
	if whole {
		much, more := int32(1000), 1000*fit
		p.PlacementScore.Enabled = append(p.PlacementScore.Enabled, schedulerv1.Plugin{Name: names.PodGroupPodsCount, Weight: &much})
		if fit > 0 {
			p.PlacementScore.Enabled = append(p.PlacementScore.Enabled, schedulerv1.Plugin{Name: names.NodeResourcesFit, Weight: &more})
		}
	}
	p.PlacementGenerate.Enabled = []schedulerv1.Plugin{{Name: orderedName}}
	p.PlacementGenerate.Disabled = []schedulerv1.Plugin{{Name: "*"}}
	p.PlacementScore.Enabled = append(p.PlacementScore.Enabled, schedulerv1.Plugin{Name: notingName, Weight: &one})
	p.PodGroupPostFilter.Enabled = []schedulerv1.Plugin{{Name: names.DynamicResources}, {Name: preemptingName}}
	p.PodGroupPostFilter.Disabled = []schedulerv1.Plugin{{Name: "*"}}
}

// registry makes the plugins of groupPlugins.
func (s *Scheduler) registry() frameworkruntime.Registry {
	return frameworkruntime.Registry{
		orderedName: func(ctx context.Context, _ runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			own, err := topologyaware.New(ctx, nil, h, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
			return &orderedPlacements{own, s}, err
		},
		notingName: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return &notedPlacements{s}, nil },
		preemptingName: func(ctx context.Context, _ runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			return s.newPreemptingGroups(ctx, h, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
		},
	}
}

// orderedPlacements is kube-scheduler's plugin, whose placements are put into the order of their first nodes: it has them in
// the order of a map.
type orderedPlacements struct {
	*topologyaware.TopologyPlacement
	s *Scheduler
}

func (*orderedPlacements) Name() string { return orderedName }

func (p *orderedPlacements) GeneratePlacements(
	ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, parent *fwk.Placement,
) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	result, status := p.TopologyPlacement.GeneratePlacements(ctx, state, group, parent)
	y := p.s.cycle
	if !status.IsSuccess() || y == nil && p.s.whole == nil {
		return result, status
	}
	slices.SortFunc(result.Placements, func(a, b *fwk.Placement) int {
		return slices.Compare(p.s.indexes(a.Nodes), p.s.indexes(b.Nodes))
	})
	if y == nil {
		p.s.whole.rankDomains(result.Placements)
		return result, status
	}
	y = y.now()
	if y.only != "" {
		result.Placements = slices.DeleteFunc(result.Placements, func(x *fwk.Placement) bool {
			return domain{name: x.Name}.only() != y.only
		})
	}
	for _, x := range result.Placements {
		y.domains = append(y.domains, domain{name: x.Name, nodes: p.s.indexes(x.Nodes)})
	}
	return result, status
}

// notedPlacements notes what is scored, and adds nothing.
type notedPlacements struct{ s *Scheduler }

func (*notedPlacements) Name() string { return notingName }

func (p *notedPlacements) ScorePlacement(
	_ context.Context, _ fwk.PlacementCycleState, _ fwk.PodGroupInfo, a *fwk.PodGroupAssignments,
) (int64, *fwk.Status) {
	if y := p.s.cycle; y != nil {
		y = y.now()
		y.mutex.Lock()
		defer y.mutex.Unlock()
		y.scored[a.Placement.Name] = a
	}
	if q := p.s.whole; q != nil && q.attempt.group != nil {
		return 100 - int64(q.attempt.group.ranks[a.Placement.Name]), nil
	}
	return 0, nil
}

func (*notedPlacements) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return nil }
