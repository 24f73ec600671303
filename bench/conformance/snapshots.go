package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ByAddress puts each request's cluster first, in small parts, and then makes the call by its address. It is for one caller at a
// time; requests that share a cluster follow one another.
func ByAddress(client stowagev1.PlacementServiceClient) Service {
	return &puts{client: client, put: func(ctx context.Context, c *stowagev1.Cluster) (*stowagev1.SnapshotReference, error) {
		address, err := put(ctx, client, c)
		return &stowagev1.SnapshotReference{Address: address}, err
	}}
}

// ByDelta is ByAddress, but puts another cluster, and then makes the call by its address and the difference.
func ByDelta(client stowagev1.PlacementServiceClient) Service {
	return &puts{client: client, put: func(ctx context.Context, c *stowagev1.Cluster) (*stowagev1.SnapshotReference, error) {
		base, delta := another(c)
		address, err := put(ctx, client, base)
		return &stowagev1.SnapshotReference{Address: address, Delta: delta}, err
	}}
}

type puts struct {
	client stowagev1.PlacementServiceClient
	put    func(context.Context, *stowagev1.Cluster) (*stowagev1.SnapshotReference, error)

	last      *stowagev1.Cluster
	reference *stowagev1.SnapshotReference
}

// snapshot puts a cluster, unless the last request had the same cluster.
func (p *puts) snapshot(ctx context.Context, c *stowagev1.Cluster) (_ *stowagev1.SnapshotReference, err error) {
	if p.last != c || p.reference == nil {
		p.last = c
		p.reference, err = p.put(ctx, c)
	}
	return p.reference, err
}

func (p *puts) Filter(ctx context.Context, r *stowagev1.FilterRequest, options ...grpc.CallOption) (*stowagev1.FilterResponse, error) {
	snapshot, err := p.snapshot(ctx, r.GetContext().GetCluster())
	if err != nil {
		return nil, err
	}
	return p.client.Filter(ctx, &stowagev1.FilterRequest{
		Context:        on(snapshot, r.Context),
		Pod:            r.Pod,
		CandidateNodes: r.CandidateNodes,
		Explain:        r.Explain,

		IncludeChanges:    r.IncludeChanges,
		IncludePreemption: r.IncludePreemption,
	}, options...)
}

func (p *puts) Preempt(
	ctx context.Context, r *stowagev1.PreemptRequest, options ...grpc.CallOption,
) (*stowagev1.PreemptResponse, error) {
	snapshot, err := p.snapshot(ctx, r.GetContext().GetCluster())
	if err != nil {
		return nil, err
	}
	return p.client.Preempt(ctx, &stowagev1.PreemptRequest{
		Context:               on(snapshot, r.Context),
		Pod:                   r.Pod,
		CandidateNodes:        r.CandidateNodes,
		IncludeCandidates:     r.IncludeCandidates,
		RecountTopologySpread: r.RecountTopologySpread,
	}, options...)
}

func (p *puts) Score(ctx context.Context, r *stowagev1.ScoreRequest, options ...grpc.CallOption) (*stowagev1.ScoreResponse, error) {
	snapshot, err := p.snapshot(ctx, r.GetContext().GetCluster())
	if err != nil {
		return nil, err
	}
	return p.client.Score(ctx, &stowagev1.ScoreRequest{
		Context:             on(snapshot, r.Context),
		Pod:                 r.Pod,
		CandidateNodes:      r.CandidateNodes,
		IncludePluginScores: r.IncludePluginScores,
		IncludeRejections:   r.IncludeRejections,
	}, options...)
}

func (p *puts) Place(ctx context.Context, r *stowagev1.PlaceRequest, options ...grpc.CallOption) (*stowagev1.PlaceResponse, error) {
	snapshot, err := p.snapshot(ctx, r.GetContext().GetCluster())
	if err != nil {
		return nil, err
	}
	return p.client.Place(ctx, &stowagev1.PlaceRequest{
		Context:        on(snapshot, r.Context),
		Queue:          r.Queue,
		CandidateNodes: r.CandidateNodes,
		TieBreakSeed:   r.TieBreakSeed,
		TieBreak:       r.TieBreak,
		Explain:        r.Explain,

		IncludeChanges:    r.IncludeChanges,
		IncludePreemption: r.IncludePreemption,
		QueueMode:         r.QueueMode,
	}, options...)
}

// on returns a context with a snapshot for its base.
func on(snapshot *stowagev1.SnapshotReference, c *stowagev1.DecisionContext) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base:    &stowagev1.DecisionContext_Snapshot{Snapshot: snapshot},
		Profile: c.GetProfile(), IncludeNodeNames: c.GetIncludeNodeNames(),
	}
}

// put puts a cluster in parts: what nodes refer to, then three nodes each.
func put(ctx context.Context, client stowagev1.PlacementServiceClient, c *stowagev1.Cluster) (address string, err error) {
	stream, err := client.PutSnapshot(ctx)
	if err != nil {
		return "", err
	}
	rest := proto.CloneOf(c)
	rest.Nodes = nil
	parts := []*stowagev1.Cluster{rest}
	for i := 0; i < len(c.Nodes); i += 3 {
		parts = append(parts, &stowagev1.Cluster{Nodes: c.Nodes[i:min(i+3, len(c.Nodes))]})
	}
	for _, part := range parts {
		if err := stream.Send(&stowagev1.PutSnapshotRequest{
			Step: &stowagev1.PutSnapshotRequest_Part{Part: part},
		}); err != nil {
			break // CloseAndRecv returns the reason
		}
	}
	_ = stream.Send(&stowagev1.PutSnapshotRequest{
		Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}},
	})
	answer, err := stream.CloseAndRecv()
	return answer.GetAddress(), err
}

