package compact_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func parse(t *testing.T, text string) *stowagev1.Cluster {
	t.Helper()
	js, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &stowagev1.Cluster{}
	if err := protojson.Unmarshal(js, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNodesShareAClass(t *testing.T) {
	const pool = `region: somewhere-with-a-long-name, kubernetes.io/os: linux`
	got, err := compact.Cluster(parse(t, `
nodes:
- name: a
  labels: {`+pool+`, host: a, rack: "1"}
  taints: [{key: k, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 4000, memoryBytes: 1001, pods: 110, scalars: {example.com/gpu: 4}}
  csiNode: {drivers: [{name: disks.example, allocatableCount: 16}], migratedPlugins: [kubernetes.io/disk]}
  images: [{names: [common:v1], sizeBytes: 5}, {names: [rare:v1], sizeBytes: 6}]
- name: b
  labels: {`+pool+`, host: b, rack: "2"}
  taints: [{key: k, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 4000, memoryBytes: 1002, pods: 110, scalars: {example.com/gpu: 4}}
  csiNode: {drivers: [{name: disks.example, allocatableCount: 16}], migratedPlugins: [kubernetes.io/disk]}
  images: [{names: [common:v1], sizeBytes: 5}]
- {name: other, unschedulable: true, csiNode: {drivers: [{name: disks.example}]}}
- name: c
  labels: {`+pool+`, host: c, rack: "3"}
  taints: [{key: k, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 4000, memoryBytes: 1003, pods: 110, scalars: {example.com/gpu: 4}}
  csiNode: {drivers: [{name: disks.example, allocatableCount: 16}], migratedPlugins: [kubernetes.io/disk]}
  images: [{names: [common:v1], sizeBytes: 5}]
`), compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(parse(t, `
nodeClasses:
- labels: {`+pool+`}
  nameLabelKeys: [host]
  taints: [{key: k, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 4000, pods: 110, scalars: {example.com/gpu: 4}}
  csiNode: {drivers: [{name: disks.example, allocatableCount: 16}], migratedPlugins: [kubernetes.io/disk]}
  images: [{names: [common:v1], sizeBytes: 5}]
nodes:
- {name: a, classIndex: 0, labels: {rack: "1"}, allocatable: {memoryBytes: 1001}, images: [{names: [rare:v1], sizeBytes: 6}]}
- {name: b, classIndex: 0, labels: {rack: "2"}, allocatable: {memoryBytes: 1002}}
- {name: other, unschedulable: true, csiNode: {drivers: [{name: disks.example}]}}
- {name: c, classIndex: 0, labels: {rack: "3"}, allocatable: {memoryBytes: 1003}}
`), got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestNodesWithoutTheImagesHaveAClassOfTheirOwn(t *testing.T) {
	var text strings.Builder
	text.WriteString("nodes:\n")
	for i := range 20 {
		fmt.Fprintf(&text, "- {name: node-%d, labels: {pool: a-pool-with-a-name}", i)
		if i%10 != 0 {
			text.WriteString(", images: [{names: ['registry.example/some/image:v1']}, {names: ['registry.example/another/image:v1']}]")
		}
		text.WriteString("}\n")
	}
	got, err := compact.Cluster(parse(t, text.String()), compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range got.Nodes {
		if want := i%10 != 0; want != (len(got.NodeClasses[n.GetClassIndex()].Images) == 2) || len(n.Images) > 0 {
			t.Errorf("node %d: %v", i, n)
		}
	}
}

func TestWholeNode(t *testing.T) {
	c := parse(t, `
nodeClasses:
- labels: {a: class, b: class, host: other}
  nameLabelKeys: [host, c]
  taints: [{key: first, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 1, memoryBytes: 2, scalars: {one: 1, two: 1}}
  images: [{names: [first]}]
  csiNode: {drivers: [{name: first}], migratedPlugins: [kubernetes.io/disk]}
nodes:
- name: the-node
  classIndex: 0
  labels: {b: own, c: own}
  taints: [{key: second, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {memoryBytes: 0, pods: 3, scalars: {two: 2}}
  images: [{names: [second]}]
  csiNode: {drivers: [{name: second}]}
- {name: other, classIndex: 1}
`)
	got, err := compact.WholeNode(c, c.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
nodes:
- name: the-node
  labels: {a: class, b: own, c: own, host: the-node}
  taints: [{key: first, effect: TAINT_EFFECT_NO_SCHEDULE}, {key: second, effect: TAINT_EFFECT_NO_SCHEDULE}]
  allocatable: {cpuMillis: 1, memoryBytes: 0, pods: 3, scalars: {one: 1, two: 2}}
  images: [{names: [first]}, {names: [second]}]
  csiNode: {drivers: [{name: second}]}
`).Nodes[0]
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if got, err := compact.WholeNode(c, c.Nodes[1]); err == nil {
		t.Errorf("a class that is not there: %v", got)
	}
}

func TestNominatedPodsKeepTheirNames(t *testing.T) {
	c := parse(t, `
podTemplates: [{namespace: x}]
nodes:
- name: a
  pods: [{name: p, template: {namespace: x}}]
  nominatedPods: [{name: one, template: {namespace: other}, labels: {a: b}}, {name: o, terminating: true, template: {namespace: x}}]
`)
	got, err := compact.Cluster(c, compact.Options{CountPods: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(parse(t, `
podTemplates: [{namespace: x}, {namespace: other}]
nodes:
- name: a
  podCounts: [{count: 1}]
  nominatedPods: [{name: one, templateIndex: 1, labels: {a: b}}, {name: o, terminating: true, templateIndex: 0}]
`), got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestMalformedClustersAreRefused(t *testing.T) {
	for text, field := range map[string]string{
		`nodes: [{name: a}, {name: b, classIndex: 0}]`:                                 "nodes[1]: class_index",
		`{nodes: [{name: a, pods: [{templateIndex: 1}]}], podTemplates: [{}]}`:         "nodes[0].pods[0]: template_index",
		`{nodes: [{name: a, pods: [{template: {namespace: "!"}}]}], podTemplates: []}`: "nodes[0].pods[0]: ",
		`nodes: [{name: a, nominatedPods: [{templateIndex: 0}]}]`:                      "nodes[0].nominated_pods[0]: template_index",
		`podTemplates: [{namespace: "!"}]`:                                             "pod_templates[0]: ",
	} {
		c := parse(t, text)
		for _, n := range c.Nodes {
			for _, p := range n.Pods {
				if p.GetTemplate() != nil {
					p.GetTemplate().Namespace = "\xff"
				}
			}
		}
		for _, template := range c.PodTemplates {
			if template.Namespace != "" {
				template.Namespace = "\xff"
			}
		}
		if _, err := compact.Cluster(c, compact.Options{}); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v, want %s", text, err, field)
		}
	}
}

// in full: a cluster without classes and templates, in which equal meaning is equality.
func inFull(t *rapid.T, c *stowagev1.Cluster, names bool) *stowagev1.Cluster {
	out := proto.Clone(c).(*stowagev1.Cluster)
	sizes := map[string]int64{}
	for i, n := range out.Nodes {
		n, err := compact.WholeNode(out, n)
		if err != nil {
			t.Fatal(err)
		}
		n = proto.Clone(n).(*stowagev1.Node)
		out.Nodes[i] = n
		if proto.Size(n.Allocatable) == 0 {
			n.Allocatable = nil
		}
		for _, m := range n.Images {
			for _, name := range m.Names {
				if _, ok := sizes[name]; !ok {
					sizes[name] = m.SizeBytes
				}
			}
		}
		for _, m := range n.Images {
			for at, name := range m.Names {
				m.Names[at] = fmt.Sprintf("%s of %d", name, sizes[name])
			}
			m.SizeBytes = 0
		}
		for _, count := range n.PodCounts {
			for range count.Count {
				n.Pods = append(n.Pods, &stowagev1.Pod{
					Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: count.TemplateIndex}, Terminating: count.Terminating,
				})
			}
		}
		n.PodCounts = nil
		for _, p := range n.Pods {
			if p.GetTemplate() == nil {
				p.Source = &stowagev1.Pod_Template{Template: out.PodTemplates[p.GetTemplateIndex()]}
			}
			if !names {
				p.Name = ""
			}
		}
		slices.SortFunc(n.Images, func(a, b *stowagev1.ContainerImage) int { return slices.Compare(a.Names, b.Names) })
		slices.SortStableFunc(n.Pods, func(a, b *stowagev1.Pod) int {
			return bytes.Compare(marshalled(a), marshalled(b))
		})
	}
	out.PodTemplates, out.NodeClasses = nil, nil
	return out
}

func marshalled(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func TestCompactMeansTheSameInFewerBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cluster(t)
		before := proto.Clone(c).(*stowagev1.Cluster)
		for _, o := range []compact.Options{{}, {CountPods: true}} {
			got, err := compact.Cluster(c, o)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(before, c) {
				t.Fatal("the cluster was changed")
			}
			if d := cmp.Diff(inFull(t, c, !o.CountPods), inFull(t, got, !o.CountPods), protocmp.Transform()); d != "" {
				t.Fatal(d)
			}
			again, _ := compact.Cluster(proto.Clone(c).(*stowagev1.Cluster), o)
			if !slices.Equal(marshalled(got), marshalled(again)) {
				t.Fatal("two results for the same cluster")
			}
			twice, err := compact.Cluster(got, o)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(inFull(t, got, true), inFull(t, twice, true), protocmp.Transform()); d != "" {
				t.Fatal(d)
			}
			if want, got := proto.Size(&stowagev1.Cluster{Nodes: c.Nodes, PodTemplates: c.PodTemplates}),
				proto.Size(&stowagev1.Cluster{Nodes: got.Nodes, PodTemplates: got.PodTemplates, NodeClasses: got.NodeClasses}); got > want {
				// A template that only one pod has moves into the list, and the pod gets an index.
				pods := 0
				for _, n := range c.Nodes {
					pods += len(n.Pods)
				}
				if got > want+4*pods {
					t.Fatalf("%d bytes became %d", want, got)
				}
			}
		}
	})
}

func cluster(t *rapid.T) *stowagev1.Cluster {
	word := func(name string, most int) string {
		return fmt.Sprintf("%s-%d", name, rapid.IntRange(0, most).Draw(t, name))
	}
	chance := func(name string) bool { return rapid.IntRange(0, 4).Draw(t, name) == 0 }
	template := func() *stowagev1.PodTemplate {
		return &stowagev1.PodTemplate{Labels: map[string]string{"app": word("app", 2), "x": word("x", 1)}}
	}
	c := &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{template(), template()}}
	for i := range rapid.IntRange(0, 30).Draw(t, "nodes") {
		n := &stowagev1.Node{Name: fmt.Sprint("node-", i), Labels: map[string]string{}, Unschedulable: chance("unschedulable")}
		if !chance("hostname") {
			n.Labels["kubernetes.io/hostname"] = n.Name
		}
		for key := range 6 {
			if !chance("label") {
				n.Labels[fmt.Sprint("example.com/label-", key)] = word("value", key*key)
			}
		}
		if chance("label of its own") {
			n.Labels["own-"+n.Name] = n.Name
		}
		for range rapid.IntRange(0, 2).Draw(t, "taints") {
			n.Taints = append(n.Taints, &stowagev1.Taint{Key: word("taint", 1), Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE})
		}
		if !chance("allocatable") {
			n.Allocatable = &stowagev1.Resources{Scalars: map[string]int64{}}
			for key, q := range []**int64{
				&n.Allocatable.CpuMillis, &n.Allocatable.MemoryBytes, &n.Allocatable.EphemeralStorageBytes, &n.Allocatable.Pods,
			} {
				if !chance("quantity") {
					*q = proto.Int64(rapid.Int64Range(0, int64(1+key*3)).Draw(t, "amount"))
				}
			}
			if chance("gpu") {
				n.Allocatable.Scalars[word("example.com/gpu", 1)] = rapid.Int64Range(0, 2).Draw(t, "gpus")
			}
		}
		if !chance("csi node") {
			n.CsiNode = &stowagev1.CSINode{}
			for range rapid.IntRange(0, 2).Draw(t, "drivers") {
				n.CsiNode.Drivers = append(n.CsiNode.Drivers, &stowagev1.CSINodeDriver{
					Name: word("driver", 1), AllocatableCount: rapid.SampledFrom([]*int32{nil, new(int32(0)), new(int32(8))}).Draw(t, "limit"),
				})
			}
			if chance("migrated") {
				n.CsiNode.MigratedPlugins = []string{"kubernetes.io/disk"}
			}
		}
		if chance("attached") {
			n.AttachedVolumes = []string{word("volume", 3)}
		}
		for range rapid.IntRange(0, 5).Draw(t, "images") {
			n.Images = append(n.Images, &stowagev1.ContainerImage{
				Names: []string{word("registry.example/image", 5), word("alias", 30)}, SizeBytes: rapid.Int64Range(0, 1).Draw(t, "size"),
			})
		}
		for range rapid.IntRange(0, 4).Draw(t, "pods") {
			p := &stowagev1.Pod{Name: word("pod", 100), Terminating: chance("terminating")}
			if rapid.Bool().Draw(t, "in full") {
				p.Source = &stowagev1.Pod_Template{Template: template()}
			} else {
				p.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: rapid.Uint32Range(0, 1).Draw(t, "template")}
			}
			if chance("pod label") {
				p.Labels = map[string]string{"index": word("index", 3)}
			}
			n.Pods = append(n.Pods, p)
		}
		if chance("count") {
			n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{TemplateIndex: 1, Count: 2})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}
