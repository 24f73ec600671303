package convert_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// TestSumsAreRoundedAsKubeSchedulerRoundsThem holds, for random pods with fractions, that what the contract states adds up
// to what kube-scheduler takes the pod to request.
func TestSumsAreRoundedAsKubeSchedulerRoundsThem(t *testing.T) {
	missing := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("200Mi"),
	}
	rapid.Check(t, func(t *rapid.T) {
		p := randomPod(t, false)
		pending, err := convert.PendingPod(p)
		if err != nil {
			t.Fatal(err)
		}
		same(t, p, convert.WholePod(pending), skew.RequestOptions{})

		p = randomPod(t, true)
		running, err := convert.RunningPod(p)
		if err != nil {
			t.Fatal(err)
		}
		o := skew.RequestOptions{Status: true}
		same(t, p, convert.WholePod(running), o)
		// Overhead is rounded on top of the sum above, which may not be the one that stand-ins make the largest.
		if p.Spec.Overhead == nil {
			o.Missing = missing
			same(t, p, convert.WholePod(running), o)
		}
	})
}

// podLevelStatus is the option of kube-scheduler's arithmetic, since v1.35, for the status of the pod as a whole.
const podLevelStatus = "InPlacePodLevelResourcesVerticalScalingEnabled"

// requests adds up a pod's requests with component-helpers, whose v1.37 is kube-scheduler's arithmetic.
func requests(t *rapid.T, p *corev1.Pod, o skew.RequestOptions) corev1.ResourceList {
	out := skew.PodRequests(p, o)
	upstream := resourcehelper.PodResourcesOptions{UseStatusResources: o.Status, NonMissingContainerRequests: o.Missing}
	if _, newest := reflect.TypeFor[batchv1.JobSpec]().FieldByName("Scheduling"); newest {
		reflect.ValueOf(&upstream).Elem().FieldByName(podLevelStatus).SetBool(true)
		if want := resourcehelper.PodRequests(p, upstream); !equality.Semantic.DeepEqual(out, want) {
			t.Fatalf("got %v, want %v, of %v", out, want, p)
		}
	}
	return out
}

func same(t *rapid.T, exact, whole *corev1.Pod, o skew.RequestOptions) {
	want, got := requests(t, exact, o), requests(t, whole, o)
	names := slices.Sorted(maps.Keys(want))
	if !slices.Equal(names, slices.Sorted(maps.Keys(got))) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for _, name := range names {
		w, g := want[name], got[name]
		if name == corev1.ResourceCPU && w.MilliValue() != g.MilliValue() || name != corev1.ResourceCPU && w.Value() != g.Value() {
			t.Fatalf("%s: got %s, want %s rounded up, of %v", name, g.String(), w.String(), exact)
		}
	}
}

// randomPod has been through an API server, so that nothing is added to it.
func randomPod(t *rapid.T, running bool) *corev1.Pod {
	amounts := rapid.SampledFrom([]string{"0", "1", "3", "100m", "250m", "999m", "1500m", "1n", "10u", "1Gi", "1Gi1", "2500n"})
	list := func(names ...corev1.ResourceName) corev1.ResourceList {
		if rapid.IntRange(0, 3).Draw(t, "absent") == 0 {
			return nil
		}
		out := corev1.ResourceList{}
		for _, name := range names {
			text := amounts.Draw(t, string(name))
			if text == "1Gi1" {
				text = "1073741824900m"
			}
			if rapid.Bool().Draw(t, "stated") {
				out[name] = resource.MustParse(text)
			}
		}
		return out
	}
	all := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, "example.com/x"}
	podLevel := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	p := &corev1.Pod{}
	p.UID, p.Name, p.Namespace = "u", "p", "default"
	status := func(name string) corev1.ContainerStatus {
		out := corev1.ContainerStatus{Name: name, AllocatedResources: list(all...)}
		if rapid.Bool().Draw(t, "resources") {
			out.Resources = &corev1.ResourceRequirements{Requests: list(all...)}
		}
		return out
	}
	for _, name := range []string{"i1", "i2", "i3"}[:rapid.IntRange(0, 3).Draw(t, "init")] {
		c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list(all...)}}
		if rapid.Bool().Draw(t, "sidecar") {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		if running && rapid.Bool().Draw(t, "status") {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status(name))
		}
	}
	for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "containers")] {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list(all...)}})
		if running && rapid.Bool().Draw(t, "status") {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status(name))
		}
	}
	p.Spec.Overhead = list(podLevel...)
	if rapid.Bool().Draw(t, "pod level") {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: list(podLevel...)}
	}
	if running && rapid.Bool().Draw(t, "pod-level status") {
		var actuated *corev1.ResourceRequirements
		if rapid.Bool().Draw(t, "resources") {
			actuated = &corev1.ResourceRequirements{Requests: list(podLevel...)}
		}
		skew.SetPodStatusResources(&p.Status, list(podLevel...), actuated)
	}
	if running && rapid.Bool().Draw(t, "infeasible") {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
	}
	return p
}
