package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// QueuedGroup is a pod group of a whole kube-scheduler's queue, and its result.
type QueuedGroup struct {
	Attempts int
	// Placed is how many attempts placed pods.
	Placed int
	// Message is what the last attempt says of the group. Failed says that it ended with an internal error.
	Message string
	Failed  bool
	// Domains is in how many domains the last attempt tried the group. If there are several, the first is any of them.
	Domains int
}

// groupAttempt records the current attempt of a group.
type groupAttempt struct {
	*QueuedGroup
	name      string
	pods      []*corev1.Pod
	decisions map[types.UID]*Decision
	statuses  map[types.UID]*fwk.Status
	nominated map[types.UID]string
	victims   *extenderv1.Victims
	gone      int
	left      map[types.UID]*corev1.Pod // that are gone
	found     bool
	trial     bool // without victims
	ranks     map[string]int
	status    *fwk.Status
	ended     bool
}

// createGroups adds the groups to the scheduler.
func (q *Queue) createGroups() {
	if len(q.PodGroups) == 0 {
		return
	}
	q.scheduler.SchedulingQueue = &endingQueue{q.scheduler.SchedulingQueue, q}
	for _, g := range q.PodGroups {
		q.groups[g.Namespace+"/"+g.Name] = &QueuedGroup{}
		q.scheduler.Cache.AddPodGroup(g)
		q.scheduler.SchedulingQueue.AddPodGroup(logr.Discard(), g)
	}
}

// waiting adds why pods were never attempted whose group has too few of them.
func (q *Queue) waiting() error {
	for _, p := range q.pods {
		if !p.Grouped || p.Attempts > 0 || p.Message != "" {
			continue
		}
		pod, err := q.api.get(p.key)
		if err != nil {
			return err
		}
		for _, plugin := range q.framework.PreEnqueuePlugins() {
			if plugin.Name() != names.GangScheduling {
				continue
			}
			if status := plugin.PreEnqueue(q.ctx, pod); !status.IsSuccess() {
				p.Message = status.Message()
			}
		}
	}
	return nil
}

// endingQueue notes how attempts of groups end.
type endingQueue struct {
	internalqueue.SchedulingQueue
	q *Queue
}

func (e *endingQueue) AddAttemptedPodGroupIfNeeded(
	logger klog.Logger, info *framework.QueuedPodGroupInfo, cycle int64, status *fwk.Status,
) error {
	g := e.q.attempt.group
	g.status, g.ended = status, true
	return e.SchedulingQueue.AddAttemptedPodGroupIfNeeded(logger, info, cycle, status)
}

func (q *Queue) beginGroup(info *framework.QueuedPodGroupInfo) {
	name := info.Namespace + "/" + info.Name
	g := &groupAttempt{
		QueuedGroup: q.groups[name], name: name, decisions: map[types.UID]*Decision{}, statuses: map[types.UID]*fwk.Status{},
		nominated: map[types.UID]string{},
	}
	g.Attempts++
	g.Domains = 0
	for _, p := range info.QueuedPodInfos[fwk.PodGroupKey(info.Namespace, info.Name)] {
		g.pods = append(g.pods, p.Pod)
		q.byUID[p.Pod.UID].Attempts++
	}
	q.attempt.group = g
}

// failed is called for each pod that goes back to the queue.
func (g *groupAttempt) failed(pod *corev1.Pod, status *fwk.Status, n *fwk.NominatingInfo) {
	g.statuses[pod.UID] = status
	if n.Mode() == fwk.ModeOverride {
		g.nominated[pod.UID] = n.NominatedNodeName
	}
}

// rankDomains ranks the domains of an attempt as the contract does.
func (q *Queue) rankDomains(placements []*fwk.Placement) {
	g := q.attempt.group
	if !g.trial {
		g.Domains = len(placements)
	}
	g.ranks = map[string]int{}
	left := slices.Clone(placements)
	for len(left) > 0 {
		leads := make([]uint32, len(left))
		for i, p := range left {
			leads[i] = q.choose(q.indexes(p.Nodes))
		}
		i := slices.Index(leads, q.choose(slices.Sorted(slices.Values(leads))))
		g.ranks[left[i].Name] = len(g.ranks)
		left = slices.Delete(left, i, i+1)
	}
}

// preemptForGroup is DefaultPreemption, whose cycle of the group goes through domains in the order of the nodes.
func (q *Queue) preemptForGroup(
	own *defaultpreemption.DefaultPreemption, ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo,
	place fwk.PodGroupSchedulingFunc,
) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	g := q.attempt.group
	result, status := own.PodGroupPostFilter(ctx, state, group, func(ctx context.Context) (*fwk.PodGroupAssignments, *fwk.Status) {
		g.trial = true
		defer func() { g.trial = false }()
		a, status := place(ctx)
		if status.IsSuccess() {
			q.attempt.err = errors.Join(q.attempt.err, q.orderPaths(a))
		}
		return a, status
	})
	const found = "found a placement for podgroup, preempting "
	if i := strings.Index(status.Message(), found); i >= 0 {
		g.found = true
		g.gone, _ = strconv.Atoi(strings.Fields(status.Message()[i+len(found):])[0])
	}
	return result, status
}

