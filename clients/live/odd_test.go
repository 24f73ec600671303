package live_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage-scheduler/stowage/clients/live"
)

// oddities are what an API server keeps in a pod, or may keep in a later release, and what Stowage cannot read, by whether
// what the pod occupies can be read all the same.
var oddities = []struct {
	name   string
	odd    func(*corev1.PodSpec)
	closes bool
}{
	{"preferred node affinity with values that are no label values", func(s *corev1.PodSpec) {
		s.Affinity.NodeAffinity = preferring(corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd,hdd"}})
	}, false},
	{"preferred node affinity with a value that is no number", func(s *corev1.PodSpec) {
		s.Affinity.NodeAffinity = preferring(corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpGt, Values: []string{"many"}})
	}, false},
	{"an unknown node operator", func(s *corev1.PodSpec) {
		s.Affinity.NodeAffinity = preferring(corev1.NodeSelectorRequirement{Key: "disk", Operator: "Near", Values: []string{"ssd"}})
	}, false},
	{"a required node affinity that is not a label value", func(s *corev1.PodSpec) {
		s.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd,hdd"}}}},
		}}}
	}, false},
	{"an unknown spread policy", func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: "Perhaps"}}
	}, false},
	{"an unknown toleration", func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Near", Effect: "NoBoot"}}
	}, false},
	{"an unknown operator in preferred affinity", func(s *corev1.PodSpec) {
		s.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selecting("Near", "x")},
		}}}
	}, false},
	{"a value in preferred affinity that is no label value", func(s *corev1.PodSpec) {
		s.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selecting(metav1.LabelSelectorOpIn, "x,y")},
		}}}
	}, false},
	{"more terms than are allowed", func(s *corev1.PodSpec) {
		s.Affinity.PodAffinity = &corev1.PodAffinity{}
		for range 1001 {
			s.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(s.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selecting(metav1.LabelSelectorOpIn, "x")}})
		}
	}, false},
	{"an unknown protocol", func(s *corev1.PodSpec) { s.Containers[0].Ports[0].Protocol = "QUIC" }, true},
	{"an amount that does not convert", func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("-1")
	}, true},
	{"more containers than are allowed", func(s *corev1.PodSpec) {
		for range 1001 {
			s.Containers = append(s.Containers, corev1.Container{})
		}
	}, true},
}

func preferring(r corev1.NodeSelectorRequirement) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
		{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}}},
	}}
}

func selecting(operator metav1.LabelSelectorOperator, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: operator, Values: []string{value}}}}
}

// An odd pod takes all CPUs of node a but one, and a port there, and keeps pods of its app out of its zone: this counts
// whatever else of it cannot be read. Where it cannot be read, its node accepts no pods, and other nodes do as before.
func TestWhatAnOddPodOccupiesCounts(t *testing.T) {
	for _, c := range oddities {
		t.Run(c.name, func(t *testing.T) {
			odd := on(makePod("odd", "web", corev1.LabelTopologyZone), "a")
			odd.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
			odd.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
			c.odd(&odd.Spec)
			w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z1"), makeNode("c", "z2"), odd,
				on(makePod("db-1", "db", corev1.LabelHostname), "b"))
			small, big, port := makePod("small", "x", corev1.LabelHostname), makePod("big", "x", corev1.LabelHostname), makePod("port", "x", corev1.LabelHostname)
			big.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
			port.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
			web := makePod("web", "web", corev1.LabelTopologyZone)
			web.Spec.Affinity = nil // the odd pod's terms alone keep it away

			if c.closes {
				w.feasible(small, "b", "c")
			} else {
				w.feasible(small, "a", "b", "c")
			}
			w.feasible(big, "b", "c")
			w.feasible(port, "b", "c")
			w.feasible(web, "c")
			w.feasible(makePod("db-2", "db", corev1.LabelHostname), without(c.closes, "a", "a", "c")...)
			v, err := w.View()
			if err != nil {
				t.Fatal(err)
			}
			if reason := v.Refused("a"); (reason != "") != c.closes || c.closes && !strings.Contains(reason, "default/odd") {
				t.Errorf("a is refused: %q", reason)
			}
			// Once it is gone, nothing is left of it.
			if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "odd", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.soon(big, "a", "b", "c")
			w.feasible(web, "a", "b", "c")
		})
	}
}

// without is names, less one if that is so.
func without(so bool, name string, names ...string) (out []string) {
	for _, n := range names {
		if !so || n != name {
			out = append(out, n)
		}
	}
	return out
}

