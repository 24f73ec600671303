package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// described computes the address as the package comment describes it. Namespaces and selectors must be in order.
func described(c *stowagev1.Cluster) Address {
	h := sha256.New()
	h.Write([]byte("stowage.v1.Cluster\x00"))
	root := func(n int, item func(int) protoreflect.ProtoMessage) {
		var digests, sum []byte
		for i := range n {
			digest := sha256.Sum256(reference(item(i).ProtoReflect()))
			digests = append(digests, digest[:]...)
		}
		sum = binary.BigEndian.AppendUint64(sum, uint64(n))
		for page := range slices.Chunk(digests, 256*32) {
			digest := sha256.Sum256(page)
			sum = append(sum, digest[:]...)
		}
		r := sha256.Sum256(sum)
		h.Write(r[:])
	}
	root(len(c.PodTemplates), func(i int) protoreflect.ProtoMessage { return c.PodTemplates[i] })
	root(len(c.NodeClasses), func(i int) protoreflect.ProtoMessage { return c.NodeClasses[i] })
	root(len(c.Nodes), func(i int) protoreflect.ProtoMessage { return c.Nodes[i] })
	root(len(c.Namespaces), func(i int) protoreflect.ProtoMessage { return c.Namespaces[i] })
	root(len(c.WorkloadSelectors), func(i int) protoreflect.ProtoMessage { return c.WorkloadSelectors[i] })
	if n := len(c.PodDisruptionBudgets); n > 0 {
		h.Write([]byte{0, 0, 0, 0, 0, 0, 0, 6})
		root(n, func(i int) protoreflect.ProtoMessage { return c.PodDisruptionBudgets[i] })
	}
	if n := len(c.PodGroups); n > 0 {
		h.Write([]byte{0, 0, 0, 0, 0, 0, 0, 7})
		root(n, func(i int) protoreflect.ProtoMessage { return c.PodGroups[i] })
	}
	if n := len(c.StorageClasses); n > 0 {
		h.Write([]byte{0, 0, 0, 0, 0, 0, 0, 8})
		root(n, func(i int) protoreflect.ProtoMessage { return c.StorageClasses[i] })
	}
	if n := len(c.CsiStorageCapacities); n > 0 {
		h.Write([]byte{0, 0, 0, 0, 0, 0, 0, 10})
		root(n, func(i int) protoreflect.ProtoMessage { return c.CsiStorageCapacities[i] })
	}
	if n := len(c.PersistentVolumeClaims); n > 0 {
		h.Write([]byte{0, 0, 0, 0, 0, 0, 0, 12})
		root(n, func(i int) protoreflect.ProtoMessage { return c.PersistentVolumeClaims[i] })
	}
	if n := len(c.ResourceClaims); n > 0 {
		h.Write([]byte{0, 0, 0, 0, 0, 0, 0, 17})
		root(n, func(i int) protoreflect.ProtoMessage { return c.ResourceClaims[i] })
	}
	return Address(h.Sum(nil))
}

