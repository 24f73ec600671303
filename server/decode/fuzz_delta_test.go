package decode_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/proto/content/contenttest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// deltasOn returns deltas that change everything a delta can change.
func deltasOn(base *stowagev1.Cluster) []*stowagev1.ClusterDelta {
	return []*stowagev1.ClusterDelta{
		{},
		{RemovedNodes: []string{"b"}, Nodes: []*stowagev1.Node{{Name: "d", ClassIndex: proto.Uint32(0)}, {Name: "c"}}},
		{NodePods: []*stowagev1.NodePodsDelta{{
			NodeName:         "a",
			RemovedPodCounts: []*stowagev1.PodCount{{Count: 2, Terminating: true}},
			RemovedPods:      []*stowagev1.NamespacedName{{Namespace: "prod", Name: "web-1-x"}, {Name: "own"}},
			PodCounts:        []*stowagev1.PodCount{{Count: 1}},
			Pods:             []*stowagev1.Pod{{Name: "new", Source: &stowagev1.Pod_TemplateIndex{}}},
		}}},
		{NodePods: []*stowagev1.NodePodsDelta{{
			NodeName:             "a",
			RemovedNominatedPods: []*stowagev1.NamespacedName{{Namespace: "prod", Name: "web-1-y"}},
			NominatedPods: []*stowagev1.Pod{
				{Name: "web-1-y", Source: &stowagev1.Pod_TemplateIndex{}},
				{Name: "own", Source: &stowagev1.Pod_Template{Template: base.PodTemplates[0]}},
			},
		}}},
		{NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a", NominatedPods: base.Nodes[0].NominatedPods[:1]}}},
		{
			PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 1, Template: base.PodTemplates[0]}, {Template: base.PodTemplates[0]}},
			NodeClasses:  []*stowagev1.IndexedNodeClass{{NodeClass: &stowagev1.NodeClass{Labels: map[string]string{"zone": "z9"}}}},
			Nodes:        []*stowagev1.Node{{Name: "a", PodCounts: []*stowagev1.PodCount{{TemplateIndex: 1, Count: 7}}}, {Name: "c"}},
		},
		{
			RemovedNamespaces: []string{base.Namespaces[0].Name},
			Namespaces:        []*stowagev1.Namespace{{Name: "x", Labels: map[string]string{"a": "b"}}},
			RemovedWorkloadSelectors: []*stowagev1.WorkloadSelectorName{{
				Kind: base.WorkloadSelectors[0].Kind, Namespace: base.WorkloadSelectors[0].Namespace, Name: base.WorkloadSelectors[0].Name,
			}},
			WorkloadSelectors: []*stowagev1.WorkloadSelector{{
				Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_STATEFUL_SET, Name: "s", Selector: selector("web"),
			}},
		},
		{
			RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Name: "web"}, {Namespace: "prod", Name: "all"}},
			PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{
				{Name: "web-2", Selector: selector("web")}, {Namespace: "prod", Name: "web", DisruptedPods: []string{"b", "a", "b"}},
			},
		},
		{
			RemovedStorageClasses: []string{"slow"}, StorageClasses: []*stowagev1.StorageClass{{Name: "fast"}, {Name: "new"}},
			RemovedCsiDrivers: []string{"files.example"}, CsiDrivers: []*stowagev1.CSIDriver{{Name: "disks.example"}},
			RemovedCsiStorageCapacities:   []*stowagev1.NamespacedName{{Namespace: "kube-system", Name: "room"}},
			CsiStorageCapacities:          []*stowagev1.CSIStorageCapacity{{Namespace: "default", Name: "room"}},
			RemovedPersistentVolumes:      []string{"pv-1"},
			PersistentVolumes:             []*stowagev1.PersistentVolume{{Name: "pv-2"}, {Name: "pv-3", Available: true}},
			RemovedPersistentVolumeClaims: []*stowagev1.NamespacedName{{Name: "data-0"}},
			PersistentVolumeClaims:        []*stowagev1.PersistentVolumeClaim{{Namespace: "prod", Name: "data-0", VolumeName: "pv-1"}},
		},
		{
			RemovedDeviceTypes: []string{"plain"}, DeviceTypes: []*stowagev1.DeviceType{{Name: "h200"}, {Name: "new"}},
			RemovedDeviceExpressions: []string{"is-old"}, DeviceExpressions: []*stowagev1.DeviceExpression{{Name: "is-gpu"}, {Name: "new"}},
			RemovedDeviceClasses: []string{"plain"}, DeviceClasses: []*stowagev1.DeviceClass{{Name: "gpu"}},
			RemovedResourceSlices: []string{"shared"},
			ResourceSlices:        []*stowagev1.ResourceSlice{{Name: "b-gpus", Driver: "gpu.example.com", Pool: "b", NodeName: "b"}},
			RemovedResourceClaims: []*stowagev1.NamespacedName{{Name: "shared"}},
			ResourceClaims:        []*stowagev1.ResourceClaim{{Namespace: "prod", Name: "shared", Spec: resourceClaimSpec()}},
		},
		{NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a", Pods: base.Nodes[0].Pods}}},
		{Nodes: []*stowagev1.Node{{Name: "d", PodCounts: []*stowagev1.PodCount{{Count: 1}, {}}}}},
		{NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a", PodCounts: []*stowagev1.PodCount{{Count: 1}, {}}}}},
		{RemovedNodes: []string{"unknown"}},
		{NodePods: []*stowagev1.NodePodsDelta{{NodeName: "c", Pods: []*stowagev1.Pod{{Name: "of none", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 32}}}}}},
	}
}

