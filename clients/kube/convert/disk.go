package convert

import (
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/csi-translation-lib/plugins"
	"k8s.io/klog/v2"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// migrated are the plugins in the Kubernetes tree that kube-scheduler treats as migrated to CSI drivers
// (pkg/scheduler/framework/plugins/volumebinding/binder.go isCSIMigrationOnForPlugin, nodevolumelimits/utils.go isCSIMigrationOn, v1.37).
var migrated = map[string]bool{
	plugins.AWSEBSInTreePluginName: true, plugins.GCEPDInTreePluginName: true, plugins.AzureDiskInTreePluginName: true,
	plugins.CinderInTreePluginName: true, plugins.PortworxVolumePluginName: true,
}

var translator = csitranslation.New()

// migratedProvisioner returns the CSI driver that a provisioner is migrated to, empty for none.
func migratedProvisioner(name string) string {
	if !migrated[name] {
		return ""
	}
	driver, _ := translator.GetCSINameFromInTreeName(name)
	return driver
}

// migrate sets what the CSI driver makes of a volume that is migrated to it. A volume that does not translate stays as it is.
func (c *converter) migrate(v *corev1.PersistentVolume, out *stowagev1.PersistentVolume) {
	if !translator.IsPVMigratable(v) {
		return
	}
	plugin, err := translator.GetInTreePluginNameFromSpec(v, nil)
	if err != nil || !migrated[plugin] {
		return
	}
	translated, err := translator.TranslateInTreePVToCSI(klog.Logger{}, v)
	if err != nil || translated.Spec.CSI == nil {
		return
	}
	out.InTreePlugin, out.CsiDriver, out.VolumeHandle = plugin, translated.Spec.CSI.Driver, translated.Spec.CSI.VolumeHandle
	if affinity := c.volumeAffinity(translated); !proto.Equal(affinity, out.NodeAffinity) {
		out.MigratedNodeAffinity = affinity
	}
}

// defaultPool is the pool of an RBD image that names none (pkg/apis/core/v1/defaults.go SetDefaults_RBDVolumeSource, v1.37).
const defaultPool = "rbd"

// disk converts a disk that a pod uses without a claim, nil if kube-scheduler has no rule for the volume.
func disk(v *corev1.Volume, namespace string) *stowagev1.DiskVolumeSource {
	out := &stowagev1.DiskVolumeSource{}
	switch {
	case v.GCEPersistentDisk != nil:
		out.Kind, out.Id, out.ReadOnly = stowagev1.DiskKind_DISK_KIND_GCE_PERSISTENT_DISK, v.GCEPersistentDisk.PDName, v.GCEPersistentDisk.ReadOnly
	case v.AWSElasticBlockStore != nil:
		out.Kind, out.Id = stowagev1.DiskKind_DISK_KIND_AWS_ELASTIC_BLOCK_STORE, v.AWSElasticBlockStore.VolumeID
		out.ReadOnly = v.AWSElasticBlockStore.ReadOnly
	case v.ISCSI != nil:
		out.Kind, out.Id, out.ReadOnly = stowagev1.DiskKind_DISK_KIND_ISCSI, v.ISCSI.IQN, v.ISCSI.ReadOnly
	case v.RBD != nil:
		pool := v.RBD.RBDPool
		if pool == "" {
			pool = defaultPool
		}
		out.Kind, out.Id, out.ReadOnly = stowagev1.DiskKind_DISK_KIND_RBD, pool+"/"+v.RBD.RBDImage, v.RBD.ReadOnly
		for _, m := range v.RBD.CephMonitors {
			if m != "" {
				out.Monitors = append(out.Monitors, m)
			}
		}
	}
	if plugin, err := translator.GetInTreePluginNameFromSpec(nil, v); err == nil && migrated[plugin] {
		if pv, err := translator.TranslateInTreeInlineVolumeToCSI(klog.Logger{}, v, namespace); err == nil && pv != nil && pv.Spec.CSI != nil {
			out.CsiDriver, out.VolumeHandle = pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
		}
	}
	if out.Kind == stowagev1.DiskKind_DISK_KIND_UNSPECIFIED && out.CsiDriver == "" {
		return nil
	}
	return out
}
