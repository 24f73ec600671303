package extender

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-scheduler serves the resource with devices, so whether a node has it is for its own plugins to say.
func TestResourcesThatADeviceClassServesAreLeftToKubeScheduler(t *testing.T) {
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpus", UID: "gpus"},
		Spec:       resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/gpu")},
	}
	w := start(t, Options{}, class, makeNode("a", "z1"), makeNode("b", "z2"))
	for name, want := range map[corev1.ResourceName]int{"example.com/gpu": 2, "example.com/other": 0} {
		pod := makePod("p", "p")
		pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse("1")
		if got := w.filter(pod, "a", "b"); got.Error != "" || len(*got.NodeNames) != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// For a pod on which kube-scheduler's own plugins would fail, the answer is an error without nodes: neither preemption nor an
// autoscaler can help.
func TestUnparsablePods(t *testing.T) {
	prefers := makePod("prefers", "p")
	prefers.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: selecting("ssd,hdd"),
			}}},
	}}
	spreads := makePod("spreads", "p")
	spreads.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting("ssd,hdd"),
	}}
	likes := makePod("likes", "p")
	likes.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{
				Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"many"}},
				}},
			},
		}}}
	for _, decide := range []Decide{AtBind, AtFilter} {
		w := start(t, Options{Decide: decide}, makeNode("a", "z1"), makeNode("b", "z2"))
		for _, c := range []struct {
			pod    *corev1.Pod
			alone  bool // whether it can go to a node that is the only one, which is not scored
			plugin string
		}{{spreads, false, `running PreFilter plugin "PodTopologySpread"`}, {likes, true, `running PreScore plugin "NodeAffinity"`}} {
			for _, nodes := range [][]string{{"a"}, {"a", "b"}} {
				got := w.filter(c.pod, nodes...)
				fits := c.alone && len(nodes) == 1
				if fits != (len(*got.NodeNames) > 0) || fits != (got.Error == "") || !fits && !strings.Contains(got.Error, c.plugin) ||
					len(got.FailedNodes)+len(got.FailedAndUnresolvableNodes) > 0 {
					t.Errorf("%s, %s of %v: %+v", decide, c.pod.Name, nodes, got)
				}
			}
		}
		// InterPodAffinity rejects every node instead.
		got := w.filter(prefers, "a", "b")
		if len(*got.NodeNames) > 0 || got.Error != "" || len(got.FailedNodes) > 0 {
			t.Errorf("%s, %s: %+v", decide, prefers.Name, got)
		}
		for _, node := range []string{"a", "b"} {
			if reason := got.FailedAndUnresolvableNodes[node]; !strings.HasPrefix(reason, "parsing pod: preferredAffinityTerms: ") {
				t.Errorf("%s, %s on %s: %q", decide, prefers.Name, node, reason)
			}
		}
		if got := w.filter(makePod("good", "good"), "a", "b"); len(*got.NodeNames) == 0 {
			t.Errorf("%s: %+v", decide, got)
		}
	}
}

func selecting(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{value}},
	}}
}

// What the contract does not state is judged by kube-scheduler's own plugins, and so does not keep a pod from being answered.
func TestWhatKubeSchedulersPluginsJudge(t *testing.T) {
	p := makePod("p", "p")
	p.Spec.Volumes = []corev1.Volume{
		{
			Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}},
		},
	}
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r", ResourceClaimName: new("r")}}
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("nowhere")}
	p.Spec.Containers[0].Resources.Requests["deviceclass.resource.kubernetes.io/gpu"] = resource.MustParse("1")
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"))
	if got := w.filter(p, "a", "b"); !slices.Equal(*got.NodeNames, []string{"a", "b"}) {
		t.Errorf("%+v", got)
	}
	if got := w.prioritize(p, "a", "b"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	// Others do not go beyond what nodes have of them.
	p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	if got := w.filter(p, "a"); !strings.Contains(got.FailedAndUnresolvableNodes["a"], "Insufficient example.com/gpu") {
		t.Errorf("%+v", got)
	}
}

// The resources of a pod on a node count even if the rest of the pod cannot be converted. If its resources cannot be
// converted either, the node accepts no pods.
func TestNodesFullOfOddPods(t *testing.T) {
	full := func(name, node string, odd func(*corev1.PodSpec)) *corev1.Pod {
		p := on(makePod(name, "odd"), node)
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
		odd(&p.Spec)
		return p
	}
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z3"),
		full("unparsable", "a", func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
					{
						Weight: 1, Preference: corev1.NodeSelectorTerm{
							MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: "Near", Values: []string{"ssd,hdd"}}},
						},
					},
				}}}
		}),
		full("unknown", "b", func(s *corev1.PodSpec) {
			s.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("-1")
		}))
	p := makePod("p", "p")
	if got := w.filter(p, "a", "b", "c"); !slices.Equal(*got.NodeNames, []string{"c"}) {
		t.Errorf("%+v", got)
	}
	got := w.filter(p, "a", "b")
	if len(*got.NodeNames) > 0 || got.FailedAndUnresolvableNodes["a"] != "Insufficient cpu" ||
		got.FailedAndUnresolvableNodes["b"] != "node(s) were refused by Stowage" {
		t.Errorf("%+v", got)
	}
	for _, node := range []string{"a", "b"} {
		w.create(p)
		if err := w.bindTo(p, node); err == "" {
			t.Errorf("bound to %s", node)
		}
		if err := w.api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", "p"); err != nil {
			t.Fatal(err)
		}
	}
}
