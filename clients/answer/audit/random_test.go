package audit

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestRulesEqualOneByOne compares with filtering every pod alone, on a cluster built without it.
func TestRulesEqualOneByOne(t *testing.T) {
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	brokenPods := 0
	rapid.Check(t, func(t *rapid.T) {
		s := randomCluster(t, clusterSize{2, 6, "10", 4, 5}, randomSpec)
		a := newAudit(&answer.Question{Client: client, Snapshot: s}, Options{})
		if err := a.gather(); err != nil {
			t.Fatal(err)
		}
		if err := a.rules(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{} // pods by workload
		for _, f := range a.found {
			got[f.Object.Name] += f.Pods
		}
		want := map[string]int{}
		for _, p := range a.pods {
			if !holds(t, client, a.cluster, p) {
				want[p.workload.Name]++
				brokenPods++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("broken rules of %v, one by one of %v", got, want)
		}
	})
	if brokenPods == 0 {
		t.Error("no rule was broken in any cluster")
	}
}

// holds filters a pod on a cluster without it.
func holds(t *rapid.T, client *stowage.Client, c *stowagev1.Cluster, p pod) bool {
	c = proto.CloneOf(c)
	n := c.Nodes[p.node]
	n.Pods = slices.DeleteFunc(n.Pods, func(x *stowagev1.Pod) bool { return x.Name == p.object.Name })
	response, err := client.Filter(t.Context(), &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: c}, Profile: &stowagev1.Profile{DisabledFilters: nodeFilters},
		},
		Pod: pending(p.converted), CandidateNodes: &stowagev1.CandidateNodes{Indexes: []uint32{uint32(p.node)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(response.FeasibleNodes.GetIndexes()) == 1
}

// randomCluster is nodes of two pools in three zones, and pods of workloads with rules that their nodes need not meet.
func randomCluster(t *rapid.T, size clusterSize, randomSpec func(*rapid.T) corev1.PodSpec) *kube.Snapshot {
	b := kube.NewBuilder(kube.Options{})
	nodes := rapid.IntRange(size.leastNodes, size.mostNodes).Draw(t, "nodes")
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
		if zone := rapid.IntRange(0, 3).Draw(t, "zone"); zone > 0 {
			n.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("z%d", zone)
		}
		n.Labels["pool"] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "pool")
		n.Spec.Unschedulable = rapid.Bool().Draw(t, "cordoned")
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("2"), "pods": resource.MustParse(size.podsOfNode)}
		if err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	number := 0
	for w := range rapid.IntRange(1, size.workloads).Draw(t, "workloads") {
		spec := randomSpec(t)
		labels := map[string]string{"app": fmt.Sprintf("w%d", w), "tier": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "tier")}
		for range rapid.IntRange(1, size.pods).Draw(t, "pods") {
			number++
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("p%d", number), UID: "1", Labels: labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: labels["app"], Controller: new(true)}},
			}, Spec: *spec.DeepCopy()}
			p.Spec.NodeName = fmt.Sprintf("n%d", rapid.IntRange(0, nodes-1).Draw(t, "node"))
			if err := b.AddPod(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomSpec is a pod's spec with some of the rules that can be broken.
func randomSpec(t *rapid.T) corev1.PodSpec {
	s := corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}
	has := func(rule string) bool { return rapid.IntRange(0, 3).Draw(t, rule) == 0 }
	key := func() string {
		return rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "key")
	}
	selector := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "selected")}}
	}
	if has("node selector") {
		s.NodeSelector = map[string]string{"pool": "x"}
	}
	if has("host port") {
		s.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	}
	if has("spread") {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector(),
		}}
	}
	s.Affinity = &corev1.Affinity{}
	if has("node affinity") {
		s.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n0"},
			}}}},
		}}
	}
	if has("affinity") {
		s.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: key(), LabelSelector: selector(),
		}}}
	}
	if has("anti-affinity") {
		s.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: key(), LabelSelector: selector(),
		}}}
	}
	return s
}

// clusterSize bounds a random cluster. podsOfNode is what a node allows, pods the most of a workload.
type clusterSize struct {
	leastNodes, mostNodes int
	podsOfNode            string
	workloads, pods       int
}
