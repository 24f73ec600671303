package advice

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Bounds of what is tried: rules, priorities, and pods that move.
const (
	maximumRules      = 8
	maximumPriorities = 16
	maximumMoves      = 8
)

// Kind is what a piece of advice changes.
type Kind string

// The kinds.
const (
	SoftRule       Kind = "soft-rule"       // a required term is preferred in all pods of the workload
	FewerReplicas  Kind = "fewer-replicas"  // the workload has no more replicas than fit
	HigherPriority Kind = "higher-priority" // the pods preempt others
	MovedPod       Kind = "moved-pod"       // a pod that the pods must be with has another node
	OtherClass     Kind = "other-class"     // a claim has another StorageClass
	WaitingClass   Kind = "waiting-class"   // a claim waits for its pod's node
	SmallerClaim   Kind = "smaller-claim"   // a claim asks for less
	NodeOfVolume   Kind = "node-of-volume"  // a new node can use a volume that no node can
	NewVolume      Kind = "new-volume"      // a claim is created again and gets another volume
	DetachedVolume Kind = "detached-volume" // a pod leaves a node, and its volumes are detached

	FewerDevices      Kind = "fewer-devices"      // a request asks for fewer devices
	FewerSelectors    Kind = "fewer-selectors"    // a request has a selector of devices less
	FewerConstraints  Kind = "fewer-constraints"  // a claim has a constraint less
	ToleratedDevice   Kind = "tolerated-device"   // a request tolerates a taint of devices
	AlternativeDevice Kind = "alternative-device" // a request accepts devices of another class, too
	FreedDevice       Kind = "freed-device"       // a pod leaves its node, or an unused claim is deleted
)

// Advice is a change in words, and how it is made.
type Advice struct {
	Kind Kind
	Text string
	// Rule is the term of a SoftRule, Replicas is the number of FewerReplicas, Priority the priority of HigherPriority, Pod is the MovedPod
	// or the one of a DetachedVolume or FreedDevice. Claim is the claim of advice about one, as NAMESPACE/NAME.
	Rule     *stowagev1.PodRule
	Replicas uint32
	Priority int32
	Pod      kube.Origin
	Claim    string
	// Fix makes the change; nil if there is none, for the reason Refused.
	Fix     *remedy.Fix
	Refused error
}

// Question is pods of one spec without a feasible node.
type Question struct {
	Snapshot *kube.Snapshot
	Profile  *stowagev1.Profile
	// Pods are the entries of the pods; Placed of these pods have a node without a change.
	Pods   []kube.Entry
	Placed uint32
	// Offered are the changes of the pod and of nodes that place it.
	Offered []*stowagev1.Change
	// Explanation is why the first pod has no node.
	Explanation *stowagev1.Explanation
	// Mode is how the queue is placed, Returning how it is if evicted pods come back. Preemption says whether the profile has it.
	Mode, Returning stowagev1.QueueMode
	Preemption      bool
	// WhatIf decides scenarios, in order.
	WhatIf func(context.Context, *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error)

	storage *stored
}

// Find returns the advice, the least intrusive first.
func (q *Question) Find(ctx context.Context) ([]Advice, error) {
	if e := &q.Pods[0]; e.Object() == nil || e.Pods.GetPodGroup() != "" || len(e.Object().Spec.SchedulingGates) > 0 {
		return nil, nil
	}
	var out []Advice
	for _, find := range []func(context.Context) ([]Advice, error){q.apart, q.moved, q.priority, q.detached, q.claims, q.devices} {
		more, err := find(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// pods is the number of pods in question.
func (q *Question) pods() uint32 {
	n := uint32(0)
	for _, e := range q.Pods {
		n += e.Pods.PodCount()
	}
	return n
}

// scenario places the queue of the snapshot, in which a number of other pods stand for the pods in question. It returns their entry, too.
func (q *Question) scenario(pod *stowagev1.Pod, count uint32) (*stowagev1.Scenario, int) {
	out, at := &stowagev1.Scenario{PodGroups: q.Snapshot.PodGroups}, -1
	changed := &stowagev1.PendingPods{Pod: pod, Count: new(count)}
	for _, e := range q.Snapshot.Queue {
		switch {
		case !slices.ContainsFunc(q.Pods, func(of kube.Entry) bool { return of.Pods == e.Pods }):
			out.Queue = append(out.Queue, e.Pods)
		case at < 0:
			at, out.Queue = len(out.Queue), append(out.Queue, changed)
		}
	}
	if at < 0 {
		at, out.Queue = len(out.Queue), append(out.Queue, changed)
	}
	return out, at
}

// evict takes pods off their nodes in a scenario.
func (q *Question) evict(s *stowagev1.Scenario, pods ...kube.OnNode) {
	for _, p := range pods {
		node := q.Snapshot.Cluster.Nodes[p.Node].GetName()
		if n := len(s.Evictions); n == 0 || s.Evictions[n-1].NodeName != node {
			s.Evictions = append(s.Evictions, &stowagev1.NodeEvictions{NodeName: node})
		}
		last := s.Evictions[len(s.Evictions)-1]
		last.Pods = append(last.Pods, &stowagev1.NamespacedName{Namespace: p.Object.Namespace, Name: p.Object.Name})
	}
}

// play decides scenarios.
func (q *Question) play(ctx context.Context, mode stowagev1.QueueMode, of ...*stowagev1.Scenario) ([]*stowagev1.WhatIfResponse, error) {
	if len(of) == 0 {
		return nil, nil
	}
	request := q.Snapshot.WhatIfRequest()
	request.Scenarios, request.Context.Profile, request.QueueMode = of, q.Profile, mode
	request.Context.IncludeNodeNames = true
	return q.WhatIf(ctx, request)
}

// placed reports whether all pods of an entry have a node, and keep it.
func placed(a *stowagev1.WhatIfResponse, entry int) bool {
	p := a.GetPlacement().GetPlacements()[entry]
	return p.GetUnplacedCount()+p.GetEvictedCount() == 0 && len(p.GetNodes().GetNames()) > 0
}
