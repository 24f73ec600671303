package speed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Nodes with published devices, of which some are cordoned, and pods that claim one device, or all of a node with one model.
const (
	deviceNodes  = 1_000
	nodeDevices  = 8
	deviceDriver = "gpu.example.com"
	deviceClass  = "gpu"
	singlePods   = 4_000
	matchingPods = 500
	gangPods     = 512
	// The pods at the beginning of a queue that kube-scheduler places.
	kubeClaims, kubeClaimsSmall = 10, 2
)

// devices places pods with claims, compares them with kube-scheduler's DynamicResources, and pods without claims with a cluster without
// devices.
func (r *run) devices() error {
	objects := deviceObjects()
	bare := *objects
	bare.Devices = scenario.Devices{}
	plain := &podCase{Name: "no claim", Kind: "devices", Pod: claimingPod("", 0)}
	var worlds [2]*world
	var pods map[int64]*stowagev1.Pod
	for i, c := range []*scenario.Case{objects, &bare} {
		snapshot, claiming, err := withDevices(c)
		if err != nil {
			return err
		}
		pod, err := snapshot.PendingPod(plain.Pod)
		if err != nil {
			return err
		}
		if plain.template = pod.GetTemplate(); i == 0 {
			pods = claiming
		}
		if worlds[i], err = r.put(snapshot.Cluster, []*podCase{plain}); err != nil {
			return err
		}
	}
	if err := worlds[0].want[plain].differs(worlds[1].want[plain]); err != nil {
		return err
	}
	t, err := r.measurement().of(r.both(worlds[1], plain, true), r.both(worlds[0], plain, true))
	if err != nil {
		return err
	}
	r.setRatio("devices-none", t[1], t[0])
	for _, q := range []struct {
		key     string
		pods    int
		devices int64
		mode    stowagev1.PodGroupMode
	}{
		{"devices-single", singlePods, 1, 0}, {"devices-matching", matchingPods, nodeDevices, 0},
		{"devices-gang", gangPods, nodeDevices, stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER},
		{"devices-gang-joint", gangPods, nodeDevices, stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT},
	} {
		answer, took, err := r.placeClaiming(worlds[0], pods[q.devices], q.pods, q.mode)
		if err != nil {
			return fmt.Errorf("%s: %w", q.key, err)
		}
		if err := givenOnce(answer, q.pods, q.devices); err != nil {
			return fmt.Errorf("%s: %w", q.key, err)
		}
		switch {
		case q.mode != 0:
			r.setRatio(q.key, took, timing{time.Second, time.Second})
		case len(r.KubeNodes) > 0:
			if err := r.devicesAgainst(q.key, objects, q.devices, answer, took); err != nil {
				return fmt.Errorf("%s: %w", q.key, err)
			}
		}
	}
	return nil
}

// deviceObjects are the nodes and their devices, each with a serial number of its own.
func deviceObjects() *scenario.Case {
	c := &scenario.Case{Name: "devices"}
	gib := resource.MustParse("80Gi")
	for i := range deviceNodes {
		n := surgeNode(i)
		if n.Spec.Unschedulable = i%20 == 19; n.Spec.Unschedulable {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
		}
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: &n.Name, Pool: resourcev1.ResourcePool{Name: n.Name, Generation: 1, ResourceSliceCount: 1},
		}}
		for j := range nodeDevices {
			s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
				Name: fmt.Sprint("gpu-", j),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
					"model": {StringValue: new("x1")}, "numa": {IntValue: new(int64(j / 4))}, "uuid": {StringValue: new(fmt.Sprint(i, "-", j))},
				},
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: gib}},
			})
		}
		c.Nodes, c.Devices.ResourceSlices = append(c.Nodes, n), append(c.Devices.ResourceSlices, s)
	}
	c.Devices.DeviceClasses = []*resourcev1.DeviceClass{{
		ObjectMeta: metav1.ObjectMeta{Name: deviceClass},
		Spec:       resourcev1.DeviceClassSpec{Selectors: selecting(fmt.Sprintf("device.driver == %q", deviceDriver))},
	}}
	return c
}

func selecting(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// claimSpec claims devices of one model.
func claimSpec(devices int64) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: deviceClass, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: devices,
			Selectors: selecting(fmt.Sprintf("device.attributes[%q].model == %q", deviceDriver, "x1")),
		}}},
		Constraints: []resourcev1.DeviceConstraint{{
			Requests: []string{"gpus"}, MatchAttribute: new(resourcev1.FullyQualifiedName(deviceDriver + "/model")),
		}},
	}}
}

func templateName(devices int64) string { return fmt.Sprint("claims-", devices) }

// claimingPod is a pod with a claim of a template, if there are any devices.
func claimingPod(name string, devices int64) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{"app": "train"}}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/train:v1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}}}
	if devices > 0 {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimTemplateName: new(templateName(devices))}}
	}
	return p
}

