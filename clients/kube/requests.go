package kube

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/suggest"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// context returns the context of a request whose response names nodes.
func (s *Snapshot) context() *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: s.Cluster}, IncludeNodeNames: true}
}

// queued returns the pods of the queue.
func (s *Snapshot) queued() []*stowagev1.PendingPods {
	var out []*stowagev1.PendingPods
	for _, e := range s.Queue {
		out = append(out, e.Pods)
	}
	return out
}

// PlaceRequest returns a request to place the whole queue. Its response names nodes.
func (s *Snapshot) PlaceRequest() *stowagev1.PlaceRequest {
	return &stowagev1.PlaceRequest{Context: s.context(), PodGroups: s.PodGroups, Queue: s.queued()}
}

// ProvisionRequest returns a request for nodes to add, so that the pods of the queue have nodes. Its response names nodes.
func (s *Snapshot) ProvisionRequest() *stowagev1.ProvisionRequest {
	return &stowagev1.ProvisionRequest{Context: s.context(), PodGroups: s.PodGroups, Templates: s.NodeTemplates, Queue: s.queued()}
}

// Entry returns an entry of the queue or, with an index beyond its end, one that waits. The placements of a Complete
// response have these indexes.
func (s *Snapshot) Entry(i int) Entry {
	if i < len(s.Queue) {
		return s.Queue[i]
	}
	return s.Waiting[i-len(s.Queue)]
}

// Complete adds the entries that wait to a response, as pods without a node.
func (s *Snapshot) Complete(a *stowagev1.PlaceResponse) {
	for _, e := range s.Waiting {
		a.Doubts = append(a.Doubts, UnreadDoubts(e.Pods.Pod.Unread, uint32(len(a.Placements)))...)
		a.Placements = append(a.Placements, &stowagev1.Placement{UnplacedCount: e.Pods.PodCount(), Message: e.Message})
		a.UnplacedCount += e.Pods.PodCount()
	}
}

// UnreadDoubts returns the doubts about unread fields of an entry of the queue that was not sent to a server.
func UnreadDoubts(fields []*stowagev1.UnreadField, entry uint32) []*stowagev1.Doubt {
	var out []*stowagev1.Doubt
	for _, u := range fields {
		out = append(out, &stowagev1.Doubt{
			Kind:   stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD,
			Pod:    &stowagev1.PodReference{Count: 1, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: entry}},
			Unread: u,
		})
	}
	return out
}

// DrainRequest returns a request to drain nodes, all of the cluster if none is named. Its response names nodes.
func (s *Snapshot) DrainRequest(nodes []string) (*stowagev1.DrainRequest, error) {
	r := &stowagev1.DrainRequest{Context: s.context()}
	if len(s.Cluster.Nodes) == 0 {
		return nil, fmt.Errorf("the manifests have no nodes")
	}
	var err error
	r.Nodes, err = s.Candidates(nodes)
	return r, err
}

