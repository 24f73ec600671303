package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/proto/content/contenttest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// sound draws valid clusters and deltas from few names, so that they overlap.
type sound struct {
	t         *rapid.T
	templates uint32 // at least 1
	classes   uint32
}

func (s *sound) name(of string) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(s.t, of)
}

func (s *sound) labels() map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"", "a"}), 0, 2).Draw(s.t, "labels")
}

func (s *sound) template() *stowagev1.PodTemplate {
	return &stowagev1.PodTemplate{
		Namespace: rapid.SampledFrom([]string{"", "default", "other"}).Draw(s.t, "namespace"), Labels: s.labels(),
	}
}

func (s *sound) class() *stowagev1.NodeClass { return &stowagev1.NodeClass{Labels: s.labels()} }

func (s *sound) namespace() *stowagev1.Namespace {
	return &stowagev1.Namespace{Name: s.name("namespace"), Labels: s.labels()}
}

func (s *sound) selector() *stowagev1.WorkloadSelector {
	return &stowagev1.WorkloadSelector{
		Kind:      stowagev1.WorkloadKind(rapid.Int32Range(1, 2).Draw(s.t, "kind")),
		Namespace: rapid.SampledFrom([]string{"", "default", "a"}).Draw(s.t, "namespace"),
		Name:      s.name("workload"),
		Selector:  &stowagev1.LabelSelector{MatchLabels: s.labels()},
	}
}

func (s *sound) budget() *stowagev1.PodDisruptionBudget {
	return &stowagev1.PodDisruptionBudget{
		Namespace:          rapid.SampledFrom([]string{"", "default", "a"}).Draw(s.t, "namespace"),
		Name:               s.name("budget"),
		Selector:           &stowagev1.LabelSelector{MatchLabels: s.labels()},
		DisruptionsAllowed: rapid.Int32Range(-1, 2).Draw(s.t, "allowed"),
		DisruptedPods:      some(s, func() string { return s.name("pod") }),
	}
}

func (s *sound) group() *stowagev1.PodGroup {
	return &stowagev1.PodGroup{
		Name:           "default/" + s.name("group"),
		Topology:       &stowagev1.PodGroupTopology{Keys: []string{s.name("key")}},
		DisruptionMode: stowagev1.PodGroupDisruptionMode(rapid.Int32Range(0, 2).Draw(s.t, "mode")),
	}
}

func (s *sound) namespaceOf() string {
	return rapid.SampledFrom([]string{"", "default", "a"}).Draw(s.t, "namespace")
}

func (s *sound) storageClass() *stowagev1.StorageClass {
	return &stowagev1.StorageClass{Name: s.name("class"), Provisioner: s.name("provisioner")}
}

func (s *sound) driver() *stowagev1.CSIDriver {
	return &stowagev1.CSIDriver{Name: s.name("driver"), StorageCapacity: rapid.Bool().Draw(s.t, "capacity")}
}

func (s *sound) capacity() *stowagev1.CSIStorageCapacity {
	return &stowagev1.CSIStorageCapacity{
		Namespace: s.namespaceOf(), Name: s.name("capacity"), NodeTopology: &stowagev1.LabelSelector{MatchLabels: s.labels()},
	}
}

func (s *sound) volume() *stowagev1.PersistentVolume {
	return &stowagev1.PersistentVolume{Name: s.name("volume"), Labels: s.labels(), Capacity: rapid.Int64Range(0, 2).Draw(s.t, "bytes")}
}

func (s *sound) claim() *stowagev1.PersistentVolumeClaim {
	return &stowagev1.PersistentVolumeClaim{Namespace: s.namespaceOf(), Name: s.name("claim"), VolumeName: s.name("volume")}
}

func (s *sound) count() *stowagev1.PodCount {
	return &stowagev1.PodCount{
		TemplateIndex: rapid.Uint32Range(0, s.templates-1).Draw(s.t, "template"),
		Count:         rapid.SampledFrom([]uint32{1, 1, 2, 3, 1 << 31}).Draw(s.t, "count"),
		Terminating:   rapid.Bool().Draw(s.t, "terminating"),
		Readiness:     stowagev1.PodReadiness(rapid.Int32Range(0, 3).Draw(s.t, "readiness")),
	}
}