// withDevices converts a cluster, and the pods with claims by their number of devices.
func withDevices(c *scenario.Case) (*kube.Snapshot, map[int64]*stowagev1.Pod, error) {
	b := kube.NewBuilder(kube.Options{GivenOrder: true, WholeDevices: true, Selectors: cel.New()})
	errs := []error{
		each(b.AddNode, c.Nodes), each(b.AddDeviceClass, c.Devices.DeviceClasses), each(b.AddResourceSlice, c.Devices.ResourceSlices),
	}
	sizes := []int64{1, nodeDevices}
	for _, devices := range sizes {
		t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: templateName(devices)}}
		t.Spec.Spec = claimSpec(devices)
		errs = append(errs, b.AddResourceClaimTemplate(t), b.AddPod(claimingPod(templateName(devices), devices)))
	}
	for _, err := range errs {
		if err != nil {
			return nil, nil, err
		}
	}
	s, err := b.Build()
	if err != nil {
		return nil, nil, err
	}
	if len(s.Queue) != len(sizes) || len(s.Unread)+len(s.Misreads) > 0 {
		return nil, nil, fmt.Errorf("%d pods are pending, unread are %v, %v", len(s.Queue), s.Unread, s.Misreads)
	}
	pods := map[int64]*stowagev1.Pod{}
	for i, devices := range sizes {
		pods[devices] = s.Queue[i].Pods.Pod
		pods[devices].Name = ""
	}
	return s, pods, nil
}

// placeClaiming places equal pods with claims, in a group if there is a mode.
func (r *run) placeClaiming(w *world, pod *stowagev1.Pod, pods int, mode stowagev1.PodGroupMode) (*stowagev1.PlaceResponse, timing, error) {
	entry := &stowagev1.PendingPods{Pod: pod, Count: new(uint32(pods))}
	request := &stowagev1.PlaceRequest{Context: w.target.context(), Queue: []*stowagev1.PendingPods{entry}}
	if mode != 0 {
		entry.PodGroup = "default/gang"
		request.PodGroups = []*stowagev1.PodGroup{{Name: entry.PodGroup, Mode: mode, MinCount: entry.Count}}
	}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return nil, timing{}, err
	}
	call := always("place", func() ([]byte, error) {
		return r.stowage.client.Call(context.Background(), stowagev1.PlacementService_Place_FullMethodName, encoded)
	})
	t, err := measurement{turns: min(5, r.Turns), collect: true}.of(call)
	if err != nil {
		return nil, timing{}, err
	}
	answer := &stowagev1.PlaceResponse{}
	return answer, t[0], proto.Unmarshal(call.want, answer)
}

// givenOnce checks that each pod has its devices, of its node, and no device is given twice.
func givenOnce(answer *stowagev1.PlaceResponse, pods int, devices int64) error {
	if int(answer.PlacedCount) != pods || len(answer.ClaimDevices) != pods || len(answer.Doubts) > 0 {
		return fmt.Errorf("%d pods of %d are placed, %d have devices, doubts %v", answer.PlacedCount, pods, len(answer.ClaimDevices), answer.Doubts)
	}
	given := map[string]bool{}
	for i, claim := range answer.ClaimDevices {
		if len(claim.Devices) != int(devices) {
			return fmt.Errorf("claim %d has %d devices", i, len(claim.Devices))
		}
		for _, d := range claim.Devices {
			name := d.Pool + "/" + d.Device
			if given[name] || d.Pool != surgeNode(int(claim.NodeIndex)).Name {
				return fmt.Errorf("claim %d on node %d has %s, which another claim or another node has", i, claim.NodeIndex, name)
			}
			given[name] = true
		}
	}
	return nil
}

// devicesAgainst has kube-scheduler place the first pods of a queue, each with a claim of its own, and compares nodes and devices.
func (r *run) devicesAgainst(key string, objects *scenario.Case, devices int64, answer *stowagev1.PlaceResponse, t timing) error {
	c := *objects
	sample := kubeClaims
	if r.Options.Small {
		sample = kubeClaimsSmall
	}
	for i := range sample {
		pod := claimingPod(fmt.Sprint("claiming-", i), devices)
		pod.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "gpus", ResourceClaimName: &pod.Name}
		c.Queue = append(c.Queue, scenario.Pending{Pod: pod, Count: 1})
		c.Devices.ResourceClaims = append(c.Devices.ResourceClaims, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Spec: claimSpec(devices),
		})
	}
	scheduler, err := oracle.NewWith(&c, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return err
	}
	defer scheduler.Close()
	took, granted, err := chosen(scheduler, c.Queue, answer.Placements[0].Nodes.GetIndexes()[:sample])
	if err != nil {
		return err
	}
	for i, g := range granted {
		same := slices.EqualFunc(g.Results, answer.ClaimDevices[i].Devices,
			func(k resourcev1.DeviceRequestAllocationResult, s *stowagev1.DeviceAllocation) bool {
				return k.Request == s.Request && k.Driver == s.Driver && k.Pool == s.Pool && k.Device == s.Device
			})
		if !same {
			return fmt.Errorf("pod %d gets %v, from kube-scheduler %v", i, answer.ClaimDevices[i].Devices, g.Results)
		}
	}
	if len(granted) != sample {
		return fmt.Errorf("kube-scheduler gives devices to %d pods of %d", len(granted), sample)
	}
	scale := float64(answer.PlacedCount) / float64(sample)
	f := r.at(key)
	f.Value, f.Wall, f.Processor = ratio(took.wall, t.wall)*scale, t.wall, ratio(took.cpu, t.cpu)*scale
	return nil
}
