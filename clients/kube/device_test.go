package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// fakeSelectors evaluates expressions of the form "name=value", which compare an attribute.
type fakeSelectors struct{}

func (fakeSelectors) Compile(expression string) error {
	if !strings.Contains(expression, "=") {
		return errors.New("no =")
	}
	return nil
}

func (fakeSelectors) Reads(expression, domain, name string) bool {
	return strings.HasPrefix(expression, domain+"/"+name+"=")
}

func (fakeSelectors) Match(expression, driver string, d *resourcev1.Device) (bool, error) {
	name, value, _ := strings.Cut(expression, "=")
	for key, a := range d.Attributes {
		if string(key) == name || driver+"/"+string(key) == name {
			return *a.StringValue == value, nil
		}
	}
	return false, fmt.Errorf("no such key: %s", name)
}

const gpuSlices = `
metadata: {name: %[1]s}
spec:
  driver: gpu
  nodeName: %[1]s
  pool: {name: %[1]s, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {model: {string: big}, uuid: {string: %[1]s-a}, index: {int: 0}}, capacity: {memory: {value: 40Gi}}}
  - {name: b, attributes: {model: {string: big}, uuid: {string: %[1]s-b}, index: {int: 0}}, capacity: {memory: {value: 40Gi}}}
  - {name: c, attributes: {model: {string: small}, uuid: {string: %[1]s-c}}}
`

func gpuCluster(t *testing.T, nodes int) *kube.Builder {
	t.Helper()
	b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}})
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: `+name+`}}`)))
		must(t, b.AddResourceSlice(parse[resourcev1.ResourceSlice](t, fmt.Sprintf(gpuSlices, name))))
	}
	must(t, b.AddDeviceClass(parse[resourcev1.DeviceClass](t, `{metadata: {name: gpu}, spec: {selectors: [{cel: {expression: gpu/model=big}}], extendedResourceName: x.test/gpu}}`)))
	must(t, b.AddResourceClaimTemplate(parse[resourcev1.ResourceClaimTemplate](t,
		`{metadata: {name: two}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2}}]}}}}`)))
	return b
}

// Devices that differ in what no expression reads share a type, and each expression is evaluated for each type.
func TestDeviceTypes(t *testing.T) {
	s := build(t, gpuCluster(t, 40))
	c := s.Cluster
	if len(c.DeviceTypes) != 2 || len(c.DeviceExpressions) != 1 || len(c.ResourceSlices) != 40 {
		t.Fatalf("%d types, %d expressions, %d slices", len(c.DeviceTypes), len(c.DeviceExpressions), len(c.ResourceSlices))
	}
	e, devices := c.DeviceExpressions[0], c.ResourceSlices[7].Devices
	if e.Name != convert.ExpressionName("gpu/model=big") || e.Text != "gpu/model=big" || c.DeviceClasses[0].Selectors[0].Expression != e.Name {
		t.Errorf("the expression is %v", e)
	}
	if len(e.Matches) != 1 || len(e.Mismatches) != 1 || e.Matches[0] != devices[0].Type || e.Mismatches[0] != devices[2].Type ||
		devices[0].Type != devices[1].Type {
		t.Errorf("%v of %v", e, devices)
	}
	diff(t, []string{"uuid"}, attributeNames(devices[0].Attributes))
	for _, kind := range c.DeviceTypes {
		if kind.Name == devices[0].Type {
			diff(t, []string{"index", "model"}, attributeNames(kind.Attributes))
			diff(t, int64(40)<<30*1000, kind.Capacities[0].Value)
		}
	}
}

func attributeNames(of []*stowagev1.DeviceAttribute) (out []string) {
	for _, a := range of {
		out = append(out, a.Name)
	}
	return out
}

// An attribute that an expression reads is the type's, however many values it has. Errors are by type.
func TestDeviceTypesOfReadAttributes(t *testing.T) {
	b := gpuCluster(t, 40)
	must(t, b.AddDeviceClass(parse[resourcev1.DeviceClass](t, `{metadata: {name: one}, spec: {selectors: [{cel: {expression: gpu/uuid=n3-b}}, {cel: {expression: none}}, {cel: {expression: gpu/none=0}}]}}`)))
	c := build(t, b).Cluster
	if len(c.DeviceTypes) != 120 {
		t.Errorf("%d types", len(c.DeviceTypes))
	}
	for _, e := range c.DeviceExpressions {
		switch got := fmt.Sprint(len(e.Matches), len(e.Mismatches), len(e.Failures)); {
		case e.Text == "gpu/uuid=n3-b" && got != "1 119 0", e.Text == "gpu/none=0" && got != "0 0 120", e.Text == "none" && (got != "0 0 0" || e.CompileError != "no ="):
			t.Errorf("%s: %s %s", e.Text, got, e.CompileError)
		}
	}
}

func TestDeviceTaintRules(t *testing.T) {
	b := gpuCluster(t, 2)
	for i, selector := range []string{`{pool: n1}`, `{device: a, driver: gpu}`, `{driver: other}`, `null`} {
		rule := &unstructured.Unstructured{}
		text := fmt.Sprintf(`{metadata: {name: r%d}, spec: {deviceSelector: %s, taint: {key: k%d, effect: NoSchedule}}}`, i, selector, i)
		must(t, yaml.Unmarshal([]byte(text), &rule.Object))
		must(t, b.AddDeviceTaintRule(rule))
	}
	var got []string
	for _, s := range build(t, b).Cluster.ResourceSlices {
		for _, d := range s.Devices {
			for _, taint := range d.Taints {
				got = append(got, s.Name+"/"+d.Name+" "+taint.Key)
			}
		}
	}
	diff(t, []string{"n0/a k1", "n1/a k0", "n1/a k1", "n1/b k0", "n1/c k0"}, got)
}

// Pods of a cluster name their claims, and pods that are not created yet have the template's.
func TestClaimsOfPods(t *testing.T) {
	b := gpuCluster(t, 1)
	must(t, b.AddResourceClaim(parse[resourcev1.ResourceClaim](t, `