// TestAddressStays compares with a recorded address: clients keep addresses across releases.
func TestAddressStays(t *testing.T) {
	cluster := &stowagev1.Cluster{
		PodTemplates: []*stowagev1.PodTemplate{{Namespace: "shop", Labels: map[string]string{"b": "2", "a": "1"}, Spec: &stowagev1.PodSpec{
			Priority: -7, Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{CpuMillis: proto.Int64(0)}}},
		}}},
		NodeClasses: []*stowagev1.NodeClass{{NameLabelKeys: []string{"hostname"}}},
		Nodes: []*stowagev1.Node{{
			Name: "n", ClassIndex: proto.Uint32(0), Taints: []*stowagev1.Taint{{Key: "k", Effect: 2}},
			PodCounts: []*stowagev1.PodCount{{Count: 2, Terminating: true}, {Count: 300}, {Count: 1}},
			Pods:      []*stowagev1.Pod{{Name: "z"}, {Name: "y", Source: &stowagev1.Pod_TemplateIndex{}}},
		}},
		Namespaces:        []*stowagev1.Namespace{{Name: "shop"}, {Name: "default"}},
		WorkloadSelectors: []*stowagev1.WorkloadSelector{{Kind: 1, Name: "s", Selector: &stowagev1.LabelSelector{}}},
	}
	check := func(want string) {
		t.Helper()
		c, err := Of(cluster)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Address().String(); got != want {
			t.Errorf("the address is %s, it was %s", got, want)
		}
	}
	check("7acef34954698a0898c0710fdf73e7d09efbf8371e9a51a57639daf64b537783")
	cluster.PodTemplates[0].Spec.PreemptionPolicy = stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY
	check("7acef34954698a0898c0710fdf73e7d09efbf8371e9a51a57639daf64b537783")
	cluster.PodTemplates[0].Spec.PreemptionPolicy = stowagev1.PreemptionPolicy_PREEMPTION_POLICY_NEVER
	cluster.Nodes[0].Pods[0].StartTime = &timestamppb.Timestamp{Seconds: 1_790_000_000, Nanos: 5}
	cluster.Nodes[0].Pods[0].Terminating, cluster.Nodes[0].Pods[0].Preempted = true, true
	cluster.PodDisruptionBudgets = []*stowagev1.PodDisruptionBudget{
		{Namespace: "shop", Name: "b", DisruptionsAllowed: -1, DisruptedPods: []string{"z", "y", "z"}},
		{Name: "b", Selector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"b": "2"}}},
	}
	check("0db05c88fa4a7fc686a47064e0fd02e3005f22e6d1eae5feeaa4977ff5281ff4")
	cluster.PodTemplates[0].Spec.SchedulingGroup = "g"
	cluster.PodGroups = []*stowagev1.PodGroup{{
		Name: "shop/g", MinCount: proto.Uint32(3), Priority: proto.Int32(0), Topology: &stowagev1.PodGroupTopology{Keys: []string{"rack"}},
		DisruptionMode: stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_ALL,
	}}
	check("ae28097cf76248bd366796641bfabe68ae6e8d623695158879b01c349ac6faf6")
}

func TestAddress(t *testing.T) {
	empty, err := Of(nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "b9150894e6f22210d0ab81c03d5fcb5c701802e36fa2b8252302bda7ab846d48"
	if got := empty.Address().String(); got != want {
		t.Errorf("without anything the address is %s, want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := &stowagev1.Cluster{
			PodTemplates: []*stowagev1.PodTemplate{{Namespace: "a"}, {}},
			NodeClasses:  []*stowagev1.NodeClass{{NameLabelKeys: []string{"k"}}},
			Namespaces:   []*stowagev1.Namespace{{Name: "a"}, {Name: "b"}},
			WorkloadSelectors: []*stowagev1.WorkloadSelector{
				{Kind: 1, Namespace: "c", Name: "b"}, {Kind: 1, Name: "a"}, {Kind: 1, Namespace: "default", Name: "b"},
				{Kind: 1, Namespace: "e", Name: "a"}, {Kind: 2, Namespace: "a", Name: "a"},
			},
		}
		for i := range rapid.SampledFrom([]int{0, 1, 255, 256, 257, 512, 700}).Draw(t, "nodes") {
			c.Nodes = append(c.Nodes, &stowagev1.Node{Name: fmt.Sprint("node-", i)})
		}
		if rapid.Bool().Draw(t, "budgets") {
			c.PodDisruptionBudgets = []*stowagev1.PodDisruptionBudget{
				{Namespace: "c", Name: "b"}, {Name: "a"}, {Namespace: "default", Name: "b", DisruptedPods: []string{"a", "b"}},
				{Namespace: "e", Name: "a"},
			}
		}
		if rapid.Bool().Draw(t, "groups") {
			c.PodGroups = []*stowagev1.PodGroup{{Name: "a/b"}, {Name: "a/c", Priority: new(int32(0))}, {Name: "b/a"}}
		}
		if rapid.Bool().Draw(t, "storage") {
			c.StorageClasses = []*stowagev1.StorageClass{{Name: "a", VolumeBindingMode: 2}, {Name: "b"}}
			c.CsiStorageCapacities = []*stowagev1.CSIStorageCapacity{
				{Namespace: "c", Name: "b"}, {Name: "a", Capacity: new(int64(0))}, {Namespace: "default", Name: "b"},
			}
			c.PersistentVolumeClaims = []*stowagev1.PersistentVolumeClaim{{Namespace: "c", Name: "b"}, {Name: "a"}, {Namespace: "e", Name: "a"}}
		}
		want := described(c)
		c.Namespaces = shuffled(t, c.Namespaces)
		c.WorkloadSelectors = shuffled(t, c.WorkloadSelectors)
		c.PodDisruptionBudgets = shuffled(t, c.PodDisruptionBudgets)
		c.PodGroups = shuffled(t, c.PodGroups)
		c.StorageClasses = shuffled(t, c.StorageClasses)
		c.CsiStorageCapacities = shuffled(t, c.CsiStorageCapacities)
		c.PersistentVolumeClaims = shuffled(t, c.PersistentVolumeClaims)
		if got := mustOf(t, c).Address(); got != want {
			t.Errorf("with %d nodes the address is %v, want %v", len(c.Nodes), got, want)
		}
	})
}

