package simulate

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ScheduleOptions are the options of Schedule and ScheduleTemplate.
type ScheduleOptions struct {
	// Nodes are the candidate nodes, all if nil.
	Nodes *Nodes
	// DryRun leaves the snapshot unchanged.
	DryRun bool
	// Stop ends scheduling with the first pod without a node, which is the last result.
	Stop bool
	// FirstFit chooses the first feasible node in the order of NodeNames, without scores. Otherwise Schedule chooses as kube-scheduler
	// does, the first of the nodes with the highest score.
	FirstFit bool
}

// Result is the outcome of one pod.
type Result struct {
	// Pod is the caller's pod, or a pod created from a template. Its spec.nodeName is not set.
	Pod *corev1.Pod
	// Node is the pod's node, "" if it has none.
	Node string
	// Why has the reasons why the pod has no node, nil if it has one. Equal pods share it.
	Why *Why
	// Doubts are the undecided aspects of the pod, such as its volume claims. If there are any, kube-scheduler may reject Node.
	Doubts []*stowagev1.Doubt
}

// Why has the reasons why nodes are not feasible for a pod.
type Why struct {
	// Message is kube-scheduler's event text if no node is feasible, such as "0/3 nodes are available: 3 Insufficient cpu.".
	Message string
	// Rejections has each infeasible node once, with the plugin that rejects it first, in kube-scheduler's order.
	Rejections []Rejection
	// InternalError: kube-scheduler fails with an internal error, whose text is Message. More nodes do not help.
	InternalError bool
}

// Rejection is nodes that a plugin rejects for the same reasons.
type Rejection struct {
	Plugin string
	// Unresolvable: evicting pods does not help.
	Unresolvable bool
	Reasons      []string
	Nodes        []string
}

// Rejection returns the rejection of a node, nil if it is not rejected.
func (w *Why) Rejection(node string) *Rejection {
	for i := range w.Rejections {
		if slices.Contains(w.Rejections[i].Nodes, node) {
			return &w.Rejections[i]
		}
	}
	return nil
}

func (o *order) why(message string, rejections []*stowagev1.Rejection, internal bool) *Why {
	out := &Why{Message: message, InternalError: internal}
	for _, r := range rejections {
		to := Rejection{
			Plugin: object.Plugin(r.Plugin), Nodes: o.named(r.GetNodes().GetIndexes()),
			Unresolvable: r.Code == stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
		}
		for _, reason := range r.Reasons {
			to.Reasons = append(to.Reasons, reason.Message)
		}
		out.Rejections = append(out.Rejections, to)
	}
	return out
}

// Schedule places pods one by one in the given order, and counts each on its node before it places the next. No pod is evicted.
// Results are in the order of pods. An error means that nothing has changed.
func (s *Snapshot) Schedule(ctx context.Context, pods []*corev1.Pod, o ScheduleOptions) ([]Result, error) {
	q := s.newQueue()
	for _, p := range pods {
		if err := q.add(p, ""); err != nil {
			return nil, fmt.Errorf("pod %s: %w", keyOfPod(p), err)
		}
	}
	results, _, err := q.place(ctx, &o, nil)
	return results, err
}

// ScheduleTemplate places up to count pods of a template. It stops at the first pod without a node, which is then the last result.
// Pods are named after the template or its generateName, with a number, skipping the names of pods on nodes.
func (s *Snapshot) ScheduleTemplate(ctx context.Context, t *corev1.PodTemplateSpec, count int,
	o ScheduleOptions,
) ([]Result, error) {
	o.Stop = true
	q := s.newQueue()
	prefix := t.GenerateName
	if t.Name != "" {
		prefix = t.Name + "-"
	}
	if prefix == "" {
		prefix = "pod-"
	}
	for number := 0; len(q.pods) < count; number++ {
		p := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
		p.Name, p.GenerateName = prefix+strconv.Itoa(number), ""
		if s.base.find(&s.now, keyOfPod(p)) != nil {
			continue
		}
		if err := q.repeat(p); err != nil {
			return nil, fmt.Errorf("the template: %w", err)
		}
	}
	results, _, err := q.place(ctx, &o, nil)
	return results, err
}

// queue is pods to place.
type queue struct {
	s         *Snapshot
	pods      []*corev1.Pod
	converted []*stowagev1.Pod // by pod
	entries   []*stowagev1.PendingPods
	names     map[string]bool
	templates map[string]uint32 // of the request alone
	fresh     []*stowagev1.PodTemplate
	of        map[uint32]*stowagev1.PodTemplate // by index
}

func (s *Snapshot) newQueue() *queue {
	return &queue{s: s, names: map[string]bool{}, templates: map[string]uint32{}, of: map[uint32]*stowagev1.PodTemplate{}}
}

// pending converts a pod to one that refers to a template.
func (q *queue) pending(p *corev1.Pod) (*stowagev1.Pod, error) {
	out, err := q.s.base.cluster.PendingPod(p)
	if err != nil {
		return nil, err
	}
	if q.s.now.pods.root != nil && len(out.GetTemplate().GetSpec().GetResourceClaims()) > 0 {
		out.Unread = append(out.Unread, &stowagev1.UnreadField{
			Object: "Pod " + keyOfPod(p), Field: "spec.resourceClaims",
			Consequence: "pods that were scheduled or evicted before have the devices that they had in the cluster (DynamicResources)",
		})
	}
	key, err := encoding(out.GetTemplate())
	if err != nil {
		return nil, err
	}
	if known := q.s.base.known(&q.s.now, key); known != nil {
		q.of[known.Index] = known.Template
		out.Source = templateIndex(known.Index)
		return out, nil
	}
	i, ok := q.templates[key]
	if !ok {
		i = q.s.now.count + uint32(len(q.fresh))
		q.templates[key] = i
		q.fresh = append(q.fresh, out.GetTemplate())
		q.of[i] = out.GetTemplate()
	}
	out.Source = templateIndex(i)
	return out, nil
}

