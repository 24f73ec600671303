package kube_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// TestEveryFieldIsUsedToldOrIrrelevant holds that each field of a pod and a node is in exactly one of the tables, so that
// a field of a new release makes the test fail, and that the tables are right: without a used field the object converts to
// something else, with a reported one the snapshot says so, and with an irrelevant one nothing is different.
func TestEveryFieldIsUsedToldOrIrrelevant(t *testing.T) {
	known := map[string]bool{}
	for _, root := range []any{corev1.PodSpec{}, corev1.PodStatus{}, corev1.NodeSpec{}, corev1.NodeStatus{}} {
		everyField(reflect.TypeOf(root), reflect.TypeOf(root).Name(), func(key string) {
			known[key] = true
			used, told, irrelevant := usedFields[key], toldFields[key].object, irrelevantFields[key]
			switch {
			case used != "" && told == "" && irrelevant == "":
				object := fieldOf(t, key, used)
				with := object.converted(t)
				object.clear()
				if object.converted(t) == with {
					t.Errorf("%s is not used", key)
				}
			case used == "" && told != "" && irrelevant == "":
				object, at := fieldOf(t, key, told), toldFields[key].at
				if text := object.converted(t); !strings.Contains(text, at) {
					t.Errorf("%s is not told as %s in\n%s", key, at, text)
				}
				object.clear()
				if text := object.converted(t); strings.Contains(text, at) {
					t.Errorf("%s is told where it is absent", key)
				}
			case used == "" && told == "" && irrelevant != "":
				object := fieldOf(t, key, ordinary)
				object.clear()
				without := object.converted(t)
				object.fill()
				if with := object.converted(t); with != without {
					t.Errorf("%s is not irrelevant: with it\n%s\nwithout\n%s", key, with, without)
				}
			default:
				t.Errorf("%s must be in exactly one table", key)
			}
		})
	}
	for _, table := range [][]string{keys(usedFields), keys(toldFields), keys(irrelevantFields), keys(nestedFields)} {
		for _, key := range table {
			if newest && !known[key] && !nestedFields[key] {
				t.Errorf("%s is no field", key)
			}
		}
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func everyField(of reflect.Type, prefix string, yield func(key string)) {
	for field := range of.Fields() {
		key := prefix + "." + field.Name
		if nestedFields[key] {
			inner := field.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			everyField(inner, key, yield)
			continue
		}
		yield(key)
	}
}

// fieldInObject is a field of a pod or a node.
type fieldInObject struct {
	pod   *corev1.Pod
	node  *corev1.Node
	field reflect.Value
}

// fieldOf finds a field by its key in an object, making what is around it.
func fieldOf(t *testing.T, key, text string) fieldInObject {
	steps := strings.Split(key, ".")
	var out fieldInObject
	var v reflect.Value
	if strings.HasPrefix(steps[0], "Node") {
		out.node = parse[corev1.Node](t, text)
		out.node.Name = "n"
		v = reflect.ValueOf(out.node).Elem()
	} else {
		out.pod = parse[corev1.Pod](t, text)
		out.pod.Name = "p"
		v = reflect.ValueOf(out.pod).Elem()
	}
	v = v.FieldByName(strings.TrimPrefix(strings.TrimPrefix(steps[0], "Node"), "Pod"))
	for _, name := range steps[1:] {
		for v.Kind() != reflect.Struct {
			if v.Kind() == reflect.Slice {
				if v.Len() == 0 {
					v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				}
				v = v.Index(0)
				continue
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByName(name)
	}
	out.field = v
	return out
}

func (f fieldInObject) clear() { f.field.SetZero() }
func (f fieldInObject) fill()  { fill(f.field, 4) }

func fill(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(1, 0)))
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("7")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth-1)
		fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, depth-1)
			}
		}
	}
}

// converted is all that becomes of the object: of a pod as one to be placed and as one on a node.
func (f fieldInObject) converted(t *testing.T) string {
	t.Helper()
	b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}, WholeDevices: true})
	must(t, b.AddResourceClaimTemplate(parse[resourcev1.ResourceClaimTemplate](t, `{metadata: {name: t}}`)))
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: m}, status: {allocatable: {pods: 9}}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: other, uid: u}}`)))
	var out string
	if f.node != nil {
		out = fmt.Sprint(b.AddNode(f.node))
	} else {
		added := b.AddPod(f.pod)
		running, err := kube.RunningPod(f.pod)
		out = fmt.Sprint(added, err) + prototext.Format(running)
	}
	s := build(t, b)
	out += prototext.Format(s.PlaceRequest()) + fmt.Sprint(waiting(s), told(s.Unread))
	// prototext varies its white space from build to build, not within one.
	return out
}

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