metadata: {name: made, uid: u, ownerReferences: [{apiVersion: v1, kind: Pod, name: old, uid: p, controller: true}]}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
status:
  reservedFor: [{resource: pods, name: old, uid: p}, {apiGroup: scheduling.k8s.io, resource: podgroups, name: train, uid: g}]
  allocation: {devices: {results: [{request: r, driver: gpu, pool: n0, device: a}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n0]}]}]}}
`)))
	spec := `spec: {priority: 0, %s containers: [{name: c}], resourceClaims: [{name: g, resourceClaimTemplateName: two}]}`
	must(t, b.AddPod(parse[corev1.Pod](t, fmt.Sprintf(`{metadata: {name: old, uid: p}, `+spec+`, status: {resourceClaimStatuses: [{name: g, resourceClaimName: made}]}}`, "nodeName: n0,"))))
	must(t, b.AddPod(parse[corev1.Pod](t, fmt.Sprintf(`{metadata: {name: waits, uid: w}, `+spec+`}`, ""))))
	must(t, b.AddPod(parse[corev1.Pod](t, fmt.Sprintf(`{metadata: {name: new}, `+spec+`}`, ""))))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: lost}, spec: {containers: [{name: c}], resourceClaims: [{name: g, resourceClaimTemplateName: lost}]}}`)))
	s := build(t, b)
	c := s.Cluster.ResourceClaims[0]
	diff(t, []string{"old", "podgroups/scheduling.k8s.io/train"}, c.ReservedFor)
	if c.ControllerPod != "old" || c.Allocation.Devices[0].Device != "a" || c.Allocation.NodeSelector == nil || c.BindingFailed {
		t.Error(prototext.Format(c))
	}
	template := func(p *stowagev1.Pod) *stowagev1.ResourceClaimSpec {
		if claims := s.Cluster.PodTemplates[p.GetTemplateIndex()].Spec.ResourceClaims; len(claims) > 0 {
			return claims[0].Template
		}
		return nil
	}
	on := s.Cluster.Nodes[0].Pods[0]
	if on.ResourceClaimStatuses[0].ResourceClaimName != "made" || template(on) == nil {
		t.Error(prototext.Format(on))
	}
	for _, e := range s.Queue {
		got := fmt.Sprint(template(e.Pods.Pod) != nil, told(e.Pods.Pod.Unread))
		want := map[string]string{"waits": "false []", "new": "true []", "lost": "false [Pod default/lost spec.resourceClaims[0]]"}[e.Origin.Name]
		diff(t, want, got)
	}
}

