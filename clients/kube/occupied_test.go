package kube_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// occupying is a pod on a node with something in every field that decisions about others read.
func occupying() *corev1.Pod {
	term := func(app string) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	}
	gpu := corev1.ResourceName("example.com/gpu")
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "1", Labels: map[string]string{"app": "web", "statefulset.kubernetes.io/pod-name": "web-0"}},
		Spec: corev1.PodSpec{
			Priority: new(int32(7)),
			Containers: []corev1.Container{{
				Name:      "c",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), gpu: resource.MustParse("2")}},
				Ports:     []corev1.ContainerPort{{HostPort: 80}},
			}},
			InitContainers: []corev1.Container{{Name: "i", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}}},
			Overhead:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
			Affinity: &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term("a")},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term("b")}},
				},
				PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term("c")},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term("d")}},
				},
			},
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c",
			AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3"), gpu: resource.MustParse("2")}}}},
	}
}

func TestOccupyingPodStatesWhatOthersRead(t *testing.T) {
	p := occupying()
	want, err := kube.RunningPod(p)
	if err != nil {
		t.Fatal(err)
	}
	got := convert.OccupyingPod(p)
	if got.Amounts != nil || got.Terms != nil || !proto.Equal(want, got.Pod) {
		t.Errorf("%v, %v: %v\nwant %v", got.Amounts, got.Terms, got.Pod, want)
	}
	// Nothing else changes it, whether it can be read or not.
	odd := corev1.NodeSelectorRequirement{Key: "disk", Operator: "Near", Values: []string{"ssd,hdd"}}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
	p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{odd}}}},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{odd}}}},
	}
	p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Near", Effect: "NoBoot"}}
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: "Perhaps"}}
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
	p.Spec.Containers[0].Image = "web:v1"
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:v1"}}}}
	if got := convert.OccupyingPod(p); got.Amounts != nil || got.Terms != nil || !proto.Equal(want, got.Pod) {
		t.Errorf("%v, %v: %v\nwant %v", got.Amounts, got.Terms, got.Pod, want)
	}
}

func TestOccupyingPodLosesNoMoreThanWhatIsOdd(t *testing.T) {
	unknown := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	for _, c := range []struct {
		name           string
		odd            func(*corev1.Pod)
		without        func(*stowagev1.PodTemplate)
		terms, amounts string // parts of the errors
	}{
		{"a required term", func(p *corev1.Pod) {
			p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = unknown
		}, func(t *stowagev1.PodTemplate) { t.Spec.Affinity.PodAffinity.Required = nil },
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector", ""},
		{"a preferred anti-affinity term", func(p *corev1.Pod) {
			p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector = unknown
		}, func(t *stowagev1.PodTemplate) { t.Spec.Affinity.PodAntiAffinity.Preferred = nil },
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm", ""},
		{"a protocol", func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].Protocol = "QUIC" },
			func(t *stowagev1.PodTemplate) {
				t.Spec.Containers[0].HostPorts[0].Protocol = stowagev1.Protocol_PROTOCOL_UNSPECIFIED
			}, "", "spec.containers[0].ports[0].protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := occupying()
			want := convert.OccupyingPod(p).Pod
			c.without(want.GetTemplate())
			c.odd(p)
			got := convert.OccupyingPod(p)
			if !proto.Equal(want, got.Pod) {
				t.Errorf("%v\nwant %v", got.Pod, want)
			}
			for _, e := range []struct {
				err  error
				want string
			}{{got.Terms, c.terms}, {got.Amounts, c.amounts}} {
				if (e.err != nil) != (e.want != "") || e.err != nil && !strings.Contains(e.err.Error(), e.want) {
					t.Errorf("%v, want %q", e.err, e.want)
				}
			}
		})
	}
}

// TestRejectedPodsKeepTheirClaims expects that a pod on a node still uses its claims if the server rejects its resources, and loses them
// only if it rejects these. In both cases what it uses of its node is not clear.
func TestRejectedPodsKeepTheirClaims(t *testing.T) {
	claim := &stowagev1.Volume{Source: &stowagev1.Volume_PersistentVolumeClaim{
		PersistentVolumeClaim: &stowagev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}
	template := &stowagev1.PodTemplate{Namespace: "shop", Spec: &stowagev1.PodSpec{
		Containers: []*stowagev1.Container{{Name: "c"}}, Volumes: []*stowagev1.Volume{claim},
	}}
	for field, want := range map[string][2]int{
		"spec.containers[0].name": {0, 1}, "spec.volumes[0].persistent_volume_claim.claim_name": {1, 0},
	} {
		got, unclear, ok := convert.Less(template, field)
		if !ok || !unclear || len(got.Spec.Containers) != want[0] || len(got.Spec.Volumes) != want[1] {
			t.Errorf("%s: %v, unclear %v, %v", field, got, unclear, ok)
		}
	}
}
