package compare

import (
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"
	csiplugins "k8s.io/csi-translation-lib/plugins"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The conversion of storage objects, until clients/kube has it: volumes pass through it as the references of images.

// stowed is how references of images begin that are volumes of other kinds.
const stowed = "volume:"

// stow returns a pod whose volumes clients/kube passes on. A pod that keeps its name has claims with its name. The pod is not changed.
func stow(p *corev1.Pod, keepsName bool) (*corev1.Pod, error) {
	if !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return scenario.Stored(&v) }) {
		return p, nil
	}
	out := p.DeepCopy()
	for i := range out.Spec.Volumes {
		v := &out.Spec.Volumes[i]
		if !scenario.Stored(v) {
			continue
		}
		converted, err := volumeOf(p, v, keepsName)
		if err != nil {
			return nil, err
		}
		data, err := protojson.Marshal(converted)
		if err != nil {
			return nil, err
		}
		v.VolumeSource = corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: stowed + string(data)}}
	}
	return out, nil
}

// stowAll is stow for pods.
func stowAll(pods []*corev1.Pod, keepsName func(i int) bool) (out []*corev1.Pod, err error) {
	out = make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		if out[i], err = stow(p, keepsName(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unstow puts the volumes of pods back.
func unstow(m proto.Message) error {
	return protorange.Range(m.ProtoReflect(), func(values protopath.Values) error {
		message, ok := values.Index(-1).Value.Interface().(interface{ Interface() proto.Message })
		if !ok {
			return nil
		}
		v, ok := message.Interface().(*stowagev1.Volume)
		if !ok {
			return nil
		}
		if text, ok := strings.CutPrefix(v.GetImage().GetReference(), stowed); ok {
			return protojson.Unmarshal([]byte(text), v)
		}
		return nil
	})
}

func volumeOf(p *corev1.Pod, v *corev1.Volume, keepsName bool) (*stowagev1.Volume, error) {
	switch {
	case v.PersistentVolumeClaim != nil:
		claim := &stowagev1.PersistentVolumeClaimVolumeSource{ClaimName: v.PersistentVolumeClaim.ClaimName}
		if part, ok := strings.CutSuffix(claim.ClaimName, "-"+p.Name); ok && keepsName {
			claim.ClaimName, claim.OfPod = part, true
		}
		return &stowagev1.Volume{Source: &stowagev1.Volume_PersistentVolumeClaim{PersistentVolumeClaim: claim}}, nil
	case v.Ephemeral != nil:
		ephemeral := &stowagev1.EphemeralVolumeSource{VolumeName: v.Name}
		return &stowagev1.Volume{Source: &stowagev1.Volume_Ephemeral{Ephemeral: ephemeral}}, nil
	}
	disk, err := diskOf(p, v)
	return &stowagev1.Volume{Source: &stowagev1.Volume_Disk{Disk: disk}}, err
}

func diskOf(p *corev1.Pod, v *corev1.Volume) (*stowagev1.DiskVolumeSource, error) {
	disk := &stowagev1.DiskVolumeSource{}
	switch {
	case v.GCEPersistentDisk != nil:
		disk.Kind = stowagev1.DiskKind_DISK_KIND_GCE_PERSISTENT_DISK
		disk.Id, disk.ReadOnly = v.GCEPersistentDisk.PDName, v.GCEPersistentDisk.ReadOnly
	case v.AWSElasticBlockStore != nil:
		disk.Kind = stowagev1.DiskKind_DISK_KIND_AWS_ELASTIC_BLOCK_STORE
		disk.Id, disk.ReadOnly = v.AWSElasticBlockStore.VolumeID, v.AWSElasticBlockStore.ReadOnly
	case v.ISCSI != nil:
		disk.Kind = stowagev1.DiskKind_DISK_KIND_ISCSI
		disk.Id, disk.ReadOnly = v.ISCSI.IQN, v.ISCSI.ReadOnly
	case v.RBD != nil:
		pool := v.RBD.RBDPool
		if pool == "" {
			pool = "rbd" // the API server's default
		}
		disk.Kind = stowagev1.DiskKind_DISK_KIND_RBD
		disk.Id, disk.ReadOnly, disk.Monitors = pool+"/"+v.RBD.RBDImage, v.RBD.ReadOnly, v.RBD.CephMonitors
	}
	if translator := csitranslation.New(); translator.IsInlineMigratable(v) {
		plugin, err := translator.GetInTreePluginNameFromSpec(nil, v)
		if err != nil || !migrated(plugin) {
			return disk, err
		}
		translated, err := translator.TranslateInTreeInlineVolumeToCSI(logr.Discard(), v, p.Namespace)
		if err != nil {
			return nil, err
		}
		disk.CsiDriver, disk.VolumeHandle = translated.Spec.CSI.Driver, translated.Spec.CSI.VolumeHandle
	}
	return disk, nil
}

// migrated reports whether kube-scheduler takes a plugin in the Kubernetes tree for migrated (nodevolumelimits/utils.go and
// volumebinding/binder.go, v1.37).
func migrated(plugin string) bool {
	return slices.Contains([]string{
		csiplugins.AWSEBSInTreePluginName, csiplugins.GCEPDInTreePluginName, csiplugins.AzureDiskInTreePluginName,
		csiplugins.CinderInTreePluginName, csiplugins.PortworxVolumePluginName,
	}, plugin)
}

// stowStorage adds the storage objects to a cluster whose nodes are there.
func stowStorage(to *stowagev1.Cluster, s *scenario.Storage) error {
	for _, c := range s.StorageClasses {
		to.StorageClasses = append(to.StorageClasses, classOf(c))
	}
	for _, d := range s.CSIDrivers {
		to.CsiDrivers = append(to.CsiDrivers, &stowagev1.CSIDriver{
			Name: d.Name, StorageCapacity: d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity,
			PreventPodSchedulingIfMissing: d.Spec.PreventPodSchedulingIfMissing != nil && *d.Spec.PreventPodSchedulingIfMissing,
		})
	}
	for _, c := range s.CSIStorageCapacities {
		topology, err := labelSelector(c.NodeTopology)
		if err != nil {
			return err
		}
		to.CsiStorageCapacities = append(to.CsiStorageCapacities, &stowagev1.CSIStorageCapacity{
			Namespace: c.Namespace, Name: c.Name, StorageClassName: c.StorageClassName, NodeTopology: topology,
			Capacity: bytes(c.Capacity), MaximumVolumeSize: bytes(c.MaximumVolumeSize),
		})
	}
	for _, v := range s.PersistentVolumes {
		converted, err := persistentVolume(v)
		if err != nil {
			return err
		}
		to.PersistentVolumes = append(to.PersistentVolumes, converted)
	}
	for _, c := range s.PersistentVolumeClaims {
		converted, err := persistentVolumeClaim(c)
		if err != nil {
			return err
		}
		to.PersistentVolumeClaims = append(to.PersistentVolumeClaims, converted)
	}
	stowNodes(to, s)
	return nil
}

func classOf(c *storagev1.StorageClass) *stowagev1.StorageClass {
	out := &stowagev1.StorageClass{
		Name: c.Name, Provisioner: c.Provisioner, VolumeBindingMode: stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_IMMEDIATE,
	}
	if c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		out.VolumeBindingMode = stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER
	}
	if migrated(c.Provisioner) {
		out.CsiDriver, _ = csitranslation.New().GetCSINameFromInTreeName(c.Provisioner)
	}
	for _, term := range c.AllowedTopologies {
		if out.AllowedTopologies == nil {
			out.AllowedTopologies = &stowagev1.NodeSelector{}
		}
		converted := &stowagev1.NodeSelectorTerm{}
		for _, r := range term.MatchLabelExpressions {
			converted.MatchExpressions = append(converted.MatchExpressions, &stowagev1.NodeSelectorRequirement{
				Key: r.Key, Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: r.Values,
			})
		}
		out.AllowedTopologies.Terms = append(out.AllowedTopologies.Terms, converted)
	}
	return out
}

func persistentVolume(v *corev1.PersistentVolume) (*stowagev1.PersistentVolume, error) {
	storage := v.Spec.Capacity[corev1.ResourceStorage]
	out := &stowagev1.PersistentVolume{
		Name: v.Name, Labels: v.Labels, StorageClassName: volume.GetPersistentVolumeClass(v), Capacity: storage.Value(),
		AccessModes: accessModes(v.Spec.AccessModes), VolumeMode: volumeMode(v.Spec.VolumeMode),
		Available: v.Status.Phase == corev1.VolumeAvailable, Terminating: v.DeletionTimestamp != nil,
	}
	if name := v.Spec.VolumeAttributesClassName; name != nil {
		out.VolumeAttributesClassName = *name
	}
	if r := v.Spec.ClaimRef; r != nil {
		out.Claim = &stowagev1.ClaimReference{Namespace: r.Namespace, Name: r.Name, Uid: string(r.UID)}
	}
	if v.Spec.CSI != nil {
		out.CsiDriver, out.VolumeHandle = v.Spec.CSI.Driver, v.Spec.CSI.VolumeHandle
	}
	var err error
	if out.NodeAffinity, err = volumeAffinity(v); err != nil {
		return nil, err
	}
	translator := csitranslation.New()
	if !translator.IsPVMigratable(v) {
		return out, nil
	}
	plugin, err := translator.GetInTreePluginNameFromSpec(v, nil)
	if err != nil || !migrated(plugin) {
		return out, err
	}
	translated, err := translator.TranslateInTreePVToCSI(logr.Discard(), v)
	if err != nil {
		return nil, err
	}
	out.InTreePlugin, out.CsiDriver, out.VolumeHandle = plugin, translated.Spec.CSI.Driver, translated.Spec.CSI.VolumeHandle
	out.MigratedNodeAffinity, err = volumeAffinity(translated)
	return out, err
}

func volumeAffinity(v *corev1.PersistentVolume) (*stowagev1.NodeSelector, error) {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return nil, nil
	}
	affinity := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: v.Spec.NodeAffinity.Required}
	out, errs := convert.NodeAffinity(affinity, field.NewPath("spec", "nodeAffinity"))
	return out.GetRequired(), errs.ToAggregate()
}

