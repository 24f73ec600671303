package decode

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// DistinctTopologyKeys is the limit in tests, so that few deltas reach it. Clusters of tests are too small for the limit by
// nodes.
const DistinctTopologyKeys = 256

func init() { nameLimits[topologyKey].limit = DistinctTopologyKeys }

// LimitTopologyCells changes the limit of topology keys times nodes, and returns what restores it.
func LimitTopologyCells(cells int) (restore func()) {
	nameLimits[topologyKey].cells = cells
	return func() { nameLimits[topologyKey].cells = MaxTopologyCells }
}

// gathered gathers a decoded cluster, as the engine gets it.
type gathered struct{ api.Cluster }

func (s *gathered) Grow(int)                       {}
func (s *gathered) AddTemplate(t *api.PodTemplate) { s.Templates = append(s.Templates, t) }
func (s *gathered) AddClass(c *api.NodeClass)      { s.Classes = append(s.Classes, c) }
func (s *gathered) AddNamespace(n api.Namespace)   { s.Namespaces = append(s.Namespaces, n) }
func (s *gathered) AddWorkloadSelector(w api.WorkloadSelector) {
	s.WorkloadSelectors = append(s.WorkloadSelectors, w)
}

func (s *gathered) AddPodDisruptionBudget(p api.PodDisruptionBudget) {
	s.Budgets = append(s.Budgets, p)
}

func (s *gathered) AddPodGroup(g api.PodGroup) { s.PodGroups = append(s.PodGroups, g) }

func (s *gathered) Preparer() func(*engine.Draft, *api.Node) {
	return func(*engine.Draft, *api.Node) {}
}

func (s *gathered) AddDraft(ctx context.Context, _ *engine.Draft, n *api.Node) error {
	return s.AddNode(ctx, n)
}

// AddNode copies what is only lent, down to the strings.
func (s *gathered) AddNode(_ context.Context, n *api.Node) error {
	out := *n
	out.Name = strings.Clone(n.Name)
	out.Labels = clone(n.Labels, cloneLabel)
	out.Taints = clone(n.Taints, func(t *api.Taint) { t.Key, t.Value = strings.Clone(t.Key), strings.Clone(t.Value) })
	out.Allocatable = clone(n.Allocatable, func(q *api.Quantity) { q.Resource = strings.Clone(q.Resource) })
	out.Images = clone(n.Images, func(i *api.Image) {
		i.Names = clone(i.Names, cloneText)
	})
	out.CSINode, out.AttachedVolumes = cloneCSINode(n.CSINode), clone(n.AttachedVolumes, cloneText)
	out.PodCounts = slices.Clone(n.PodCounts)
	out.Pods, out.Nominated = clone(n.Pods, clonePod), clone(n.Nominated, clonePod)
	s.Nodes = append(s.Nodes, out)
	return nil
}

// SetStorage is of the sink.
func (s *gathered) SetStorage(of api.Storage) { s.Storage = of }

// SetDevices is of the sink.
func (s *gathered) SetDevices(of api.Devices) { s.Devices = of }

func cloneCSINode(n *api.CSINode) *api.CSINode {
	if n == nil {
		return nil
	}
	drivers := clone(n.Drivers, func(d *api.CSINodeDriver) { cloneText(&d.Name) })
	return &api.CSINode{Drivers: drivers, MigratedPlugins: clone(n.MigratedPlugins, cloneText)}
}

func cloneText(s *string) { *s = strings.Clone(*s) }

func clonePod(p *api.Pod) {
	p.Name = strings.Clone(p.Name)
	p.Labels = clone(p.Labels, cloneLabel)
}

func cloneLabel(l *api.Label) { l.Key, l.Value = strings.Clone(l.Key), strings.Clone(l.Value) }

func clone[S ~[]E, E any](s S, each func(*E)) S {
	s = slices.Clone(s)
	for i := range s {
		each(&s[i])
	}
	return s
}

// collect begins a request whose cluster is gathered and not compiled.
func collect() (*Request, *gathered) {
	s := &gathered{}
	return &Request{decoder: decoder{ctx: context.Background(), to: s, content: new(content.Builder)}}, s
}

