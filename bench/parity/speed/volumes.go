package speed

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The volumes of a cluster: pods with a bound claim on each node, of as many as the driver can attach there, and claims of StatefulSets
// that wait for their node.
const (
	claimedPods    = 10
	attachLimit    = 25
	statefulSets   = 10
	storageClass   = "zonal"
	storageDriver  = "disk.example.com"
	claimNamespace = "apps"
)

// volumes compares pods with claims with a pod without, a cluster with claims with one without, and both with kube-scheduler.
func (r *run) volumes(nodes int) error {
	plainPod := r.find(plain)
	objects, err := kubernetes(newCluster(nodes))
	if err != nil {
		return err
	}
	pods := 2 * nodes
	withVolumes(objects, pods)
	snapshot, err := converted(objects, pods)
	if err != nil {
		return err
	}
	cases, err := claiming(plainPod, snapshot)
	if err != nil {
		return err
	}
	w, err := r.put(snapshot.Cluster, cases)
	if err != nil {
		return err
	}
	t, err := r.measurement().of(r.both(r.big, plainPod, true), r.both(w, cases[0], true), r.both(w, cases[1], true), r.both(w, cases[2], true),
		r.changed(w, cases[0], onePodWithoutRequests(w.nodes[0].Name)), r.changed(w, cases[0], oneClaimMore))
	if err != nil {
		return err
	}
	r.setRatio("volumes-none", t[1], t[0])
	r.setRatio("volumes-delayed", t[2], t[1])
	r.setRatio("volumes-bound", t[3], t[1])
	r.setRatio("volumes-delta", t[5], t[4])
	if err := r.placeStatefulSets(w, snapshot, pods); err != nil {
		return err
	}
	if !slices.Contains(r.KubeNodes, nodes) {
		return nil
	}
	return r.volumesAgainst(w, objects, cases)
}

// withVolumes adds storage objects, pods that use them, and the claims of pods that are to come.
func withVolumes(c *scenario.Case, pods int) {
	s := &c.Storage
	s.StorageClasses = []*storagev1.StorageClass{{
		ObjectMeta: metav1.ObjectMeta{Name: storageClass}, Provisioner: storageDriver,
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}}
	s.CSIDrivers = []*storagev1.CSIDriver{{ObjectMeta: metav1.ObjectMeta{Name: storageDriver}}}
	for i, n := range c.Nodes {
		s.CSINodes = append(s.CSINodes, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: storageDriver, NodeID: n.Name, TopologyKeys: []string{corev1.LabelTopologyZone},
				Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(attachLimit))},
			}}},
		})
		for j := range claimedPods {
			name := fmt.Sprintf("stored-%d-%d", i, j)
			claim := newClaim("data-"+name, "pv-"+name)
			s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim)
			s.PersistentVolumes = append(s.PersistentVolumes, newVolume(claim, n.Labels[corev1.LabelTopologyZone]))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: claimNamespace, Name: name, UID: types.UID(name)}}
			pod.Spec.NodeName = n.Name
			pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/store:v1"}}
			c.Pods = append(c.Pods, using(pod, claim.Name))
		}
	}
	for i := range pods {
		s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, newClaim(fmt.Sprint("data-", setPod(i)), ""))
	}
}

func newClaim(name, volumeName string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claimNamespace, Name: name, UID: types.UID(name)}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.StorageClassName = new(storageClass)
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	if volumeName != "" {
		c.Spec.VolumeName = volumeName
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
		c.Status.Phase = corev1.ClaimBound
	}
	return c
}

// newVolume is a claim's volume in a zone.
func newVolume(claim *corev1.PersistentVolumeClaim, zone string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName, UID: types.UID(claim.Spec.VolumeName)}}
	v.Spec.AccessModes, v.Spec.StorageClassName = claim.Spec.AccessModes, storageClass
	v.Spec.Capacity = claim.Spec.Resources.Requests
	v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: storageDriver, VolumeHandle: "handle-" + v.Name}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
	v.Status.Phase = corev1.VolumeBound
	return v
}

// using returns a pod with volumes of claims.
func using(p *corev1.Pod, claims ...string) *corev1.Pod {
	for _, name := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	return p
}

func setPod(i int) string { return fmt.Sprintf("set-%d-%d", i%statefulSets, i/statefulSets) }

// claiming returns a pod without claims, with two that wait for their node, and with two whose volumes are in one zone.
func claiming(plain *podCase, s *kube.Snapshot) (cases []*podCase, err error) {
	for name, claims := range map[string][]string{
		"1 no claim":             nil,
		"2 claims without nodes": {"data-" + setPod(0), "data-" + setPod(statefulSets)},
		"3 claims in a zone":     {"data-stored-0-0", "data-stored-0-1"},
	} {
		c := &podCase{Name: name, Kind: "volumes", Pod: using(plain.Pod.DeepCopy(), claims...)}
		pod, err := s.PendingPod(c.Pod)
		if err != nil {
			return nil, err
		}
		c.template = pod.GetTemplate()
		cases = append(cases, c)
	}
	slices.SortFunc(cases, func(a, b *podCase) int { return int(a.Name[0]) - int(b.Name[0]) })
	return cases, nil
}

