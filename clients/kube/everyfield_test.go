package kube_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// fieldRoot is a part of an object whose fields are in the tables, by the first step of their keys.
type fieldRoot struct {
	of    reflect.Type
	field string // of the object; empty for the object itself
	name  string // of the object
	parse func(t *testing.T, text string) metav1.Object
	add   func(b *kube.Builder, o metav1.Object) error
}

func rootOf[T any, P interface {
	*T
	metav1.Object
}](part any, field, name string, add func(*kube.Builder, P) error) fieldRoot {
	root := fieldRoot{field: field, name: name, of: reflect.TypeFor[T]()}
	if part != nil {
		root.of = reflect.TypeOf(part)
	}
	root.parse = func(t *testing.T, text string) metav1.Object {
		out := P(parse[T](t, text))
		out.SetName(name)
		return out
	}
	root.add = func(b *kube.Builder, o metav1.Object) error { return add(b, o.(P)) }
	return root
}

var fieldRoots = map[string]fieldRoot{
	"PodSpec":               rootOf(corev1.PodSpec{}, "Spec", "p", (*kube.Builder).AddPod),
	"PodStatus":             rootOf(corev1.PodStatus{}, "Status", "p", (*kube.Builder).AddPod),
	"NodeSpec":              rootOf(corev1.NodeSpec{}, "Spec", "n", (*kube.Builder).AddNode),
	"NodeStatus":            rootOf(corev1.NodeStatus{}, "Status", "n", (*kube.Builder).AddNode),
	"StorageClass":          rootOf(nil, "", "s", (*kube.Builder).AddStorageClass),
	"CSIDriver":             rootOf(nil, "", "d", (*kube.Builder).AddCSIDriver),
	"CSINode":               rootOf(nil, "", "m", (*kube.Builder).AddCSINode),
	"CSIStorageCapacity":    rootOf(nil, "", "c", (*kube.Builder).AddCSIStorageCapacity),
	"VolumeAttachment":      rootOf(nil, "", "a", (*kube.Builder).AddVolumeAttachment),
	"PersistentVolume":      rootOf(nil, "", "w", (*kube.Builder).AddPersistentVolume),
	"PersistentVolumeClaim": rootOf(nil, "", "c", (*kube.Builder).AddPersistentVolumeClaim),
	"ResourceSlice":         rootOf(nil, "", "s", (*kube.Builder).AddResourceSlice),
	"DeviceClass":           rootOf(nil, "", "c", (*kube.Builder).AddDeviceClass),
	"ResourceClaim":         rootOf(nil, "", "c", (*kube.Builder).AddResourceClaim),
	"ResourceClaimTemplate": rootOf(nil, "", "u", (*kube.Builder).AddResourceClaimTemplate),
	// The types of all versions of the group have the same fields since v1.37, and version v1 is new in that release.
	"DeviceTaintRule": rootOf(nil, "", "r", func(b *kube.Builder, r *resourcev1alpha3.DeviceTaintRule) error { return b.AddDeviceTaintRule(r) }),
	// Nothing adds it: kube-scheduler compares the names of these classes.
	"VolumeAttributesClass": rootOf(nil, "", "v", func(*kube.Builder, *storagev1.VolumeAttributesClass) error { return nil }),
}

// usedFields are all fields that the conversion reads.
var usedFields = func() map[string]string {
	all := maps.Clone(podFields)
	maps.Copy(all, storageFields)
	maps.Copy(all, deviceFields)
	return all
}()

// nestedFields are the fields whose own fields are in the tables.
var nestedFields = func() map[string]bool {
	nested := map[string]bool{}
	for key := range tables() {
		for i := range key {
			if key[i] == '.' {
				nested[key[:i]] = true
			}
		}
	}
	return nested
}()

// tables iterates over the keys of all tables.
func tables() map[string]int {
	all := map[string]int{}
	for _, keys := range [][]string{
		slices.Collect(maps.Keys(podFields)), slices.Collect(maps.Keys(storageFields)), slices.Collect(maps.Keys(deviceFields)),
		slices.Collect(maps.Keys(toldFields)), slices.Collect(maps.Keys(refusedFields)), slices.Collect(maps.Keys(irrelevantFields)),
	} {
		for _, key := range keys {
			all[key]++
		}
	}
	return all
}

// TestEveryFieldIsUsedToldRefusedOrIrrelevant holds that each field of a pod, a node, and of the objects of storage and devices is in exactly
// one of the tables, so that a field of a new release makes the test fail, and that the tables are right: without a used field the object
// converts to something else, with a reported one the snapshot says so, a refused one is an error that names it, and with an irrelevant one
// nothing is different.
func TestEveryFieldIsUsedToldRefusedOrIrrelevant(t *testing.T) {
	known, all := map[string]bool{}, tables()
	for name, root := range fieldRoots {
		if name == "DeviceTaintRule" && !newest {
			continue
		}
		everyField(root.of, name, func(key string) {
			if known[key] = true; all[key] != 1 {
				t.Errorf("%s must be in exactly one table", key)
				return
			}
			t.Run(key, func(t *testing.T) { checkField(t, root, key) })
		})
	}
	for key := range all {
		if newest && !known[key] {
			t.Errorf("%s is no field", key)
		}
	}
}