func (s *sound) pod() *stowagev1.Pod {
	p := &stowagev1.Pod{Name: s.name("pod"), Labels: s.labels(), Preempted: rapid.Bool().Draw(s.t, "preempted")}
	if rapid.Bool().Draw(s.t, "started") {
		p.StartTime = &timestamppb.Timestamp{Seconds: rapid.Int64Range(0, 2).Draw(s.t, "start")}
	}
	if rapid.Bool().Draw(s.t, "own template") {
		p.Source = &stowagev1.Pod_Template{Template: s.template()}
	} else {
		p.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: rapid.Uint32Range(0, s.templates-1).Draw(s.t, "template")}
	}
	return p
}

func (s *sound) node() *stowagev1.Node {
	n := &stowagev1.Node{
		Name: s.name("node"), Labels: s.labels(), PodCounts: some(s, s.count), Pods: some(s, s.pod), NominatedPods: some(s, s.pod),
	}
	if s.classes > 0 && rapid.Bool().Draw(s.t, "classed") {
		n.ClassIndex = proto.Uint32(rapid.Uint32Range(0, s.classes-1).Draw(s.t, "class"))
	}
	return n
}

func some[T any](s *sound, draw func() T) []T {
	out := make([]T, rapid.IntRange(0, 3).Draw(s.t, "some"))
	for i := range out {
		out[i] = draw()
	}
	return out
}

func uniqueBy[T any, K comparable](list []T, key func(T) K) []T {
	seen := make(map[K]bool)
	return slices.DeleteFunc(list, func(e T) bool {
		defer func() { seen[key(e)] = true }()
		return seen[key(e)]
	})
}

func namespacedKey[T interface {
	GetNamespace() string
	GetName() string
}](of T) string {
	return cmp.Or(of.GetNamespace(), "default") + "/" + of.GetName()
}

func selectorKey(w *stowagev1.WorkloadSelector) string {
	return fmt.Sprint(w.Kind, cmp.Or(w.Namespace, "default"), "/", w.Name)
}

func (s *sound) cluster() *stowagev1.Cluster {
	c := &stowagev1.Cluster{
		PodTemplates:         append(some(s, s.template), s.template()),
		NodeClasses:          some(s, s.class),
		Namespaces:           uniqueBy(some(s, s.namespace), (*stowagev1.Namespace).GetName),
		WorkloadSelectors:    uniqueBy(some(s, s.selector), selectorKey),
		PodDisruptionBudgets: uniqueBy(some(s, s.budget), namespacedKey),
		PodGroups:            uniqueBy(some(s, s.group), (*stowagev1.PodGroup).GetName),
		StorageClasses:       uniqueBy(some(s, s.storageClass), (*stowagev1.StorageClass).GetName),
		CsiDrivers:           uniqueBy(some(s, s.driver), (*stowagev1.CSIDriver).GetName),
		CsiStorageCapacities: uniqueBy(some(s, s.capacity), namespacedKey),
		PersistentVolumes:    uniqueBy(some(s, s.volume), (*stowagev1.PersistentVolume).GetName),

		PersistentVolumeClaims: uniqueBy(some(s, s.claim), namespacedKey),

		DeviceTypes:       uniqueBy(some(s, s.deviceType), (*stowagev1.DeviceType).GetName),
		DeviceExpressions: uniqueBy(some(s, s.expression), (*stowagev1.DeviceExpression).GetName),
		DeviceClasses:     uniqueBy(some(s, s.deviceClass), (*stowagev1.DeviceClass).GetName),
		ResourceSlices:    uniqueBy(some(s, s.slice), (*stowagev1.ResourceSlice).GetName),
		ResourceClaims:    uniqueBy(some(s, s.resourceClaim), namespacedKey),
	}
	s.templates, s.classes = uint32(len(c.PodTemplates)), uint32(len(c.NodeClasses))
	c.Nodes = uniqueBy(append(some(s, s.node), some(s, s.node)...), (*stowagev1.Node).GetName)
	return c
}