func persistentVolumeClaim(c *corev1.PersistentVolumeClaim) (*stowagev1.PersistentVolumeClaim, error) {
	out := &stowagev1.PersistentVolumeClaim{
		Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID), VolumeName: c.Spec.VolumeName,
		BindCompleted: metav1.HasAnnotation(c.ObjectMeta, volume.AnnBindCompleted), SelectedNode: c.Annotations[volume.AnnSelectedNode],
		Lost: c.Status.Phase == corev1.ClaimLost, Terminating: c.DeletionTimestamp != nil,
		Spec: &stowagev1.PersistentVolumeClaimSpec{
			StorageClassName: volume.GetPersistentVolumeClaimClass(c), AccessModes: accessModes(c.Spec.AccessModes),
			VolumeMode: volumeMode(c.Spec.VolumeMode),
		},
	}
	if storage, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		out.Spec.StorageRequest = bytes(&storage)
	}
	if name := c.Spec.VolumeAttributesClassName; name != nil {
		out.Spec.VolumeAttributesClassName = *name
	}
	if o := metav1.GetControllerOfNoCopy(c); o != nil && o.Kind == "Pod" && string(o.UID) == c.Namespace+"/"+o.Name {
		out.ControllerPod = o.Name
	}
	var err error
	out.Spec.Selector, err = labelSelector(c.Spec.Selector)
	return out, err
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) *stowagev1.AccessModes {
	return &stowagev1.AccessModes{
		ReadWriteOnce: slices.Contains(modes, corev1.ReadWriteOnce), ReadOnlyMany: slices.Contains(modes, corev1.ReadOnlyMany),
		ReadWriteMany: slices.Contains(modes, corev1.ReadWriteMany), ReadWriteOncePod: slices.Contains(modes, corev1.ReadWriteOncePod),
	}
}