// another returns a cluster that differs from c in everything that a delta can change, and the delta that leads to c.
func another(c *stowagev1.Cluster) (base *stowagev1.Cluster, delta *stowagev1.ClusterDelta) {
	rng := rand.New(rand.NewPCG(uint64(len(c.Nodes)), uint64(len(c.PodTemplates))))
	base, delta = &stowagev1.Cluster{}, &stowagev1.ClusterDelta{}
	// The last templates are new.
	known := rng.IntN(len(c.PodTemplates) + 1)
	base.PodTemplates = c.PodTemplates[:known]
	for i, t := range c.PodTemplates[known:] {
		delta.PodTemplates = append(delta.PodTemplates, &stowagev1.IndexedPodTemplate{Index: uint32(known + i), Template: t})
	}
	base.NodeClasses = c.NodeClasses
	// The last nodes are new, and of the others some go, some lose or get pods, and some are something else.
	there := rng.IntN(len(c.Nodes) + 1)
	for i, n := range c.Nodes {
		if rng.IntN(3) == 0 {
			gone := &stowagev1.Node{Name: fmt.Sprint("gone-", i), Labels: map[string]string{"gone": "soon"}}
			base.Nodes = append(base.Nodes, gone)
			delta.RemovedNodes = append(delta.RemovedNodes, gone.Name)
		}
		if i >= there {
			delta.Nodes = append(delta.Nodes, n)
			continue
		}
		old := &stowagev1.Node{Name: n.Name}
		switch rng.IntN(3) {
		case 0:
			if !refersTo(n, known) {
				old = n
				break
			}
			fallthrough
		case 1:
			delta.Nodes = append(delta.Nodes, n)
		default:
			old = proto.CloneOf(n)
			old.PodCounts, old.Pods, old.NominatedPods = nil, nil, nil
			change := &stowagev1.NodePodsDelta{NodeName: n.Name, PodCounts: n.PodCounts, Pods: n.Pods, NominatedPods: n.NominatedPods}
			if len(n.NominatedPods) > 0 && known > 0 {
				gone := &stowagev1.Pod{Name: "gone", Source: &stowagev1.Pod_TemplateIndex{}}
				old.NominatedPods = append(old.NominatedPods, gone)
				change.RemovedNominatedPods = append(change.RemovedNominatedPods, &stowagev1.NamespacedName{
					Namespace: c.PodTemplates[0].Namespace, Name: gone.Name,
				})
			}
			delta.NodePods = append(delta.NodePods, change)
		}
		base.Nodes = append(base.Nodes, old)
	}
	for i, n := range c.Namespaces {
		if i%2 == 0 {
			delta.Namespaces = append(delta.Namespaces, n)
			n = &stowagev1.Namespace{Name: n.Name, Labels: map[string]string{"other": "labels"}}
		}
		base.Namespaces = append(base.Namespaces, n)
	}
	gone := &stowagev1.Namespace{Name: "gone"}
	base.Namespaces = append(base.Namespaces, gone)
	delta.RemovedNamespaces = append(delta.RemovedNamespaces, gone.Name)
	for i, w := range c.WorkloadSelectors {
		if i%2 == 0 {
			delta.WorkloadSelectors = append(delta.WorkloadSelectors, w)
		} else {
			base.WorkloadSelectors = append(base.WorkloadSelectors, w)
		}
	}
	extra := &stowagev1.WorkloadSelector{Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, Name: "gone"}
	base.WorkloadSelectors = append(base.WorkloadSelectors, extra)
	delta.RemovedWorkloadSelectors = append(delta.RemovedWorkloadSelectors,
		&stowagev1.WorkloadSelectorName{Kind: extra.Kind, Name: extra.Name})
	for i, p := range c.PodDisruptionBudgets {
		if i%2 == 0 {
			delta.PodDisruptionBudgets = append(delta.PodDisruptionBudgets, p)
			p = &stowagev1.PodDisruptionBudget{Namespace: p.Namespace, Name: p.Name, DisruptedPods: []string{"other"}}
		}
		base.PodDisruptionBudgets = append(base.PodDisruptionBudgets, p)
	}
	delta.PodGroups, delta.StorageClasses, delta.CsiDrivers = c.PodGroups, c.StorageClasses, c.CsiDrivers
	delta.CsiStorageCapacities, delta.PersistentVolumes = c.CsiStorageCapacities, c.PersistentVolumes
	delta.PersistentVolumeClaims = c.PersistentVolumeClaims
	base.PodDisruptionBudgets = append(base.PodDisruptionBudgets, &stowagev1.PodDisruptionBudget{Name: "gone"})
	delta.RemovedPodDisruptionBudgets = append(delta.RemovedPodDisruptionBudgets, &stowagev1.NamespacedName{Name: "gone"})
	return base, delta
}

// refersTo reports whether a node has pods of a template from an index on.
func refersTo(n *stowagev1.Node, template int) bool {
	for _, c := range n.PodCounts {
		if int(c.TemplateIndex) >= template {
			return true
		}
	}
	for _, p := range slices.Concat(n.Pods, n.NominatedPods) {
		if source, ok := p.Source.(*stowagev1.Pod_TemplateIndex); ok && int(source.TemplateIndex) >= template {
			return true
		}
	}
	return false
}