func TestParse(t *testing.T) {
	want := Address(sha256.Sum256([]byte("a")))
	if got, err := Parse(want.String()); err != nil || got != want {
		t.Errorf("Parse(%q) = %v, %v", want, got, err)
	}
	for _, s := range []string{
		"", want.String()[1:], want.String() + "0", strings.ToUpper(want.String()), " " + want.String()[1:],
		"g" + want.String()[1:],
	} {
		if got, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v", s, got)
		}
	}
}

// Clusters that differ anywhere have different addresses.
func TestAddressTellsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := (&sound{t: t}).cluster()
		if overflows(c) {
			return
		}
		before := mustOf(t, c)
		was := mustCluster(t, before)
		part := rapid.SampledFrom(parts(c)).Draw(t, "part")
		fill(t, part.ProtoReflect())
		after, err := Of(c)
		if err != nil {
			return // a duplicate name, or too many pods
		}
		if same := proto.Equal(was, mustCluster(t, after)); same != (before.Address() == after.Address()) {
			t.Errorf("same content: %t, addresses %v and %v", same, before.Address(), after.Address())
		}
	})
}

// parts returns the items of a cluster.
func parts(c *stowagev1.Cluster) (out []proto.Message) {
	c.ProtoReflect().Range(func(_ protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		for i := range v.List().Len() {
			out = append(out, v.List().Get(i).Message().Interface())
		}
		return true
	})
	return out
}

// Deltas on several pages of nodes.
func TestPages(t *testing.T) {
	named := func(i int) *stowagev1.Node { return &stowagev1.Node{Name: fmt.Sprint("node-", i)} }
	rapid.Check(t, func(t *rapid.T) {
		c := &stowagev1.Cluster{}
		for i := range rapid.IntRange(0, 3*pageSize).Draw(t, "nodes") {
			c.Nodes = append(c.Nodes, named(i))
		}
		content := mustOf(t, c)
		for round := range 3 {
			d := &stowagev1.ClusterDelta{}
			c = proto.Clone(c).(*stowagev1.Cluster)
			var stay []*stowagev1.Node
			for _, n := range c.Nodes {
				switch rapid.IntRange(0, 40).Draw(t, "fate") {
				case 0:
					d.RemovedNodes = append(d.RemovedNodes, n.Name)
					continue
				case 1:
					n.Unschedulable = !n.Unschedulable
					d.Nodes = append(d.Nodes, n)
				}
				stay = append(stay, n)
			}
			for i := range rapid.IntRange(0, pageSize).Draw(t, "more") {
				n := named(1_000*(round+1) + i)
				d.Nodes = append(d.Nodes, n)
				stay = append(stay, n)
			}
			next, _, err := content.Apply(context.Background(), d)
			if err != nil {
				t.Fatal(err)
			}
			before := c.Nodes
			c.Nodes = stay
			checkContent(t, next, c)
			if len(before) != content.Nodes().Len() || content.Address() != mustOf(t, mustCluster(t, content)).Address() {
				t.Error("the base changed")
			}
			content = next
		}
	})
}