// Candidates returns nodes by their names, nil for none. A name may be given several times.
func (s *Snapshot) Candidates(names []string) (*stowagev1.CandidateNodes, error) {
	if len(names) == 0 {
		return nil, nil
	}
	nodes := make([]string, len(s.Cluster.Nodes))
	known := make(map[string]bool, len(nodes))
	for i, n := range s.Cluster.Nodes {
		nodes[i], known[n.Name] = n.Name, true
	}
	out := &stowagev1.CandidateNodes{}
	unknown, first := []string(nil), ""
	for _, name := range names {
		switch {
		case !known[name]:
			unknown, first = append(unknown, strconv.Quote(name)), cmp.Or(first, name)
		case !slices.Contains(out.Names, name):
			out.Names = append(out.Names, name)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("there is no node %s%s", strings.Join(slices.Compact(unknown), ", "), suggest.DidYouMean(first, slices.Values(nodes)))
	}
	return out, nil
}

// Counted is pods of a unit that FitRequest counts.
type Counted struct {
	// Name is the namespace and the name of the workload, or of the pod without one.
	Name string
	Pods *stowagev1.FitPod
	// Message is why kube-scheduler does not queue such pods; empty if it does.
	Message string
	// Source is the object that creates the pods; nil if it is not known.
	Source *PodSource
}

// Counted finds pods to count by the name of a pending pod or of a workload, with or without the namespace. Without a name, they
// are the only pending pod's, or the only workload's if no pod is pending.
func (s *Snapshot) Counted(name string, count uint32) (*Counted, error) {
	entries, missing := s.Pending(name)
	if missing == nil {
		entry := entries[0]
		if entry.Misread != nil {
			return nil, entry.Misread
		}
		o := entry.Origin
		out := &Counted{Name: o.Namespace + "/" + o.Name, Pods: &stowagev1.FitPod{Pod: entry.Pods.Pod, Count: new(count)}, Message: entry.Message}
		if by, ok := s.SourceOf(entry); ok {
			out.Source = &by
		}
		return out, nil
	}
	if _, none := errors.AsType[noPending](missing); !none || name == "" && len(s.Queue)+len(s.Waiting)+len(s.Others) > 0 {
		return nil, missing
	}
	w, err := s.Scalable(name)
	if err != nil {
		return nil, errors.Join(missing, err)
	}
	by := w.SourceOf(s)
	return &Counted{Name: w.Namespace + "/" + w.Name, Pods: &stowagev1.FitPod{Pod: w.Pod, Count: new(count)}, Source: &by}, nil
}

// FitRequest returns a request to count how many units of a mix fit. Its response names nodes.
func (s *Snapshot) FitRequest(mix []*Counted) *stowagev1.FitRequest {
	r := &stowagev1.FitRequest{Context: s.context()}
	for _, c := range mix {
		r.Mix = append(r.Mix, c.Pods)
	}
	return r
}

// capacityTypeLabel is Karpenter's label for how a node is paid for (karpenter.sh/v1, v1.15.0).
const capacityTypeLabel = "karpenter.sh/capacity-type"

// ConsolidateRequest returns a request for nodes to remove or replace, of the named nodes, all of the cluster if none is
// named. Its response names nodes. Nodes without a price stay, and are returned.
//
// The price of a node is in its annotation NodePriceAnnotation. Without one it is the price of the templates with the node's label
// node.kubernetes.io/instance-type; of the labels topology.kubernetes.io/zone and karpenter.sh/capacity-type, a template has the
// node's or none. If these have several prices, the node has none.
func (s *Snapshot) ConsolidateRequest(nodes []string) (r *stowagev1.ConsolidateRequest, unpriced []string, err error) {
	chosen, err := s.Candidates(nodes)
	if err != nil {
		return nil, nil, err
	}
	byPrice := map[uint64][]string{}
	for i, n := range s.Cluster.Nodes {
		if chosen != nil && !slices.Contains(chosen.Names, n.Name) {
			continue
		}
		price, known, err := s.priceOf(s.added.nodes[i])
		if err != nil {
			return nil, nil, err
		}
		if !known {
			unpriced = append(unpriced, n.Name)
			continue
		}
		byPrice[price] = append(byPrice[price], n.Name)
	}
	if len(byPrice) == 0 {
		return nil, nil, fmt.Errorf("no node has a price: in the annotation %s, or as that of a template with its label %s",
			convert.NodePriceAnnotation, corev1.LabelInstanceTypeStable)
	}
	r = &stowagev1.ConsolidateRequest{Context: s.context(), Templates: s.NodeTemplates}
	for _, price := range slices.Sorted(maps.Keys(byPrice)) {
		r.Candidates = append(r.Candidates, &stowagev1.PricedNodes{
			Nodes: &stowagev1.CandidateNodes{Names: byPrice[price]}, Price: price,
		})
	}
	return r, unpriced, nil
}

// priceOf returns the price of a node, if it is known.
func (s *Snapshot) priceOf(n *corev1.Node) (price uint64, known bool, err error) {
	if text, found := n.Annotations[convert.NodePriceAnnotation]; found {
		if price, err = strconv.ParseUint(text, 10, 64); err != nil {
			return 0, false, fmt.Errorf("%s: metadata.annotations[%s]: %q is not a whole number, 0 or more",
				Origin{Kind: "Node", Name: n.Name}, convert.NodePriceAnnotation, text)
		}
		return price, true, nil
	}
	of := n.Labels[corev1.LabelInstanceTypeStable]
	if of == "" {
		return 0, false, nil
	}
	for _, t := range s.NodeTemplates {
		labels := t.GetNode().GetLabels()
		same := labels[corev1.LabelInstanceTypeStable] == of
		for _, key := range []string{corev1.LabelTopologyZone, capacityTypeLabel} {
			value, found := labels[key]
			same = same && (!found || value == n.Labels[key])
		}
		switch {
		case !same:
		case known && t.GetPrice() != price:
			return 0, false, nil
		default:
			price, known = t.GetPrice(), true
		}
	}
	return price, known, nil
}

// templateNameBytes is how long the name of a node template may be.
const templateNameBytes = 52

// TemplateLike returns a template of nodes like one of the cluster, as Change.added_node describes them, with the price 1.
func (s *Snapshot) TemplateLike(index uint32) (*stowagev1.NodeTemplate, error) {
	like, err := compact.WholeNode(s.Cluster, s.Cluster.Nodes[index])
	if err != nil {
		return nil, err
	}
	node := compact.Shallow(like)
	node.Name = like.Name[:min(len(like.Name), templateNameBytes)]
	node.Taints = slices.DeleteFunc(slices.Clone(like.Taints), func(t *stowagev1.Taint) bool { return nodestate.Has(t.GetKey()) })
	node.Unschedulable, node.Images = false, nil
	node.PodCounts, node.Pods, node.NominatedPods, node.AttachedVolumes = nil, nil, nil, nil
	for _, c := range like.PodCounts {
		if !c.GetTerminating() && tied(s.Cluster.PodTemplates[c.GetTemplateIndex()]) {
			node.PodCounts = append(node.PodCounts, c)
		}
	}
	for _, p := range like.Pods {
		if !p.GetTerminating() && tied(compact.Template(s.Cluster, p)) {
			node.Pods = append(node.Pods, p)
		}
	}
	out := &stowagev1.NodeTemplate{Node: node, Price: 1, ResourceSlices: slicesLike(s.Cluster, like.Name, node.Name)}
	for key, value := range like.Labels {
		if value == like.Name && key != corev1.LabelHostname {
			out.NameLabelKeys = append(out.NameLabelKeys, key)
		}
	}
	slices.Sort(out.NameLabelKeys)
	return out, nil
}

// slicesLike returns the slices of a template of nodes like another one: of the pools that the other node has alone.
func slicesLike(c *stowagev1.Cluster, like, name string) (out []*stowagev1.ResourceSlice) {
	type pool struct{ driver, name string }
	shared := make(map[pool]bool)
	for _, s := range c.ResourceSlices {
		shared[pool{s.Driver, s.Pool}] = shared[pool{s.Driver, s.Pool}] || s.NodeName != like
	}
	for _, s := range c.ResourceSlices {
		if shared[pool{s.Driver, s.Pool}] {
			continue
		}
		own := &stowagev1.ResourceSlice{
			Name: s.Name, Driver: s.Driver, Pool: s.Pool, Generation: s.Generation, SliceCount: s.SliceCount,
			Devices: s.Devices, CounterSets: s.CounterSets,
		}
		if s.Pool == like {
			own.Pool = name
		}
		out = append(out, own)
	}
	return out
}

// tied reports whether a pod's controller creates it for a node: a DaemonSet, or a kubelet.
func tied(t *stowagev1.PodTemplate) bool {
	c := t.GetController()
	return c.GetApiVersion() == "apps/v1" && c.GetKind() == "DaemonSet" || c.GetApiVersion() == "v1" && c.GetKind() == "Node"
}