// A pod on a node whose template of claims is not read may get another claim, with devices, once it is evicted.
func TestUnreadTemplateOfRunningPod(t *testing.T) {
	b := gpuCluster(t, 1)
	must(t, b.AddResourceClaim(parse[resourcev1.ResourceClaim](t, `{metadata: {name: made}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `
metadata: {name: p}
spec: {nodeName: n0, containers: [{name: c}], resourceClaims: [{name: g, resourceClaimTemplateName: lost}]}
status: {resourceClaimStatuses: [{name: g, resourceClaimName: made}]}
`)))
	diff(t, []string{"Pod default/p spec.resourceClaims[0]"}, told(build(t, b).Cluster.Nodes[0].Pods[0].Unread))
}

// kube-scheduler waits for the conditions of devices as long as its configuration says.
func TestBindingTimeout(t *testing.T) {
	claim := fmt.Sprintf(`
metadata: {name: made}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
status: {allocation: {allocationTimestamp: %q, devices: {results: [{request: r, driver: gpu, pool: n0, device: a, bindingConditions: [Ready]}]}}}
`, time.Now().Add(-15*time.Minute).Format(time.RFC3339))
	for timeout, failed := range map[time.Duration]bool{0: true, 30 * time.Minute: false, time.Minute: true} {
		b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}, BindingTimeout: timeout})
		must(t, b.AddResourceClaim(parse[resourcev1.ResourceClaim](t, claim)))
		if got := build(t, b).Cluster.ResourceClaims[0].BindingFailed; got != failed {
			t.Errorf("%v: failed %v", timeout, got)
		}
	}
}

// Without an evaluator, or without the objects that claims depend on, claims are unread.
func TestUnreadDevices(t *testing.T) {
	for name, o := range map[string]kube.Options{"no selectors": {}, "no slices": {Selectors: fakeSelectors{}}, "whole": {Selectors: fakeSelectors{}, WholeDevices: true}} {
		b := kube.NewBuilder(o)
		must(t, b.AddDeviceClass(parse[resourcev1.DeviceClass](t, `{metadata: {name: gpu}, spec: {extendedResourceName: x.test/gpu}}`)))
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p}, spec: {containers: [{name: c, resources: {requests: {x.test/gpu: 1}}}], resourceClaims: [{name: g, resourceClaimName: c}]}}`)))
		s := build(t, b)
		want := []string{"Pod default/p spec.resourceClaims[0]", "Pod default/p spec.containers[0].resources.requests[x.test/gpu]"}
		if name == "whole" {
			want = nil
		}
		t.Run(name, func(t *testing.T) { diff(t, want, told(s.Unread)) })
	}
}