// groupAttempted hands over the events of an attempt of a group.
func (q *Queue) groupAttempted(round int) error {
	g := q.attempt.group
	if !g.ended {
		return fmt.Errorf("the attempt of %s does not end", g.name)
	}
	about := func(status *fwk.Status) string {
		return strings.ReplaceAll(status.Message(), strconv.Quote(preemptingName), strconv.Quote(names.DefaultPreemption))
	}
	g.Message, g.Failed = about(g.status), g.status.IsError()
	for _, p := range g.pods {
		status := g.statuses[p.UID]
		if status == nil {
			continue
		}
		pod := q.byUID[p.UID]
		pod.Message, pod.Failed, pod.Last = about(status), status.IsError(), g.decisions[p.UID]
		if status.IsError() && !g.Failed && !g.status.IsSuccess() { // preemption's, of the whole group
			g.Message, g.Failed = about(status), true
		}
	}
	placed := len(g.pods) - len(g.statuses)
	for range placed {
		select {
		case <-q.api.bound:
		case <-time.After(30 * time.Second):
			return fmt.Errorf("binding the pods of %s does not end", g.name)
		}
	}
	writes := q.api.take()
	if placed > 0 {
		g.Placed++
	}
	for _, p := range g.pods {
		if err := q.deliverMember(q.byUID[p.UID], p, writes, round); err != nil {
			return err
		}
	}
	for i, w := range writes {
		if w.method == http.MethodPatch && !q.isVictim(w.key) {
			writes[i].method = ""
			if err := q.api.patch(w.key, w.body); err != nil {
				return err
			}
		}
	}
	if err := q.evictForGroup(writes); err != nil {
		return err
	}
	for _, w := range writes {
		if w.method != "" {
			return fmt.Errorf("the group %s changes %s as well: %s", g.name, w.key, w.method)
		}
	}
	if pods := q.scheduler.SchedulingQueue.InFlightPods(); len(pods) > 0 {
		return fmt.Errorf("%s is still being scheduled", pods[0].Name)
	}
	return nil
}

func (q *Queue) isVictim(key string) bool {
	v := q.attempt.group.victims
	return v != nil && slices.ContainsFunc(v.Pods, func(p *corev1.Pod) bool { return p.Namespace+"/"+p.Name == key })
}

// deliverMember hands over what an attempt changes of a pod of the group.
func (q *Queue) deliverMember(pod *QueuedPod, p *corev1.Pod, writes []write, round int) error {
	for i, w := range writes {
		if w.key != pod.key || w.method == "" {
			continue
		}
		writes[i].method = ""
		if w.method == http.MethodPatch {
			if err := q.api.patch(w.key, w.body); err != nil {
				return err
			}
			continue
		}
		var binding corev1.Binding
		if err := json.Unmarshal(w.body, &binding); err != nil || w.method != http.MethodPost {
			return fmt.Errorf("%s of %s: %w", w.method, w.key, err)
		}
		if err := q.api.bind(w.key, binding.Target.Name); err != nil {
			return err
		}
		pod.Placed, pod.Round, pod.Node = q.api.placed, round, q.index[binding.Target.Name]
		pod.Bindings = q.boundBy(p.UID, pod.Entry)
	}
	if q.attempt.group.statuses[p.UID] == nil && pod.Placed == 0 {
		return fmt.Errorf("%s is neither placed nor rejected", pod.key)
	}
	return nil
}

// evictForGroup hands over the eviction of the victims of a group.
func (q *Queue) evictForGroup(writes []write) error {
	g := q.attempt.group
	if !g.found || g.gone == 0 {
		return nil
	}
	unordered := g.victims == nil // all are terminating
	if unordered {
		g.victims = &extenderv1.Victims{}
		for _, p := range g.left {
			g.victims.Pods = append(g.victims.Pods, p)
		}
		slices.SortFunc(g.victims.Pods, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	}
	if len(g.victims.Pods) != g.gone {
		return fmt.Errorf("%s preempts %d pods, and %d are gone", g.name, g.gone, len(g.victims.Pods))
	}
	for _, p := range g.victims.Pods {
		key := p.Namespace + "/" + p.Name
		for i, w := range writes {
			if w.key != key || w.method == "" {
				continue
			}
			writes[i].method = ""
			if w.method == http.MethodPatch {
				if err := q.api.patch(key, w.body); err != nil {
					return err
				}
			}
		}
		if err := q.api.remove(key); err != nil {
			return err
		}
	}
	e := Eviction{
		Entry: q.byUID[g.pods[0].UID].Entry, Group: g.name, Victims: q.victims(g.victims.Pods), Nominated: map[int][]uint32{},
		Violations: int(g.victims.NumPDBViolations), preemptor: q.byUID[g.pods[0].UID],
		Unordered: unordered,
	}
	for _, p := range g.victims.Pods {
		if pod := q.byUID[p.UID]; pod != nil {
			pod.Evicted = true
		}
	}
	for _, p := range g.pods {
		if node := g.nominated[p.UID]; node != "" {
			entry := q.byUID[p.UID].Entry
			e.Nominated[entry] = append(e.Nominated[entry], q.index[node])
		}
	}
	q.evictions = append(q.evictions, e)
	return q.comeBack(g.victims.Pods)
}