// whole decodes the cluster of a context.
func (r *Request) whole(in *stowagev1.DecisionContext) {
	if r.Based(in); in.GetBase() != nil {
		r.Message(in.GetCluster())
	}
}

// WholeFilter is a FilterRequest with its cluster.
type WholeFilter struct {
	Cluster *api.Cluster
	Pod     *api.Pod
	Options engine.FilterOptions
}

// Filter decodes a whole request from its message.
func Filter(in *stowagev1.FilterRequest) (*WholeFilter, error) {
	r, s := collect()
	r.whole(in.GetContext())
	call := r.Filter(in)
	if err := r.Err(); err != nil {
		return nil, err
	}
	r.finish()
	call.Options.Key = "" // TestKey is about these
	return &WholeFilter{&s.Cluster, call.Pod, call.Options}, nil
}

// WholeScore is a ScoreRequest with its cluster.
type WholeScore struct {
	Cluster *api.Cluster
	Pod     *api.Pod
	Options engine.ScoreOptions
}

// Score decodes a whole request from its message.
func Score(in *stowagev1.ScoreRequest) (*WholeScore, error) {
	r, s := collect()
	r.whole(in.GetContext())
	call := r.Score(in)
	if err := r.Err(); err != nil {
		return nil, err
	}
	r.finish()
	call.Options.Key = ""
	return &WholeScore{&s.Cluster, call.Pod, call.Options}, nil
}

// WholePlace is a PlaceRequest with its cluster.
type WholePlace struct {
	Cluster *api.Cluster
	Queue   []engine.Pending
	Options engine.PlaceOptions
}

// Place decodes a whole request from its message.
func Place(in *stowagev1.PlaceRequest) (*WholePlace, error) {
	r, s := collect()
	r.whole(in.GetContext())
	call := r.Place(in)
	if err := r.Err(); err != nil {
		return nil, err
	}
	r.finish()
	return &WholePlace{&s.Cluster, call.Queue, call.Options}, nil
}

// Decoded is a cluster and its address, and how many of its nodes were read without becoming messages.
type Decoded struct {
	Cluster *api.Cluster
	Address content.Address
}

// Wire decodes a cluster from the wire, cut into pieces; to be kept or for itself.
func Wire(pieces wire.Pieces, keep bool) (*Decoded, error) {
	r, s := collect()
	r.content.AddressOnly = !keep
	r.Part("context.cluster", pieces)
	return r.decoded(s)
}

// InParts decodes parts of a cluster while they come, or one after the other.
func InParts(ctx context.Context, follow bool, next func() *wire.Request) (*Decoded, error) {
	r, s := collect()
	r.ctx = ctx
	if follow {
		r.Parts("part", next)
		return r.decoded(s)
	}
	for in := next(); in != nil; in = next() {
		r.Part("part", in.Cluster)
		in.Free()
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	return r.decoded(s)
}

// Message decodes a cluster from its message.
func Message(in *stowagev1.Cluster) (*Decoded, error) {
	r, s := collect()
	r.Message(in)
	return r.decoded(s)
}

func (r *Request) decoded(s *gathered) (*Decoded, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	r.finish()
	return &Decoded{&s.Cluster, r.content.Build().Address()}, nil
}

// MaxNodeless is how many clusters without nodes are remembered.
const MaxNodeless = maxNodeless

// Len is how many are remembered.
func (l *Nodeless) Len() int {
	if list := l.published.Load(); list != nil {
		return len(*list)
	}
	return 0
}

// AskedFilter decodes what a FilterRequest asks of no nodes, a being its pod if that is not nil.
func AskedFilter(in *stowagev1.FilterRequest, a *RequestPods) (FilterCall, error) {
	r, _ := collect()
	r.Ask(a)
	call := r.Filter(in)
	return call, r.Err()
}

// Drop decodes a cluster from the wire, to be kept or for its address alone, and drops what the engine would get.
func Drop(pieces wire.Pieces, keep bool) (content.Address, error) {
	r := &Request{decoder: decoder{ctx: context.Background(), to: nowhere{}, content: &content.Builder{AddressOnly: !keep}}}
	r.Part("cluster", pieces)
	if err := r.Err(); err != nil {
		return content.Address{}, err
	}
	return r.content.Build().Address(), nil
}