func checkField(t *testing.T, root fieldRoot, key string) {
	if used, ok := usedFields[key]; ok {
		object := fieldOf(t, root, key, used)
		with := object.converted(t)
		object.each(reflect.Value.SetZero)
		if object.converted(t) == with {
			t.Errorf("%s is not used", key)
		}
		return
	}
	if told, ok := toldFields[key]; ok {
		object := fieldOf(t, root, key, told.object)
		if text := object.converted(t); !strings.Contains(text, told.at) {
			t.Errorf("%s is not told as %s in\n%s", key, told.at, text)
		}
		object.each(reflect.Value.SetZero)
		if text := object.converted(t); strings.Contains(text, told.at) {
			t.Errorf("%s is told where it is absent", key)
		}
		return
	}
	if refused, ok := refusedFields[key]; ok {
		object := fieldOf(t, root, key, refused)
		if text := object.converted(t); !strings.Contains(text, "off in v1.37") {
			t.Errorf("%s is not refused in\n%s", key, text)
		}
		return
	}
	object := fieldOf(t, root, key, neighbour(key))
	object.each(reflect.Value.SetZero)
	without := object.converted(t)
	object.each(func(v reflect.Value) { fill(v, 4) })
	if with := object.converted(t); with != without {
		t.Errorf("%s is not irrelevant: with it\n%s\nwithout\n%s", key, with, without)
	}
}

// neighbour returns an object with a used field that is as near to a field as any, so that what an irrelevant field could change is there. A
// volume has one source.
func neighbour(key string) string {
	steps := strings.Split(key, ".")
	if strings.HasSuffix(steps[len(steps)-2], "VolumeSource") {
		steps = steps[:len(steps)-1]
	}
	for n := len(steps) - 1; n > 0; n-- {
		near := strings.Join(steps[:n], ".") + "."
		for _, used := range slices.Sorted(maps.Keys(usedFields)) {
			if strings.HasPrefix(used, near) {
				return usedFields[used]
			}
		}
	}
	return `{}`
}

func everyField(of reflect.Type, prefix string, yield func(key string)) {
	for field := range of.Fields() {
		key := prefix + "." + field.Name
		switch {
		case !strings.Contains(prefix, ".") && (field.Name == "ObjectMeta" || field.Name == "TypeMeta"):
		case nestedFields[key]:
			inner := field.Type
			for inner.Kind() != reflect.Struct {
				inner = inner.Elem()
			}
			everyField(inner, key, yield)
		default:
			yield(key)
		}
	}
}

// fieldInObject is a field of an object.
type fieldInObject struct {
	root   fieldRoot
	object metav1.Object
	steps  []string
}

func fieldOf(t *testing.T, root fieldRoot, key, text string) fieldInObject {
	steps := strings.Split(key, ".")[1:]
	if root.field != "" {
		steps = append([]string{root.field}, steps...)
	}
	return fieldInObject{root, root.parse(t, text), steps}
}

// each changes the field, making what is around it: of a list the first element, of a map each.
func (f fieldInObject) each(change func(reflect.Value)) {
	within(reflect.ValueOf(f.object).Elem(), f.steps, change)
}

func within(v reflect.Value, steps []string, change func(reflect.Value)) {
	switch {
	case len(steps) == 0:
		change(v)
	case v.Kind() == reflect.Struct:
		within(v.FieldByName(steps[0]), steps[1:], change)
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		within(v.Index(0), steps, change)
	case v.Kind() == reflect.Map:
		if v.Len() == 0 {
			fill(v, 2)
		}
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			within(element, steps, change)
			v.SetMapIndex(key, element)
		}
	default:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		within(v.Elem(), steps, change)
	}
}

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
	case reflect.Uint8:
		v.SetUint(7)
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
	b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}, WholeDevices: true, WholeStorage: true})
	must(t, b.AddResourceClaimTemplate(parse[resourcev1.ResourceClaimTemplate](t, `{metadata: {name: t}}`)))
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: m}, status: {allocatable: {pods: 9}}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: other, uid: u}}`)))
	out := fmt.Sprint(f.root.add(b, f.object))
	switch o := f.object.(type) {
	case *corev1.Pod:
		running, err := kube.RunningPod(o)
		out += fmt.Sprint(err) + prototext.Format(running)
	case *corev1.Node:
	default: // objects that have an effect on others
		must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, `{metadata: {name: v, uid: v}, spec: {csi: {driver: d, volumeHandle: h}}}`)))
		must(t, b.AddResourceSlice(parse[resourcev1.ResourceSlice](t, `{metadata: {name: gpus}, spec: {driver: d, nodeName: m, pool: {name: q}, devices: [{name: a}]}}`)))
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: user}, spec: {resourceClaims: [{name: c, resourceClaimTemplateName: u}]}}`)))
	}
	s := build(t, b)
	out += prototext.Format(s.PlaceRequest()) + fmt.Sprint(waiting(s), told(s.Unread))
	for _, e := range s.Queue {
		out += fmt.Sprint(e.Pods.Pod.Unread)
	}
	for _, m := range s.Misreads {
		out += m.Error()
	}
	// prototext varies its white space from build to build, not within one.
	return out
}