func templateIndex(i uint32) *stowagev1.Pod_TemplateIndex {
	return &stowagev1.Pod_TemplateIndex{TemplateIndex: i}
}

// add adds a pod to the queue. group is "" for none.
func (q *queue) add(p *corev1.Pod, group string) error {
	if err := q.free(p); err != nil {
		return err
	}
	out, err := q.pending(p)
	if err != nil {
		return err
	}
	q.enqueue(p, out, group)
	return nil
}

// repeat adds a pod that equals the previous one except for its name.
func (q *queue) repeat(p *corev1.Pod) error {
	if len(q.pods) == 0 {
		return q.add(p, "")
	}
	q.enqueue(p, q.converted[len(q.converted)-1], "")
	return nil
}

func (q *queue) free(p *corev1.Pod) error {
	if err := q.s.free(p); err != nil {
		return err
	}
	if q.names[keyOfPod(p)] {
		return fmt.Errorf("duplicate name")
	}
	q.names[keyOfPod(p)] = true
	return nil
}

// enqueue adds a pod, in one entry with equal pods before it. If pods are nominated to nodes, or have claims of their name, each needs its
// name, and an entry of its own.
func (q *queue) enqueue(p *corev1.Pod, pod *stowagev1.Pod, group string) {
	last := &stowagev1.PendingPods{}
	if len(q.entries) > 0 && len(q.s.base.nominated) == 0 && !compact.NamesClaims(q.of[pod.GetTemplateIndex()]) {
		last = q.entries[len(q.entries)-1]
	}
	if last.Pod != nil && last.PodGroup == group && kube.Alike(last.Pod, pod) {
		*last.Count++
	} else {
		if pod.Name != p.Name {
			pod = proto.Clone(pod).(*stowagev1.Pod)
			pod.Name = p.Name
		}
		q.entries = append(q.entries, &stowagev1.PendingPods{Pod: pod, Count: new(uint32(1)), PodGroup: group})
	}
	q.pods, q.converted = append(q.pods, p), append(q.converted, pod)
}

// place places the queue. group is the group of its pods, nil for none.
func (q *queue) place(ctx context.Context, o *ScheduleOptions, group *stowagev1.PodGroup) (
	[]Result, *stowagev1.PodGroupPlacement, error,
) {
	s := q.s
	if len(q.pods) == 0 {
		return nil, nil, nil
	}
	nodes, err := s.candidates(o.Nodes)
	if err != nil {
		return nil, nil, err
	}
	profile := s.profile
	if o.FirstFit {
		profile = s.firstFit
	}
	request := &stowagev1.PlaceRequest{Queue: q.entries, CandidateNodes: nodes}
	if group != nil {
		request.PodGroups = append(request.PodGroups, group)
	}
	var answer *stowagev1.PlaceResponse
	err = s.ask(ctx, profile, q.fresh, func(about *stowagev1.DecisionContext) (err error) {
		request.Context = about
		answer, err = s.client.Place(ctx, request)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	results := q.results(answer, o.Stop)
	if !o.DryRun {
		err = s.all(func() error {
			q.bind(answer, len(results))
			return q.count(results)
		})
	}
	var placement *stowagev1.PodGroupPlacement
	if group != nil {
		placement = answer.PodGroups[0]
	}
	return results, placement, err
}

// results returns the results of a response, with stop up to the first pod without a node.
func (q *queue) results(answer *stowagev1.PlaceResponse, stop bool) []Result {
	results := make([]Result, 0, len(q.pods))
	doubts := map[uint32][]*stowagev1.Doubt{} // by entry
	for _, d := range answer.GetDoubts() {
		doubts[d.GetPod().GetQueueIndex()] = append(doubts[d.GetPod().GetQueueIndex()], d)
	}
	for i, e := range q.entries {
		p := answer.Placements[i]
		nodes := p.GetNodes().GetIndexes()
		var why *Why
		for n := range e.PodCount() {
			r := Result{Pod: q.pods[len(results)], Doubts: doubts[uint32(i)]}
			if int(n) < len(nodes) {
				r.Node = q.s.now.order.names[nodes[n]]
			} else {
				if why == nil {
					why = q.s.now.order.why(p.Message, p.Rejections, p.InternalError)
				}
				r.Why = why
			}
			results = append(results, r)
			if stop && r.Node == "" {
				return results
			}
		}
	}
	return results
}

// count counts the placed pods on their nodes.
func (q *queue) count(results []Result) error {
	var last *placed // equals the next pod except for the name
	for i, r := range results {
		if r.Node == "" {
			continue
		}
		if last != nil && q.converted[i] == q.converted[i-1] {
			p := *last
			p.object, p.key, p.node = r.Pod, keyOfPod(r.Pod), r.Node
			p.pod = &stowagev1.Pod{Name: r.Pod.Name, Source: last.pod.Source, Labels: last.pod.Labels}
			q.s.base.put(&q.s.now, &p)
			continue
		}
		if err := q.s.add(r.Pod, r.Node); err != nil {
			return fmt.Errorf("pod %s: %w", keyOfPod(r.Pod), err)
		}
		last = q.s.base.find(&q.s.now, keyOfPod(r.Pod))
	}
	return nil
}

// GroupResult is the outcome of a pod group.
type GroupResult struct {
	// Placed: at least the group's minimum of pods has nodes. Otherwise none has.
	Placed bool
	// Status is the outcome in detail.
	Status stowagev1.PodGroupStatus
	// Message has the reason why the group is not placed; empty if it is.
	Message string
	// Results are the pods' results, in their order.
	Results []Result
}