// A status that is refused leaves what the pod asks for, and its node accepts no pods. The other statuses there go on counting.
func TestAnOddResourceStatusClosesItsNode(t *testing.T) {
	allocated := func(p *corev1.Pod, name, cpu string) *corev1.Pod {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		})
		return p
	}
	odd := on(makePod("odd", "web", corev1.LabelTopologyZone), "a")
	odd.Spec.Containers[0].Name = strings.Repeat("c", 300) // longer than a status may say
	allocated(odd, odd.Spec.Containers[0].Name, "200m")
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z1"), makeNode("c", "z2"), odd,
		allocated(on(makePod("first", "db", corev1.LabelHostname), "a"), "c", "3500m"),
		allocated(on(makePod("last", "x", corev1.LabelHostname), "a"), "c", "100m"))
	big := makePod("big", "big", corev1.LabelHostname)
	big.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	w.feasible(big, "b", "c")
	w.feasible(makePod("web", "web", corev1.LabelTopologyZone), "c")
	w.feasible(makePod("small", "small", corev1.LabelHostname), "b", "c")
	if n := w.refused("Pod"); n != 1 {
		t.Errorf("%d pods are refused", n)
	}
	mended := odd.DeepCopy()
	mended.Spec.Containers[0].Name, mended.Status.ContainerStatuses[0].Name = "c", "c"
	w.update(mended)
	w.soon(makePod("small", "small", corev1.LabelHostname), "a", "b", "c")
	w.feasible(big, "b", "c")
	if n := w.refused("Pod"); n != 0 {
		t.Errorf("%d pods are refused", n)
	}
}

// kube-scheduler keeps to required anti-affinity terms that are more than Stowage takes, so their node accepts no pods.
func TestRefusedAntiAffinityClosesItsNode(t *testing.T) {
	odd := on(makePod("odd", "web", corev1.LabelHostname), "a")
	required := &odd.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*required = slices.Repeat(*required, 1001)
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z1"), odd)
	web := makePod("web", "web", corev1.LabelHostname)
	web.Spec.Affinity = nil // the odd pod's terms alone keep it away
	w.feasible(web, "b")
	w.feasible(makePod("other", "x", corev1.LabelHostname), "b")
	// What is left of it counts.
	w.feasible(makePod("apart", "web", corev1.LabelTopologyZone))
	v, err := w.View()
	if err != nil {
		t.Fatal(err)
	}
	if reason := v.Refused("a"); !strings.Contains(reason, "default/odd") || !strings.Contains(reason, "pod_anti_affinity.required") {
		t.Errorf("a is refused: %q", reason)
	}
	if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "odd", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(web, "a", "b")
}

// The size of an image only affects scores.
func TestAnOddImageSizeLeavesItsNodeOpen(t *testing.T) {
	odd := makeNode("a", "z1")
	odd.Status.Images = []corev1.ContainerImage{{Names: []string{"web:v1"}, SizeBytes: -1}}
	w := start(t, live.Options{}, odd, makeNode("b", "z1"))
	w.feasible(makePod("web", "web", corev1.LabelHostname), "a", "b")
	if n := w.refused("Node"); n != 0 {
		t.Errorf("%d nodes are refused", n)
	}
}

// One odd object of each kind among good ones changes nothing for the others.
func TestOneOddObjectOfEachKind(t *testing.T) {
	long := strings.Repeat("x", 400) // than a label's key may be
	labels := map[string]string{long: "odd"}
	node := makeNode("odd", "z3")
	node.Labels[long] = "odd"
	pod := on(makePod("odd", "odd", corev1.LabelHostname), "a")
	pod.Labels[long] = "odd"
	meta := metav1.ObjectMeta{Name: "odd", Namespace: "default", UID: "odd"}
	for kind, odd := range map[string]runtime.Object{
		"Node": node, "Pod": pod,
		"Namespace":             &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "odd", UID: "odd", Labels: labels}},
		"Service":               &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels}},
		"ReplicationController": &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: labels}},
		"ReplicaSet":            &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}},
		"StatefulSet":           &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}},
		"PodDisruptionBudget":   &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}},
	} {
		t.Run(kind, func(t *testing.T) {
			good := []runtime.Object{
				makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z2"),
				on(makePod("web-1", "web", corev1.LabelTopologyZone), "a"),
				on(makePod("team", "team", corev1.LabelHostname), "b"),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "n", Labels: map[string]string{"team": "a"}}},
				&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "s"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
			}
			w := start(t, live.Options{}, append(good, odd)...)
			w.feasible(makePod("web-2", "web", corev1.LabelTopologyZone), "b", "c")
			big := makePod("big", "big", corev1.LabelHostname)
			big.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3950m")
			w.feasible(big, "c")
			elsewhere := makePod("elsewhere", "x", corev1.LabelHostname)
			elsewhere.Namespace = "other"
			term := &elsewhere.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
			term.LabelSelector, term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "team"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
			w.feasible(elsewhere, without(kind == "Pod", "a", "a", "c")...)
			if n := w.refused(kind); n != 1 {
				t.Errorf("%d refused objects of kind %s are reported", n, kind)
			}
		})
	}
}