func TestRefusals(t *testing.T) { //nolint:funlen // every refusal
	named := func(name string, template uint32) *stowagev1.Pod {
		return &stowagev1.Pod{Name: name, Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: template}}
	}
	base := &stowagev1.Cluster{
		PodTemplates: []*stowagev1.PodTemplate{{}, {Namespace: "other"}, {Namespace: "third"}},
		NodeClasses:  []*stowagev1.NodeClass{{}, {}},
		Nodes: []*stowagev1.Node{
			{
				Name: "a", ClassIndex: proto.Uint32(0), PodCounts: []*stowagev1.PodCount{{Count: 2}},
				NominatedPods: []*stowagev1.Pod{named("n", 0), named("n", 2)},
			},
			{Name: "b", Pods: []*stowagev1.Pod{named("p", 1)}},
		},
		Namespaces:           []*stowagev1.Namespace{{Name: "default"}},
		WorkloadSelectors:    []*stowagev1.WorkloadSelector{{Kind: 1, Name: "w"}},
		PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "b"}},
	}
	content, err := Of(base)
	if err != nil {
		t.Fatal(err)
	}
	type delta = stowagev1.ClusterDelta
	podsOf := func(d *stowagev1.NodePodsDelta) *delta { return &delta{NodePods: []*stowagev1.NodePodsDelta{d}} }
	for _, test := range []struct {
		delta *delta
		want  string
	}{
		{&delta{RemovedNodes: []string{"a", "c"}}, `removed_nodes[1]: node not found in the snapshot`},
		{&delta{RemovedNodes: []string{"a", "a"}}, `removed_nodes[1]: duplicates removed_nodes[0]`},
		{&delta{RemovedNodes: []string{"a"}, Nodes: []*stowagev1.Node{{Name: "a"}}}, `nodes[0].name: duplicates removed_nodes[0]`},
		{
			&delta{Nodes: []*stowagev1.Node{{Name: "a"}}, NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a"}}},
			`node_pods[0].node_name: duplicates nodes[0].name`,
		},
		{podsOf(&stowagev1.NodePodsDelta{NodeName: "c"}), `node_pods[0].node_name: node not found in the snapshot`},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "a", RemovedPodCounts: []*stowagev1.PodCount{{Count: 1}, {Count: 2}}}),
			`node_pods[0].removed_pod_counts[1].count: is 2, the node has only 1 of these pods`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "a", RemovedPodCounts: []*stowagev1.PodCount{{Count: 1, Terminating: true}}}),
			`node_pods[0].removed_pod_counts[0].count: is 1, the node has only 0 of these pods`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "a", PodCounts: []*stowagev1.PodCount{{Count: 1<<32 - 2}}}),
			`node_pods[0].pod_counts: add up to 4294967296 for template 0, at most 4294967295 are allowed`,
		},
		{
			&delta{Nodes: []*stowagev1.Node{{Name: "a", PodCounts: []*stowagev1.PodCount{{Count: 1<<32 - 1}, {Count: 1}}}}},
			`nodes[0].pod_counts: add up to 4294967296 for template 0, at most 4294967295 are allowed`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "b", RemovedPods: []*stowagev1.NamespacedName{
				{Namespace: "other", Name: "p"}, {Name: "p"}, {Name: "q"},
			}}),
			`node_pods[0].removed_pods[1]: pod not found on the node`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "b", RemovedPods: []*stowagev1.NamespacedName{
				{Namespace: "other", Name: "p"}, {Namespace: "other", Name: "p"},
			}}),
			`node_pods[0].removed_pods[1]: pod not found on the node`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "b", RemovedNominatedPods: []*stowagev1.NamespacedName{{Namespace: "other", Name: "p"}}}),
			`node_pods[0].removed_nominated_pods[0]: pod not nominated to the node`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "a", NominatedPods: []*stowagev1.Pod{named("p", 1), named("n", 0)}}),
			`node_pods[0].nominated_pods[1].name: duplicates another pod nominated to the node`,
		},
		{
			podsOf(&stowagev1.NodePodsDelta{NodeName: "b", NominatedPods: []*stowagev1.Pod{named("p", 1), named("p", 0), named("p", 0)}}),
			`node_pods[0].nominated_pods[2].name: duplicates another pod nominated to the node`,
		},
		{&delta{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 3}, {Index: 5}}}, `pod_templates[1].index: is 5, the next free one is 4`},
		{
			&delta{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 0}}},
			`pod_templates[0].index: is 0, a template in use by node "a", which the delta does not name`,
		},
		{
			&delta{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 1}}, RemovedNodes: []string{"a"}},
			`pod_templates[0].index: is 1, a template in use by node "b", which the delta does not name`,
		},
		{
			&delta{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 2}}, RemovedNodes: []string{"b"}},
			`pod_templates[0].index: is 2, a template in use by node "a", which the delta does not name`,
		},
		{&delta{NodeClasses: []*stowagev1.IndexedNodeClass{{Index: 3}}}, `node_classes[0].index: is 3, the next free one is 2`},
		{&delta{NodeClasses: []*stowagev1.IndexedNodeClass{{Index: 0}}}, `node_classes[0].index: is 0, the class of node "a", which the delta does not name`},
		{&delta{RemovedNamespaces: []string{"a"}}, `removed_namespaces[0]: Namespace not found in the snapshot`},
		{
			&delta{RemovedNamespaces: []string{"default"}, Namespaces: []*stowagev1.Namespace{{Name: "default"}}},
			`namespaces[0].name: duplicates removed_namespaces[0]`,
		},
		{
			&delta{RemovedWorkloadSelectors: []*stowagev1.WorkloadSelectorName{{Kind: 2, Name: "w"}}},
			`removed_workload_selectors[0]: WorkloadSelector not found in the snapshot`,
		},
		{
			&delta{WorkloadSelectors: []*stowagev1.WorkloadSelector{{Kind: 1, Name: "w"}, {Kind: 1, Namespace: "default", Name: "w"}}},
			`workload_selectors[1].name: duplicates workload_selectors[0].name`,
		},
		{&delta{RemovedStorageClasses: []string{"c"}}, `removed_storage_classes[0]: StorageClass not found in the snapshot`},
		{
			&delta{RemovedPersistentVolumes: []string{"v"}, PersistentVolumes: []*stowagev1.PersistentVolume{{Name: "v"}}},
			`removed_persistent_volumes[0]: PersistentVolume not found in the snapshot`,
		},
		{
			&delta{CsiDrivers: []*stowagev1.CSIDriver{{Name: "d"}, {Name: "d"}}},
			`csi_drivers[1].name: duplicates csi_drivers[0].name`,
		},
		{
			&delta{RemovedCsiStorageCapacities: []*stowagev1.NamespacedName{{Name: "b"}}},
			`removed_csi_storage_capacities[0]: CSIStorageCapacity not found in the snapshot`,
		},
		{
			&delta{PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{{Name: "c"}, {Namespace: "default", Name: "c"}}},
			`persistent_volume_claims[1].name: duplicates persistent_volume_claims[0].name`,
		},
		{
			&delta{RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Namespace: "other", Name: "b"}}},
			`removed_pod_disruption_budgets[0]: PodDisruptionBudget not found in the snapshot`,
		},
		{
			&delta{RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Name: "b"}, {Namespace: "default", Name: "b"}}},
			`removed_pod_disruption_budgets[1]: duplicates removed_pod_disruption_budgets[0]`,
		},
		{
			&delta{
				RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Name: "b"}},
				PodDisruptionBudgets:        []*stowagev1.PodDisruptionBudget{{Name: "b"}},
			},
			`pod_disruption_budgets[0].name: duplicates removed_pod_disruption_budgets[0]`,
		},
		{
			&delta{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "b", DisruptedPods: []string{"\xff"}}}},
			`pod_disruption_budgets[0]: contains invalid UTF-8`,
		},
		{&delta{Nodes: []*stowagev1.Node{{Name: "\xff"}}}, `nodes[0]: contains invalid UTF-8`},
		{&delta{NodeClasses: []*stowagev1.IndexedNodeClass{{Index: 2, NodeClass: &stowagev1.NodeClass{NameLabelKeys: []string{"\xff"}}}}}, `node_classes[0]: contains invalid UTF-8`},
	} {
		if _, _, err := content.Apply(context.Background(), test.delta); err == nil || err.Error() != test.want {
			t.Errorf("%v:\ngot  %v\nwant %s", test.delta, err, test.want)
		}
	}
	for _, allowed := range []*delta{
		nil,
		{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 0}}, Nodes: []*stowagev1.Node{{Name: "a"}}},
		{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 1}}, NodePods: []*stowagev1.NodePodsDelta{{NodeName: "b"}}},
		{NodeClasses: []*stowagev1.IndexedNodeClass{{Index: 0}, {Index: 2}}, RemovedNodes: []string{"a"}},
		{RemovedWorkloadSelectors: []*stowagev1.WorkloadSelectorName{{Kind: 1, Namespace: "default", Name: "w"}}},
		{RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Namespace: "default", Name: "b"}}},
	} {
		if _, _, err := content.Apply(context.Background(), allowed); err != nil {
			t.Errorf("%v: %v", allowed, err)
		}
	}
	for _, test := range []struct {
		cluster *stowagev1.Cluster
		want    string
	}{
		{&stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}, {}, {Name: "a"}}}, `nodes[2].name: duplicates an earlier item`},
		{&stowagev1.Cluster{Namespaces: []*stowagev1.Namespace{{Name: "\xff"}}}, `namespaces[0]: contains invalid UTF-8`},
	} {
		if _, err := Of(test.cluster); err == nil || err.Error() != test.want {
			t.Errorf("%v:\ngot  %v\nwant %s", test.cluster, err, test.want)
		}
	}
}

