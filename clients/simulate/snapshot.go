package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options configure a Snapshot.
type Options struct {
	// Profile is the profile to decide by, kube-scheduler's default if nil. The caller must not change it afterwards.
	Profile *stowagev1.Profile
}

// Snapshot is a cluster in which pods are scheduled and evicted. See the package documentation.
type Snapshot struct {
	client   *stowage.Client
	profile  *stowagev1.Profile
	firstFit *stowagev1.Profile
	base     *base
	now      state
	marks    []state // of open transactions
}

// Objects builds a cluster for New from nodes and pods. For more kinds of objects, use a kube.Builder without CountPods. An object
// that does not convert affects only itself, and is in the Misreads of the result.
func Objects(nodes []*corev1.Node, pods []*corev1.Pod) (*kube.Snapshot, error) {
	b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler})
	for _, n := range nodes {
		b.From("Node " + n.Name)
		if err := misread(b.AddNode(n)); err != nil {
			return nil, err
		}
	}
	for _, p := range pods {
		b.From("Pod " + keyOfPod(p))
		if err := misread(b.AddPod(p)); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// misread drops the error of an object that the builder records.
func misread(err error) error {
	if _, ok := errors.AsType[*kube.Misread](err); ok {
		return nil
	}
	return err
}

// maximumRefusals bounds the retries of a put without rejected objects. Each error names up to 32 fields.
const maximumRefusals = 100

// New puts a cluster and returns its snapshot. Afterwards only the Misreads of the cluster may be used; New adds the objects that
// the server rejects. Pending pods of the cluster are not in the snapshot unless they are nominated to a node.
func New(ctx context.Context, client *stowage.Client, cluster *kube.Snapshot, o Options) (*Snapshot, error) {
	a := &anchor{}
	for refusals := 0; ; refusals++ {
		var err error
		if a.snapshot, err = stowage.NewSnapshot(cluster.Cluster); err != nil {
			return nil, err
		}
		if err = client.Put(ctx, a.snapshot); err == nil {
			break
		}
		var violations []kube.Violation
		for _, v := range stowage.Details(err).Violations {
			violations = append(violations, kube.Violation{Field: strings.TrimPrefix(v.Field, "part."), Description: v.Description})
		}
		if refusals == maximumRefusals || !cluster.Refuse(violations) {
			return nil, err
		}
	}
	a.put.Store(true)
	s := &Snapshot{client: client, profile: o.Profile, firstFit: unscored(o.Profile)}
	var err error
	if s.base, err = newBase(cluster); err != nil {
		return nil, err
	}
	s.now = state{order: &order{}, count: uint32(len(cluster.Cluster.PodTemplates))}
	for _, n := range cluster.Cluster.Nodes {
		s.now.order.names = append(s.now.order.names, n.Name)
	}
	a.was = s.now
	s.now.anchor = a
	return s, nil
}

// unscored returns a profile without scores.
func unscored(p *stowagev1.Profile) *stowagev1.Profile {
	out := &stowagev1.Profile{}
	if p != nil {
		out = proto.Clone(p).(*stowagev1.Profile)
	}
	out.PluginWeights = nil
	for _, plugin := range []stowagev1.Plugin{
		stowagev1.Plugin_PLUGIN_TAINT_TOLERATION, stowagev1.Plugin_PLUGIN_NODE_AFFINITY,
		stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT, stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD,
		stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION,
		stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY, stowagev1.Plugin_PLUGIN_VOLUME_BINDING,
	} {
		out.PluginWeights = append(out.PluginWeights, &stowagev1.PluginWeight{Plugin: plugin, Weight: proto.Int32(0)})
	}
	return out
}

func newBase(cluster *kube.Snapshot) (*base, error) {
	b := &base{
		cluster: cluster, nodes: map[string]bool{}, pods: map[string]*placed{}, on: map[string][]*placed{},
		groups: map[string][]*placed{}, nominated: map[string]string{}, templates: map[string]*stowagev1.IndexedPodTemplate{},
	}
	b.claims = make(map[string]*stowagev1.PersistentVolumeClaim, len(cluster.Cluster.PersistentVolumeClaims))
	for _, c := range cluster.Cluster.PersistentVolumeClaims {
		b.claims[keyOf(c.Namespace, c.Name)] = c
	}
	b.volumes = make(map[string]*stowagev1.PersistentVolume, len(cluster.Cluster.PersistentVolumes))
	for _, v := range cluster.Cluster.PersistentVolumes {
		b.volumes[v.Name] = v
	}
	templates := make([]*stowagev1.IndexedPodTemplate, len(cluster.Cluster.PodTemplates))
	for i, t := range cluster.Cluster.PodTemplates {
		key, err := encoding(t)
		if err != nil {
			return nil, fmt.Errorf("pod_templates[%d]: %w", i, err)
		}
		templates[i] = &stowagev1.IndexedPodTemplate{Index: uint32(i), Template: t}
		b.templates[key] = templates[i]
	}
	for i, n := range cluster.Cluster.Nodes {
		b.nodes[n.Name] = true
		pods, err := cluster.PodsOn(i)
		if err != nil {
			return nil, err
		}
		for object, pod := range pods {
			if object.Name == "" {
				continue // it keeps its node
			}
			p := &placed{
				object: object, key: keyOfPod(object), node: n.Name, group: convert.PodGroupName(object),
				template: templates[pod.GetTemplateIndex()], pod: pod,
			}
			b.pods[p.key] = p
			b.on[n.Name] = append(b.on[n.Name], p)
			if p.group != "" {
				b.groups[p.group] = append(b.groups[p.group], p)
			}
		}
		for _, p := range n.NominatedPods {
			b.nominated[keyOf(cluster.Cluster.PodTemplates[p.GetTemplateIndex()].Namespace, p.Name)] = n.Name
		}
	}
	return b, nil
}

// Fork returns another snapshot with the same nodes and pods, at a cost that does not depend on their number. The two are then
// independent, and may be used by different goroutines. Open transactions stay with s.
func (s *Snapshot) Fork() *Snapshot {
	out := *s
	out.marks = nil
	return &out
}

// ForkWith is Fork with other options: its decisions are by another profile.
func (s *Snapshot) ForkWith(o Options) *Snapshot {
	out := s.Fork()
	out.profile, out.firstFit = o.Profile, unscored(o.Profile)
	return out
}

// Adopt gives s the nodes and pods of a related fork. Open transactions of s stay open, and Revert also undoes Adopt.
func (s *Snapshot) Adopt(fork *Snapshot) error {
	if fork.base != s.base {
		return errors.New("the snapshots are not forks of one another")
	}
	s.now = fork.now
	return nil
}

// Begin opens a transaction, inside the open transaction if there is one.
func (s *Snapshot) Begin() { s.marks = append(s.marks, s.now) }

// ErrNoTransaction is the error of Commit and Revert without a Begin.
var ErrNoTransaction = errors.New("no transaction is open")

// Commit closes the last open transaction and keeps its changes. An outer transaction may still revert them.
func (s *Snapshot) Commit() error {
	_, err := s.close()
	return err
}

// Revert closes the last open transaction and undoes its changes, including committed inner transactions.
func (s *Snapshot) Revert() error {
	mark, err := s.close()
	if err == nil {
		s.now = mark
	}
	return err
}

func (s *Snapshot) close() (mark state, err error) {
	last := len(s.marks) - 1
	if last < 0 {
		return mark, ErrNoTransaction
	}
	mark = s.marks[last]
	s.marks = slices.Delete(s.marks, last, last+1)
	return mark, nil
}

// Open is the number of open transactions.
func (s *Snapshot) Open() int { return len(s.marks) }

// ErrRevert makes Transaction revert without an error.
var ErrRevert = errors.New("revert")

// Transaction runs do in a transaction. It commits if do returns nil, and reverts if do returns an error or panics. It also closes
// transactions that do leaves open. For ErrRevert it returns nil.
func (s *Snapshot) Transaction(do func() error) (err error) {
	depth, mark := len(s.marks), s.now
	done := false
	s.Begin()
	defer func() {
		if len(s.marks) > depth {
			clear(s.marks[depth:])
			s.marks = s.marks[:depth]
		}
		if !done || err != nil {
			s.now = mark
		}
		if errors.Is(err, ErrRevert) {
			err = nil
		}
	}()
	err = do()
	done = true
	return err
}

// NodeNames returns the names of the nodes in the order that breaks ties. The caller must not change them.
func (s *Snapshot) NodeNames() []string { return s.now.order.names }

// HasNode reports whether the snapshot has a node.
func (s *Snapshot) HasNode(name string) bool { return s.base.node(&s.now, name) }

// NodeOf returns the node of a pod, "" for none.
func (s *Snapshot) NodeOf(namespace, name string) string {
	if p := s.base.find(&s.now, keyOf(namespace, name)); p != nil {
		return p.node
	}
	return ""
}

// PodsOn returns the pods of a node, as added or scheduled. Their spec.nodeName may be empty. The caller must not change them.
func (s *Snapshot) PodsOn(node string) (out []*corev1.Pod) {
	for _, p := range s.base.podsOn(&s.now, node) {
		out = append(out, p.object)
	}
	return out
}

// maximumChanges bounds a delta, which every request carries and applies; a larger delta becomes part of a new snapshot. With pods
// scheduled one by one among 1,000 nodes by an embedded server, 8 is the fastest, 16 takes 1.3 times as long, 64 twice as long and
// 512 ten times (BenchmarkScheduleTemplate). Puts to a remote server take longer, which favours larger deltas.
const maximumChanges = 16

// context puts the snapshot that requests refer to, and returns their context. fresh are templates of the request alone.
func (s *Snapshot) context(ctx context.Context, profile *stowagev1.Profile, fresh []*stowagev1.PodTemplate) (
	*stowagev1.DecisionContext, error,
) {
	d := s.base.delta(&s.now)
	if s.now.changes > maximumChanges {
		if err := s.settle(d); err != nil {
			return nil, err
		}
		d = nil
	}
	if len(fresh) > 0 && d == nil {
		d = &stowagev1.ClusterDelta{}
	}
	for i, t := range fresh {
		d.PodTemplates = append(d.PodTemplates, &stowagev1.IndexedPodTemplate{Index: s.now.count + uint32(i), Template: t})
	}
	a := s.now.anchor
	if !a.put.Load() {
		if err := s.client.Put(ctx, a.snapshot); err != nil {
			return nil, err
		}
		a.put.Store(true)
	}
	reference := &stowagev1.SnapshotReference{Address: a.snapshot.Address(), Delta: d}
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: reference}, Profile: profile,
	}, nil
}