func volumeMode(mode *corev1.PersistentVolumeMode) stowagev1.VolumeMode {
	switch {
	case mode == nil:
		return stowagev1.VolumeMode_VOLUME_MODE_UNSPECIFIED
	case *mode == corev1.PersistentVolumeBlock:
		return stowagev1.VolumeMode_VOLUME_MODE_BLOCK
	}
	return stowagev1.VolumeMode_VOLUME_MODE_FILESYSTEM
}

func bytes(q *resource.Quantity) *int64 {
	if q == nil {
		return nil
	}
	return new(q.Value())
}

// labelSelector has clients/kube convert a selector.
func labelSelector(s *metav1.LabelSelector) (*stowagev1.LabelSelector, error) {
	constraint := corev1.TopologySpreadConstraint{WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: s}
	out, errs := convert.SpreadConstraints([]corev1.TopologySpreadConstraint{constraint}, field.NewPath("selector"))
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return out[0].LabelSelector, nil
}

// stowNodes adds what nodes have: their CSINodes, and the volumes of VolumeAttachments.
func stowNodes(to *stowagev1.Cluster, s *scenario.Storage) {
	nodes := make(map[string]*stowagev1.Node, len(to.Nodes))
	for _, n := range to.Nodes {
		nodes[n.Name] = n
	}
	for _, c := range s.CSINodes {
		n := nodes[c.Name]
		if n == nil {
			continue
		}
		n.CsiNode = &stowagev1.CSINode{}
		for _, d := range c.Spec.Drivers {
			driver := &stowagev1.CSINodeDriver{Name: d.Name}
			if d.Allocatable != nil {
				driver.AllocatableCount = d.Allocatable.Count
			}
			n.CsiNode.Drivers = append(n.CsiNode.Drivers, driver)
		}
		if plugins := c.Annotations[corev1.MigratedPluginsAnnotationKey]; plugins != "" {
			n.CsiNode.MigratedPlugins = strings.Split(plugins, ",")
		}
	}
	for _, a := range s.VolumeAttachments {
		name := a.Spec.Source.PersistentVolumeName
		n := nodes[a.Spec.NodeName]
		if n == nil || name == nil {
			continue
		}
		n.AttachedVolumes = append(n.AttachedVolumes, *name)
	}
}