// FuzzDelta decodes an arbitrary delta on an arbitrary cluster, and compares with decoding the whole cluster that simple
// code makes of both: the same address, the same answers. A delta is refused where that is, too.
func FuzzDelta(f *testing.F) {
	base := request().GetContext().GetCluster()
	base.PodTemplates[0].Spec.NodeName = ""
	for _, d := range deltasOn(base) {
		f.Add(marshal(f, base), marshal(f, d))
		for _, w := range widened(marshal(f, d), d.ProtoReflect().Descriptor()) {
			f.Add(marshal(f, base), w.raw)
		}
	}
	f.Fuzz(func(t *testing.T, clusterBytes, deltaBytes []byte) {
		stated, delta := &stowagev1.Cluster{}, &stowagev1.ClusterDelta{}
		if len(clusterBytes)+len(deltaBytes) > 1<<16 || proto.Unmarshal(clusterBytes, stated) != nil || decode.Unmarshal(deltaBytes, delta) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		base, err := decodeWhole(ctx, stated)
		if err != nil {
			return
		}
		before, address := proto.Clone(delta), base.Content.Address()
		ordered, err := base.Content.Cluster()
		if err != nil {
			t.Fatal(err)
		}
		r := decode.On(ctx, base)
		r.Delta("delta", delta)
		if !proto.Equal(before, delta) {
			t.Error("the delta was changed")
		}
		result, ok := contenttest.Apply(ordered, delta)
		var want *decode.Snapshot
		refused := error(nil)
		if ok {
			want, refused = decodeWhole(ctx, result)
		}
		if ctx.Err() != nil {
			return
		}
		switch err := r.Err(); {
		case err != nil:
			if ok && refused == nil && !unseen(base, delta) {
				t.Errorf("the delta is refused: %v\n%v\non\n%v", err, delta, ordered)
			}
			return
		case !ok:
			t.Fatalf("the delta does not fit, and was taken:\n%v\non\n%v", delta, ordered)
		case refused != nil:
			t.Fatalf("the delta leads to a cluster that is refused: %v\n%v\non\n%v", refused, delta, ordered)
		}
		got := r.Cluster()
		if of, err := content.Of(result); err != nil || got.Content.Address() != of.Address() {
			t.Errorf("the address is %s, that of the content %v, %v", got.Address, of.Address(), err)
		}
		if got.Address != want.Address || got.Content.Address() != want.Content.Address() {
			t.Errorf("the address is %s, decoded whole %s", got.Address, want.Address)
		}
		if base.Content.Address() != address {
			t.Error("the base was changed")
		}
		for _, pod := range []*stowagev1.Pod{
			{Source: &stowagev1.Pod_Template{Template: request().GetContext().GetCluster().PodTemplates[0]}},
			{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}},
			{Source: &stowagev1.Pod_TemplateIndex{}},
		} {
			if diff := cmp.Diff(answers(ctx, want, pod), answers(ctx, got, pod)); diff != "" && ctx.Err() == nil {
				t.Errorf("the answers differ (-whole +delta):\n%s\n%v\non\n%v", diff, delta, ordered)
			}
		}
	})
}

func marshal(f testing.TB, m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func decodeWhole(ctx context.Context, c *stowagev1.Cluster) (*decode.Snapshot, error) {
	r := decode.NewRequest(ctx)
	r.Message(c)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.Cluster(), nil
}

func answers(ctx context.Context, c *decode.Snapshot, pod *stowagev1.Pod) []any {
	r := decode.On(ctx, c)
	filter := r.Filter(&stowagev1.FilterRequest{Pod: pod, Explain: true})
	score := r.Score(&stowagev1.ScoreRequest{Pod: pod})
	preempt := r.Preempt(&stowagev1.PreemptRequest{Pod: pod, IncludeCandidates: true})
	if err := r.Err(); err != nil {
		return []any{err.Error()}
	}
	feasible, err := c.Filter(ctx, filter.Pod, filter.Options)
	if err != nil {
		return []any{err.Error()}
	}
	scores, err := c.Score(ctx, score.Pod, score.Options)
	if err != nil {
		return []any{err.Error()}
	}
	victims, err := c.Filter(ctx, preempt.Pod, preempt.Options)
	if err != nil {
		return []any{err.Error()}
	}
	return []any{feasible, scores, victims}
}

// unseen reports whether a delta has parts that may be malformed without a trace in what it leads to: what it removes, and
// what it sets more than once.
func unseen(base *decode.Snapshot, d *stowagev1.ClusterDelta) bool {
	templates := base.Content.List(content.PodTemplates).Len() + len(d.PodTemplates)
	for _, n := range d.NodePods {
		for _, c := range n.RemovedPodCounts {
			if c.Count == 0 || int(c.TemplateIndex) >= templates {
				return true
			}
		}
		for _, p := range slices.Concat(n.RemovedPods, n.RemovedNominatedPods) {
			if p.Name == "" {
				return true
			}
		}
	}
	set := make(map[[2]uint32]bool)
	for _, t := range d.PodTemplates {
		set[[2]uint32{0, t.Index}] = true
	}
	for _, c := range d.NodeClasses {
		set[[2]uint32{1, c.Index}] = true
	}
	return len(set) < len(d.PodTemplates)+len(d.NodeClasses)
}
