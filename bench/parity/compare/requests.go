package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Form is the form in which Stowage gets a case.
type Form struct {
	// Stored uses the objects as the API server stores them, otherwise as a user wrote them.
	Stored bool
	// CountPods leaves out the names of pods on nodes.
	CountPods bool
}

func (f Form) String() string {
	text := "manifests"
	if f.Stored {
		text = "stored objects"
	}
	if f.CountPods {
		text += ", pods counted"
	}
	return text
}

// PlaceRequest converts the case with clients/kube.
func PlaceRequest(c *scenario.Case, s *oracle.Scheduler, form Form) (*stowagev1.PlaceRequest, error) {
	nodes, pods, nominated, namespaces, groups := c.Nodes, c.Pods, c.Nominated, c.Namespaces, live(c.PodGroups)
	queue := make([]*corev1.Pod, len(c.Queue))
	for i, q := range c.Queue {
		queue[i] = q.Pod
	}
	storage, devices := &c.Storage, &c.Devices
	if form.Stored {
		storage, devices = &s.Storage, &s.Devices
		nodes, pods, nominated, namespaces, queue, groups = s.Nodes, s.Pods, s.Nominated, s.Namespaces, s.Queue, s.PodGroups
	}
	for i, q := range c.Queue {
		if oracle.CreatesClaims(q.Pod) {
			queue[i] = q.Pod
		}
	}
	pods, nominated, queue = owners(pods, s.Pods), owners(nominated, s.Nominated), owners(queue, s.Queue)
	b := kube.NewBuilder(kube.Options{
		CountPods: form.CountPods, SchedulerName: kube.AnyScheduler, GivenOrder: true, WholeStorage: true, WholeDevices: true, Selectors: selectors,
	})
	err := addAll(b.AddNode, nodes)
	if err == nil {
		err = addAll(b.AddPod, pods)
	}
	if err == nil {
		err = addAll(b.AddNamespace, namespaces)
	}
	if err == nil {
		err = addWorkloads(b, c)
	}
	if err == nil {
		err = addStorage(b, storage, queue)
	}
	if err == nil {
		err = addDevices(b, devices, queue)
	}
	if err == nil {
		err = addAll(func(g *schedulingv1beta1.PodGroup) error { return b.AddPodGroup(g) }, relaxed(groups))
	}
	if err != nil {
		return nil, err
	}
	r, err := finish(b, c, queue, nominated)
	if err != nil {
		return nil, err
	}
	cluster := r.GetContext().GetCluster()
	for i, g := range cluster.PodGroups {
		at := slices.IndexFunc(s.PodGroups, func(o *schedulingv1beta1.PodGroup) bool { return o.Namespace+"/"+o.Name == g.Name })
		if cluster.PodGroups[i], err = convert.PodGroup(groups[at]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// finish adds the queue, then the other nominated pods, which the builder queues too. Pods without a node go through the
// builder and refer to its templates. A pod carries its own template if AddPod would take it for one on a node, as it has
// spec.nodeName, or if it is among the nominated pods as well.
func finish(b *kube.Builder, c *scenario.Case, queue, nominated []*corev1.Pod) (*stowagev1.PlaceRequest, error) {
	entries := make([]*stowagev1.PendingPods, len(queue))
	var built []int
	twins := scenario.Twins(queue, nominated)
	for i, pod := range queue {
		if pod.Spec.NodeName == "" && !twins[i] {
			if err := b.AddPod(pod); err != nil {
				return nil, err
			}
			built = append(built, i)
		}
	}
	if err := addAll(b.AddPod, nominated); err != nil {
		return nil, err
	}
	if err := addAll(b.AddPodDisruptionBudget, c.PodDisruptionBudgets); err != nil {
		return nil, err
	}
	snapshot, err := b.Build()
	if err != nil {
		return nil, err
	}
	if len(snapshot.Queue) < len(built) {
		return nil, fmt.Errorf("the builder queued %d pods of %d", len(snapshot.Queue), len(built))
	}
	for at, i := range built {
		entries[i] = snapshot.Queue[at].Pods
	}
	for i := range entries {
		if entries[i] == nil {
			out, err := snapshot.PendingPod(queue[i])
			if err != nil {
				return nil, err
			}
			entries[i] = &stowagev1.PendingPods{Pod: out}
		}
		entries[i].Count = new(uint32(c.Queue[i].Count))
	}
	profile, err := profileOf(&c.Config)
	if err != nil {
		return nil, err
	}
	r := &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{
			Base:    &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster},
			Profile: profile,
		},
		Queue:        entries,
		PodGroups:    snapshot.PodGroups,
		TieBreakSeed: c.TieBreakSeed,
		Explain:      true,
	}
	if c.Candidates != nil {
		r.CandidateNodes = &stowagev1.CandidateNodes{Names: c.Candidates}
	}
	return r, nil
}

// owners returns pods of which the ones that own claims are as the API server stores them, because the owner of a claim is a pod with a uid.
func owners(pods, stored []*corev1.Pod) []*corev1.Pod {
	out := slices.Clone(pods)
	for i, p := range pods {
		if oracle.NamesClaims(p) || p.UID != "" {
			out[i] = stored[i]
		}
	}
	return out
}

// live returns groups with a uid, as one without it would be about to be created, with another priority.
func live(groups []*schedulingv1beta1.PodGroup) []*schedulingv1beta1.PodGroup {
	out := make([]*schedulingv1beta1.PodGroup, len(groups))
	for i, g := range groups {
		out[i] = g.DeepCopy()
		out[i].UID = "live"
	}
	return out
}

// relaxed returns groups with a minimum of one pod: the builder gets one pod for each entry, whatever the count, and would
// have the group wait for more.
func relaxed(groups []*schedulingv1beta1.PodGroup) []*schedulingv1beta1.PodGroup {
	out := make([]*schedulingv1beta1.PodGroup, len(groups))
	for i, g := range groups {
		out[i] = g.DeepCopy()
		if out[i].Spec.SchedulingPolicy.Gang != nil {
			out[i].Spec.SchedulingPolicy.Gang.MinCount = 1
		}
	}
	return out
}

func addAll[T any](add func(T) error, objects []T) error {
	for _, o := range objects {
		if err := add(o); err != nil {
			return err
		}
	}
	return nil
}

// addWorkloads adds what selects pods. The objects get a uid: one without it would be about to create its pods.
func addWorkloads(b *kube.Builder, c *scenario.Case) error {
	if err := addAll(b.AddService, c.Services); err != nil {
		return err
	}
	for _, o := range c.ReplicationControllers {
		o = o.DeepCopy()
		o.UID = "live"
		if err := b.AddReplicationController(o); err != nil {
			return err
		}
	}
	for _, o := range c.ReplicaSets {
		o = o.DeepCopy()
		o.UID = "live"
		if err := b.AddReplicaSet(o); err != nil {
			return err
		}
	}
	for _, o := range c.StatefulSets {
		o = o.DeepCopy()
		o.UID = "live"
		if err := b.AddStatefulSet(o); err != nil {
			return err
		}
	}
	return nil
}

// addStorage adds the storage objects. Volumes and claims get a uid: a volume without it would be about to become available, and a claim
// would be about to be bound. A claim of an earlier pod has no owner if the builder does not get the pod: see finish.
func addStorage(b *kube.Builder, s *scenario.Storage, queue []*corev1.Pod) error {
	volumes := make([]*corev1.PersistentVolume, len(s.PersistentVolumes))
	for i, v := range s.PersistentVolumes {
		volumes[i] = v.DeepCopy()
		volumes[i].UID = "live"
	}
	claims := make([]*corev1.PersistentVolumeClaim, len(s.PersistentVolumeClaims))
	for i, c := range s.PersistentVolumeClaims {
		claims[i] = c.DeepCopy()
		claims[i].UID = cmp.Or(c.UID, "live")
		disown(claims[i], queue)
	}
	return errors.Join(
		addAll(b.AddStorageClass, s.StorageClasses),
		addAll(b.AddCSIDriver, s.CSIDrivers),
		addAll(b.AddCSINode, s.CSINodes),
		addAll(b.AddCSIStorageCapacity, s.CSIStorageCapacities),
		addAll(b.AddVolumeAttachment, s.VolumeAttachments),
		addAll(b.AddPersistentVolume, volumes),
		addAll(b.AddPersistentVolumeClaim, claims),
	)
}

// disown removes the controller of a claim if it is an earlier pod with the name of a pod that is converted apart from the builder, because it
// has spec.nodeName: the builder sees the UID of no such pod, and the contract has names.
func disown(claim metav1.Object, queue []*corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner != nil && slices.ContainsFunc(queue, func(p *corev1.Pod) bool {
		return p.Spec.NodeName != "" && p.Namespace == cmp.Or(claim.GetNamespace(), p.Namespace) && p.Name == owner.Name && p.UID != owner.UID
	}) {
		claim.SetOwnerReferences(nil)
	}
}

// selectors evaluates expressions of all cases.
var selectors = cel.New()

func addDevices(b *kube.Builder, d *scenario.Devices, queue []*corev1.Pod) error {
	claims := make([]*resourcev1.ResourceClaim, len(d.ResourceClaims))
	for i, c := range d.ResourceClaims {
		claims[i] = c.DeepCopy()
		disown(claims[i], queue)
	}
	return errors.Join(
		addAll(b.AddDeviceClass, d.DeviceClasses),
		addAll(b.AddResourceSlice, d.ResourceSlices),
		addAll(b.AddResourceClaim, claims),
		addAll(b.AddResourceClaimTemplate, d.ResourceClaimTemplates),
		addAll(func(r *resourcev1.DeviceTaintRule) error { return b.AddDeviceTaintRule(r) }, d.DeviceTaintRules),
	)
}