// Nil elements, which cannot come from the wire, count as empty messages.
func TestNilElements(t *testing.T) {
	c := &stowagev1.Cluster{
		PodTemplates: []*stowagev1.PodTemplate{nil}, NodeClasses: []*stowagev1.NodeClass{nil},
		Nodes:      []*stowagev1.Node{nil, {Name: "a", PodCounts: []*stowagev1.PodCount{nil, nil}, Pods: []*stowagev1.Pod{nil, nil}, NominatedPods: []*stowagev1.Pod{nil}}},
		Namespaces: []*stowagev1.Namespace{nil}, WorkloadSelectors: []*stowagev1.WorkloadSelector{nil},
		PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{nil},
	}
	content, err := Of(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*stowagev1.ClusterDelta{
		{PodTemplates: []*stowagev1.IndexedPodTemplate{nil}, NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a"}}},
		{NodeClasses: []*stowagev1.IndexedNodeClass{nil}},
		{Nodes: []*stowagev1.Node{nil}},
		{NodePods: []*stowagev1.NodePodsDelta{nil}},
		{NodePods: []*stowagev1.NodePodsDelta{{
			NodeName: "a", RemovedPodCounts: []*stowagev1.PodCount{nil}, RemovedPods: []*stowagev1.NamespacedName{nil},
			PodCounts: []*stowagev1.PodCount{nil}, Pods: []*stowagev1.Pod{nil},
			RemovedNominatedPods: []*stowagev1.NamespacedName{nil},
		}}},
		{Namespaces: []*stowagev1.Namespace{nil}},
		{RemovedWorkloadSelectors: []*stowagev1.WorkloadSelectorName{nil}},
		{WorkloadSelectors: []*stowagev1.WorkloadSelector{nil}, Namespaces: []*stowagev1.Namespace{{Name: "a"}}},
		{RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{nil}},
		{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{nil}},
	} {
		if _, _, err := content.Apply(context.Background(), d); err != nil {
			t.Errorf("%v: %v", d, err)
		}
	}
}

// The builder copies its arguments and reports duplicate names.
func TestBuilder(t *testing.T) {
	var b Builder
	node := mustAppend(t, &stowagev1.Node{Name: "a"})
	namespace := mustAppend(t, &stowagev1.Namespace{Name: "a"})
	selector := mustAppend(t, &stowagev1.WorkloadSelector{Kind: 1, Name: "a"})
	same := mustAppend(t, &stowagev1.WorkloadSelector{Kind: 1, Namespace: "default", Name: "a"})
	budget := mustAppend(t, &stowagev1.PodDisruptionBudget{Name: "a"})
	sameBudget := mustAppend(t, &stowagev1.PodDisruptionBudget{Namespace: "default", Name: "a"})
	add := func(to protowire.Number, item []byte) bool { return b.Add(to, item, DigestOf(item)) }
	if !add(Nodes, node) || !add(Namespaces, namespace) || !add(WorkloadSelectors, selector) || !add(PodDisruptionBudgets, budget) {
		t.Error("a name is taken at first")
	}
	if add(Nodes, node) || add(Namespaces, namespace) || add(WorkloadSelectors, same) || add(PodDisruptionBudgets, sameBudget) {
		t.Error("a name is not taken afterwards")
	}
	for _, raw := range [][]byte{node, namespace, selector, budget} {
		clear(raw)
	}
	c := b.Build()
	if got := c.Nodes().At(0); !bytes.Equal(got, mustAppend(t, &stowagev1.Node{Name: "a"})) {
		t.Errorf("the node is %x", got)
	}
	if n := c.Len(); n != 4 {
		t.Errorf("there are %d items", n)
	}
	if _, err := c.Cluster(); err != nil {
		t.Error(err)
	}
}