// A class that manifests do not have may be in the cluster. The classes of a cluster are all of them: a claim of another class is rejected
// as kube-scheduler rejects it.
func TestUnknownDeviceClass(t *testing.T) {
	const (
		class    = `{metadata: {name: other%s}, spec: {selectors: [{cel: {expression: gpu/model=big}}]}}`
		template = `{metadata: {name: %s}, spec: {spec: {devices: {requests: [{name: r, %s}]}}}}`
	)
	unread := []string{
		"Pod default/exactly spec.resourceClaims[0]", "Pod default/list spec.resourceClaims[0]", "Pod default/named spec.resourceClaims[0]",
		"Pod default/implied spec.containers[0].resources.requests[deviceclass.resource.kubernetes.io/absent]",
	}
	for name, c := range map[string]struct {
		o    kube.Options
		uid  string
		want []string
	}{
		"manifests": {kube.Options{Selectors: fakeSelectors{}}, "", unread}, "a cluster's classes": {kube.Options{Selectors: fakeSelectors{}}, ", uid: u", nil},
		"whole": {kube.Options{Selectors: fakeSelectors{}, WholeDevices: true}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := kube.NewBuilder(c.o)
			must(t, b.AddDeviceClass(parse[resourcev1.DeviceClass](t, fmt.Sprintf(class, c.uid))))
			must(t, b.AddResourceSlice(parse[resourcev1.ResourceSlice](t, fmt.Sprintf(gpuSlices, "n0"))))
			for name, request := range map[string]string{
				"exactly": `exactly: {deviceClassName: absent}`, "known": `exactly: {deviceClassName: other}`,
				"list": `firstAvailable: [{name: a, deviceClassName: other}, {name: b, deviceClassName: absent}]`,
			} {
				must(t, b.AddResourceClaimTemplate(parse[resourcev1.ResourceClaimTemplate](t, fmt.Sprintf(template, name, request))))
			}
			for _, name := range []string{"exactly", "known", "list"} {
				must(t, b.AddPod(parse[corev1.Pod](t, fmt.Sprintf(`{metadata: {name: %[1]s}, spec: {resourceClaims: [{name: g, resourceClaimTemplateName: %[1]s}]}}`, name))))
			}
			must(t, b.AddResourceClaim(parse[resourcev1.ResourceClaim](t, `{metadata: {name: free}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: absent}}]}}}`)))
			must(t, b.AddResourceClaim(parse[resourcev1.ResourceClaim](t, `{metadata: {name: taken}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: absent}}]}},
  status: {allocation: {devices: {results: [{request: r, driver: gpu, pool: n0, device: a}]}}}}`)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: named}, spec: {resourceClaims: [{name: g, resourceClaimName: free}]}}`)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: shares}, spec: {resourceClaims: [{name: g, resourceClaimName: taken}]}}`)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: implied}, spec: {containers: [{name: c, resources: {requests: {deviceclass.resource.kubernetes.io/absent: 1, deviceclass.resource.kubernetes.io/other: 1}}}]}}`)))
			diff(t, c.want, told(build(t, b).Unread))
		})
	}
}

// Fields of alpha features, which kube-scheduler ignores by default together with the pool, are refused.
func TestAlphaDevices(t *testing.T) {
	if !newest {
		t.Skip("the release lacks the field")
	}
	b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}})
	must(t, b.AddResourceSlice(parse[resourcev1.ResourceSlice](t, `{metadata: {name: s}, spec: {driver: d, devices: [{name: a, consumesCounters: [{counterSet: c, compatibilityGroups: [g]}]}]}}`)))
	s := build(t, b)
	if len(s.Misreads) != 1 || !strings.Contains(s.Misreads[0].Error(), "spec.devices[0].consumesCounters[0].compatibilityGroups") {
		t.Error(s.Misreads)
	}
}

// A slice that does not convert is reported, with the field.
func TestMisreadDevices(t *testing.T) {
	b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}})
	must(t, b.AddResourceSlice(parse[resourcev1.ResourceSlice](t, `{metadata: {name: s}, spec: {driver: d, devices: [{name: a, attributes: {list: {}}, capacity: {c: {value: 1u}}}]}}`)))
	s := build(t, b)
	if len(s.Misreads) != 1 || len(s.Cluster.ResourceSlices) != 0 || !strings.Contains(s.Misreads[0].Error(), "spec.devices[0].attributes[list]") ||
		!strings.Contains(s.Misreads[0].Error(), "spec.devices[0].capacity[c].value") {
		t.Error(s.Misreads)
	}
}