// settle makes the current state the anchor. d is its delta.
func (s *Snapshot) settle(d *stowagev1.ClusterDelta) error {
	a := &anchor{snapshot: s.now.anchor.snapshot}
	if d == nil {
		a.put.Store(s.now.anchor.put.Load())
	} else {
		var err error
		if a.snapshot, err = a.snapshot.With(d); err != nil {
			return err
		}
	}
	s.now.anchor, s.now.journal, s.now.changes = nil, nil, 0
	a.was = s.now
	s.now.anchor = a
	return nil
}

// ask calls with a context of the current state. If a server no longer has the snapshot, the client puts it again, or ask does if the
// client has forgotten it, too.
func (s *Snapshot) ask(ctx context.Context, profile *stowagev1.Profile, fresh []*stowagev1.PodTemplate,
	call func(*stowagev1.DecisionContext) error,
) error {
	about, err := s.context(ctx, profile, fresh)
	if err != nil {
		return err
	}
	err = call(about)
	if stowage.Details(err).Reason != stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT {
		return err
	}
	if err := s.client.Put(ctx, s.now.anchor.snapshot); err != nil {
		return err
	}
	return call(about)
}

// Settle puts what changed to the server as a part of the snapshot's cluster, as a long history does.
func (s *Snapshot) Settle() error { return s.settle(s.base.delta(&s.now)) }

// Changes is the number of changes that every request carries.
func (s *Snapshot) Changes() int { return s.now.changes }