// delta draws a delta that is valid in more than half of the cases.
func (s *sound) delta(c *stowagev1.Cluster) *stowagev1.ClusterDelta {
	often := func(what string) bool { return rapid.IntRange(0, 2).Draw(s.t, what) == 0 }
	d := &stowagev1.ClusterDelta{}
	for often("template") {
		i := rapid.Uint32Range(0, s.templates).Draw(s.t, "index")
		d.PodTemplates = append(d.PodTemplates, &stowagev1.IndexedPodTemplate{Index: i, Template: s.template()})
		s.templates = max(s.templates, i+1)
	}
	for often("class") {
		i := rapid.Uint32Range(0, s.classes).Draw(s.t, "index")
		d.NodeClasses = append(d.NodeClasses, &stowagev1.IndexedNodeClass{Index: i, NodeClass: s.class()})
		s.classes = max(s.classes, i+1)
	}
	for often("remove node") {
		d.RemovedNodes = append(d.RemovedNodes, s.name("node"))
	}
	for often("node") {
		d.Nodes = append(d.Nodes, s.node())
	}
	for often("pods") {
		d.NodePods = append(d.NodePods, s.pods(c))
	}
	for often("remove namespace") {
		d.RemovedNamespaces = append(d.RemovedNamespaces, s.name("namespace"))
	}
	for often("namespace") {
		d.Namespaces = append(d.Namespaces, s.namespace())
	}
	for often("remove workload") {
		w := s.selector()
		d.RemovedWorkloadSelectors = append(d.RemovedWorkloadSelectors,
			&stowagev1.WorkloadSelectorName{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name})
	}
	for often("workload") {
		d.WorkloadSelectors = append(d.WorkloadSelectors, s.selector())
	}
	for often("remove budget") {
		p := s.budget()
		d.RemovedPodDisruptionBudgets = append(d.RemovedPodDisruptionBudgets,
			&stowagev1.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
	for often("budget") {
		d.PodDisruptionBudgets = append(d.PodDisruptionBudgets, s.budget())
	}
	for often("remove group") {
		d.RemovedPodGroups = append(d.RemovedPodGroups, s.group().Name)
	}
	for often("group") {
		d.PodGroups = append(d.PodGroups, s.group())
	}
	s.storage(d, often)
	s.devices(d, often)
	if rapid.Bool().Draw(s.t, "valid") {
		return applicable(c, d)
	}
	return d
}

// storage draws changes of storage objects.
func (s *sound) storage(d *stowagev1.ClusterDelta, often func(string) bool) {
	for often("remove class") {
		d.RemovedStorageClasses = append(d.RemovedStorageClasses, s.name("class"))
	}
	for often("class") {
		d.StorageClasses = append(d.StorageClasses, s.storageClass())
	}
	for often("remove driver") {
		d.RemovedCsiDrivers = append(d.RemovedCsiDrivers, s.name("driver"))
	}
	for often("driver") {
		d.CsiDrivers = append(d.CsiDrivers, s.driver())
	}
	for often("remove capacity") {
		d.RemovedCsiStorageCapacities = append(d.RemovedCsiStorageCapacities,
			&stowagev1.NamespacedName{Namespace: s.namespaceOf(), Name: s.name("capacity")})
	}
	for often("capacity") {
		d.CsiStorageCapacities = append(d.CsiStorageCapacities, s.capacity())
	}
	for often("remove volume") {
		d.RemovedPersistentVolumes = append(d.RemovedPersistentVolumes, s.name("volume"))
	}
	for often("volume") {
		d.PersistentVolumes = append(d.PersistentVolumes, s.volume())
	}
	for often("remove claim") {
		d.RemovedPersistentVolumeClaims = append(d.RemovedPersistentVolumeClaims,
			&stowagev1.NamespacedName{Namespace: s.namespaceOf(), Name: s.name("claim")})
	}
	for often("claim") {
		d.PersistentVolumeClaims = append(d.PersistentVolumeClaims, s.claim())
	}
}

func (s *sound) deviceType() *stowagev1.DeviceType {
	return &stowagev1.DeviceType{Name: s.name("type"), AllowMultipleAllocations: rapid.Bool().Draw(s.t, "multiple")}
}

func (s *sound) expression() *stowagev1.DeviceExpression {
	return &stowagev1.DeviceExpression{Name: s.name("expression"), Matches: []string{s.name("type")}}
}

func (s *sound) deviceClass() *stowagev1.DeviceClass {
	return &stowagev1.DeviceClass{Name: s.name("class"), ExtendedResourceName: s.name("resource")}
}

func (s *sound) slice() *stowagev1.ResourceSlice {
	return &stowagev1.ResourceSlice{Name: s.name("slice"), Driver: s.name("driver"), Pool: s.name("pool")}
}

func (s *sound) resourceClaim() *stowagev1.ResourceClaim {
	return &stowagev1.ResourceClaim{Namespace: s.namespaceOf(), Name: s.name("claim"), ControllerPod: s.name("pod")}
}

// devices draws changes of the objects that give devices.
func (s *sound) devices(d *stowagev1.ClusterDelta, often func(string) bool) {
	for often("remove type") {
		d.RemovedDeviceTypes = append(d.RemovedDeviceTypes, s.name("type"))
	}
	for often("type") {
		d.DeviceTypes = append(d.DeviceTypes, s.deviceType())
	}
	for often("remove expression") {
		d.RemovedDeviceExpressions = append(d.RemovedDeviceExpressions, s.name("expression"))
	}
	for often("expression") {
		d.DeviceExpressions = append(d.DeviceExpressions, s.expression())
	}
	for often("remove device class") {
		d.RemovedDeviceClasses = append(d.RemovedDeviceClasses, s.name("class"))
	}
	for often("device class") {
		d.DeviceClasses = append(d.DeviceClasses, s.deviceClass())
	}
	for often("remove slice") {
		d.RemovedResourceSlices = append(d.RemovedResourceSlices, s.name("slice"))
	}
	for often("slice") {
		d.ResourceSlices = append(d.ResourceSlices, s.slice())
	}
	for often("remove resource claim") {
		d.RemovedResourceClaims = append(d.RemovedResourceClaims,
			&stowagev1.NamespacedName{Namespace: s.namespaceOf(), Name: s.name("claim")})
	}
	for often("resource claim") {
		d.ResourceClaims = append(d.ResourceClaims, s.resourceClaim())
	}
}

// applicable gives a delta of those elements of another that can be applied after those before them.
func applicable(c *stowagev1.Cluster, d *stowagev1.ClusterDelta) *stowagev1.ClusterDelta {
	kept := &stowagev1.ClusterDelta{}
	fields := d.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		all := d.ProtoReflect().Get(fields.Get(i)).List()
		list := kept.ProtoReflect().Mutable(fields.Get(i)).List()
		for j := range all.Len() {
			list.Append(all.Get(j))
			if _, ok := contenttest.Apply(c, kept); !ok {
				list.Truncate(list.Len() - 1)
			}
		}
	}
	return kept
}

// pods draws pods to move; most removed pods are on the node.
func (s *sound) pods(c *stowagev1.Cluster) *stowagev1.NodePodsDelta {
	d := &stowagev1.NodePodsDelta{
		NodeName: s.name("node"), PodCounts: some(s, s.count), Pods: some(s, s.pod), NominatedPods: some(s, s.pod),
	}
	i := slices.IndexFunc(c.Nodes, func(n *stowagev1.Node) bool { return n.Name == d.NodeName })
	if i < 0 {
		return d
	}
	for _, count := range c.Nodes[i].PodCounts {
		if rapid.Bool().Draw(s.t, "remove") {
			count = proto.Clone(count).(*stowagev1.PodCount)
			count.Count = rapid.SampledFrom([]uint32{0, 1, 2, count.Count}).Draw(s.t, "count")
			d.RemovedPodCounts = append(d.RemovedPodCounts, count)
		}
	}
	d.RemovedPods = s.removed(c.Nodes[i].Pods)
	d.RemovedNominatedPods = s.removed(c.Nodes[i].NominatedPods)
	return d
}

func (s *sound) removed(pods []*stowagev1.Pod) (names []*stowagev1.NamespacedName) {
	for _, p := range pods {
		if rapid.Bool().Draw(s.t, "remove") {
			namespace := rapid.SampledFrom([]string{"", "default", "other"}).Draw(s.t, "namespace")
			names = append(names, &stowagev1.NamespacedName{Namespace: namespace, Name: p.Name})
		}
	}
	return names
}

// replay applies a change to the nodes of a cluster.
func replay(c *stowagev1.Cluster, change *Effect) *stowagev1.Cluster {
	c = proto.Clone(&stowagev1.Cluster{Nodes: c.Nodes}).(*stowagev1.Cluster)
	for _, i := range slices.Backward(change.Removed) {
		c.Nodes = slices.Delete(c.Nodes, int(i), int(i)+1)
	}
	for _, n := range change.Nodes {
		if int(n.Index) == len(c.Nodes) {
			c.Nodes = append(c.Nodes, nil)
		}
		c.Nodes[n.Index] = n.Node
	}
	return c
}

func mustOf(t *rapid.T, c *stowagev1.Cluster) *Content {
	t.Helper()
	content, err := Of(c)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func mustCluster(t *rapid.T, c *Content) *stowagev1.Cluster {
	t.Helper()
	out, err := c.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkContent compares a content with one that is built from its cluster.
func checkContent(t *rapid.T, c *Content, want *stowagev1.Cluster) {
	t.Helper()
	anew := mustOf(t, want)
	if c.Address() != anew.Address() {
		t.Errorf("the address is %v, built anew %v", c.Address(), anew.Address())
	}
	got, want := mustCluster(t, c), mustCluster(t, anew)
	if !proto.Equal(got, want) {
		t.Errorf("the cluster is\n%v, want\n%v", got, want)
	}
	for i, n := range want.Nodes {
		if got, ok := c.Lookup(n.Name); !ok || got != uint32(i) {
			t.Errorf("Lookup(%q) = %d, %t, want %d", n.Name, got, ok, i)
		}
	}
	if i, ok := c.Lookup("unknown"); ok {
		t.Errorf("Lookup finds an unknown name at %d", i)
	}
	for i := range c.lists {
		if got, want := c.lists[i].Memory(), anew.lists[i].Memory(); got != want {
			t.Errorf("list %d takes %d bytes, built anew %d", i, got, want)
		}
	}
}

func overflows(c *stowagev1.Cluster) bool {
	return slices.ContainsFunc(c.Nodes, func(n *stowagev1.Node) bool {
		_, err := mergeCounts(n.PodCounts)
		return err != nil
	})
}

// Apply agrees with contenttest.Apply for random deltas: it gives the content of the resulting cluster, a change that leads
// there, and an error in the same cases. It never modifies the base.
func TestApply(t *testing.T) {
	applied, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := &sound{t: t}
		cluster := s.cluster()
		if overflows(cluster) {
			return
		}
		content := mustOf(t, cluster)
		cluster = mustCluster(t, content) // in canonical order, which decides between pods of the same name
		for range rapid.IntRange(1, 4).Draw(t, "deltas") {
			s.templates, s.classes = uint32(len(cluster.PodTemplates)), uint32(len(cluster.NodeClasses))
			d := s.delta(cluster)
			stated := proto.Clone(d)
			want, ok := contenttest.Apply(cluster, d)
			next, change, err := content.Apply(context.Background(), d)
			if !proto.Equal(stated, d) {
				t.Error("the delta was changed")
			}
			checkContent(t, content, cluster)
			if !ok {
				refused++
				var refusal *Error
				if !errors.As(err, &refusal) || refusal.Field == "" || next != nil || change != nil {
					t.Fatalf("Apply(%v) = %v, %v, %v, want a refusal", d, next, change, err)
				}
				continue
			}
			applied++
			if err != nil {
				t.Fatalf("Apply(%v): %v", d, err)
			}
			checkContent(t, next, want)
			want = &stowagev1.Cluster{Nodes: mustCluster(t, next).Nodes}
			if !proto.Equal(replay(cluster, change), want) {
				t.Errorf("the change to\n%v\nis\n%+v\nwhich makes\n%v, not\n%v", cluster, change, replay(cluster, change), want)
			}
			content, cluster = next, mustCluster(t, next)
		}
	})
	if applied < 5 || refused < 5 {
		t.Errorf("%d deltas were applied, %d refused", applied, refused)
	}
}

// Normalized order and split counts do not change the address.
func TestAddressIgnoresDisorder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := (&sound{t: t}).cluster()
		if overflows(c) {
			return
		}
		want := mustOf(t, c).Address()
		disorder(t, c)
		if got := mustOf(t, c).Address(); got != want {
			t.Errorf("%v in disorder, %v before", got, want)
		}
	})
}
