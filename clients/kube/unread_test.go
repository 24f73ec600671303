package kube_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// Objects that other objects than the pod itself leave unread.
func TestSurroundingsAreTold(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	pod := func(text string) { must(t, b.AddPod(parse[corev1.Pod](t, text))) }
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddDeviceClass(parse[resourcev1.DeviceClass](t, `{metadata: {name: gpus}, spec: {extendedResourceName: example.com/gpu}}`)))
	must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: high}, value: 10}`)))
	must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: usual}, value: 3, globalDefault: true}`)))
	pod(`{metadata: {name: gpu, uid: u}, spec: {priority: 11, containers: [{resources: {requests: {example.com/gpu: 1}}}, {resources: {requests: {example.com/gpu: 0}}}]}}`)
	pod(`{metadata: {name: free, namespace: small}, spec: {priorityClassName: high, containers: [{name: c}]}}`)
	pod(`{metadata: {name: stated, namespace: small}, spec: {priorityClassName: unknown, containers: [{resources: {limits: {memory: 1}}}]}}`)
	pod(`{metadata: {name: exists, namespace: small, uid: u}, spec: {priorityClassName: unknown, priority: 4, containers: [{name: c}]}}`)
	pod(`{metadata: {name: critical}, spec: {priorityClassName: system-node-critical}}`)
	pod(`{metadata: {name: usual}, spec: {}}`)
	s := build(t, b)
	want := map[string][]string{
		"gpu":      {"Pod default/gpu spec.containers[0].resources.requests[example.com/gpu]"},
		"free":     nil,
		"stated":   {"Pod small/stated spec.priorityClassName"},
		"exists":   nil,
		"critical": nil,
		"usual":    nil,
	}
	priorities := map[string]int32{"free": 10, "critical": 2_000_001_000, "usual": 3}
	for _, e := range s.Queue {
		diff(t, want[e.Origin.Name], told(e.Pods.Pod.Unread))
		if p, ok := priorities[e.Origin.Name]; ok {
			diff(t, p, s.Cluster.PodTemplates[e.Pods.Pod.GetTemplateIndex()].Spec.Priority)
		}
	}
}

// A pod on a node that is about to be created would occupy more than it states.
func TestPodsOnNodesAreTold(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: kata}, spec: {nodeName: a, runtimeClassName: kata, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: kata2}, spec: {nodeName: a, runtimeClassName: kata, containers: [{name: c}]}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: there, uid: u}, spec: {nodeName: a, runtimeClassName: kata, containers: [{name: c}]}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: asked, uid: u}}`)))
	s := build(t, b)
	diff(t, []string{"Pod default/kata spec.runtimeClassName"}, told(s.Queue[0].Pods.Pod.Unread))
}

// Each pod of a workload names the workload and the field as its manifest has them.
func TestWorkloadsTellTheirFields(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: other}, provisioner: p}`))) // part of a cluster's storage
	must(t, b.AddStatefulSet(parse[appsv1.StatefulSet](t, `
metadata: {name: db}
spec:
  replicas: 2
  selector: {}
  volumeClaimTemplates: [{metadata: {name: data}}]
  template: {spec: {volumes: [{name: e, emptyDir: {}}, {name: more, persistentVolumeClaim: {claimName: more}}], resourceClaims: [{name: gpu}]}}
`)))
	s := build(t, b)
	want := []string{
		"StatefulSet default/db spec.volumeClaimTemplates[0]",
		"StatefulSet default/db spec.template.spec.volumes[1].persistentVolumeClaim",
		"StatefulSet default/db spec.template.spec.resourceClaims[0]",
	}
	diff(t, want, told(s.Unread))
	for _, e := range s.Queue {
		diff(t, want, told(e.Pods.Pod.Unread))
	}
	diff(t, want, told(s.Scalables[0].Pod.Unread))
}

// A pod carries at most that many fields; more is no error.
func TestUnreadFieldsAreBounded(t *testing.T) {
	p := &corev1.Pod{}
	for range 2000 {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "c"})
	}
	got, err := convert.PendingPod(p)
	must(t, err)
	if len(got.Unread) != 1000 {
		t.Errorf("%d fields", len(got.Unread))
	}
}