// converted is a cluster and the pods of StatefulSets in the contract's form.
func converted(c *scenario.Case, pods int) (*kube.Snapshot, error) {
	b := kube.NewBuilder(kube.Options{CountPods: true, GivenOrder: true, WholeStorage: true})
	pending := make([]*corev1.Pod, pods)
	for i := range pending {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: claimNamespace, Name: setPod(i), Labels: map[string]string{"set": fmt.Sprint(i % statefulSets)}}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/store:v1"}}
		pending[i] = using(p, "data-"+p.Name)
	}
	for _, err := range []error{
		each(b.AddNamespace, c.Namespaces), each(b.AddNode, c.Nodes), each(b.AddStorageClass, c.Storage.StorageClasses),
		each(b.AddCSIDriver, c.Storage.CSIDrivers), each(b.AddCSINode, c.Storage.CSINodes),
		each(b.AddPersistentVolume, c.Storage.PersistentVolumes), each(b.AddPersistentVolumeClaim, c.Storage.PersistentVolumeClaims),
		each(b.AddPod, c.Pods), each(b.AddPod, pending),
	} {
		if err != nil {
			return nil, err
		}
	}
	return b.Build()
}

func each[T any](add func(T) error, objects []T) error {
	for _, o := range objects {
		if err := add(o); err != nil {
			return err
		}
	}
	return nil
}

// changed puts a delta that changes no answer, and asks.
func (r *run) changed(w *world, c *podCase, change func(trial int) *stowagev1.ClusterDelta) *subject {
	return &subject{
		name:  "delta",
		check: func(_ int, answer []byte) error { return w.accepts(c, answer) },
		prepare: func(int) (call, error) {
			t, err := byReference(w.target.address, change(r.trial()))
			if err != nil {
				return nil, err
			}
			request, err := t.filterRequest(c.pod(0))
			return func() ([]byte, error) { return r.stowage.filter(request) }, err
		},
	}
}

// oneClaimMore is a claim that no pod uses.
func oneClaimMore(trial int) *stowagev1.ClusterDelta {
	return &stowagev1.ClusterDelta{PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{{
		Namespace: claimNamespace, Name: fmt.Sprintf("data-new-%d", trial), Spec: &stowagev1.PersistentVolumeClaimSpec{StorageClassName: storageClass},
	}}}
}

// onePodWithoutRequests is a pod on a node that has room for it.
func onePodWithoutRequests(node string) func(trial int) *stowagev1.ClusterDelta {
	return func(trial int) *stowagev1.ClusterDelta {
		pod := &stowagev1.Pod{
			Name: fmt.Sprint("new-", trial), Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Namespace: claimNamespace}},
		}
		return &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{NodeName: node, Pods: []*stowagev1.Pod{pod}}}}
	}
}

// placeStatefulSets places pods that each have a claim, whose node decides where its volume is provisioned.
func (r *run) placeStatefulSets(w *world, s *kube.Snapshot, pods int) error {
	request := &stowagev1.PlaceRequest{Context: w.target.context()}
	for i := range s.Queue {
		request.Queue = append(request.Queue, s.Queue[i].Pods)
	}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	call := always("place StatefulSets", func() ([]byte, error) {
		return r.stowage.client.Call(context.Background(), stowagev1.PlacementService_Place_FullMethodName, encoded)
	})
	t, err := measurement{turns: min(5, r.Turns), collect: true}.of(call)
	if err != nil {
		return err
	}
	var answer stowagev1.PlaceResponse
	if err := proto.Unmarshal(call.want, &answer); err != nil {
		return err
	}
	if len(answer.ClaimBindings) != pods {
		return fmt.Errorf("%d claims of %d have a node", len(answer.ClaimBindings), pods)
	}
	f := r.at("volumes-place")
	f.Value, f.Wall = float64(pods)/t[0].wall.Seconds(), t[0].wall
	return nil
}

// volumesAgainst has kube-scheduler decide about the pods, and place the first ones of the StatefulSets.
func (r *run) volumesAgainst(w *world, objects *scenario.Case, cases []*podCase) error {
	kube, err := r.compared(w, objects, cases)
	if err != nil {
		return err
	}
	defer kube.Close()
	if err := r.races(w, kube, cases); err != nil {
		return err
	}
	at := slices.IndexFunc(r.Report.Versus, func(v *Versus) bool { return v.Case == cases[1].Name && v.Procs == 2 })
	v := r.Report.Versus[at]
	f := r.at("kube-volumes")
	f.Value, f.Wall, f.Processor = ratio(v.Kube.wall, v.First.wall), v.First.wall, ratio(v.Kube.cpu, v.First.cpu)
	return nil
}
