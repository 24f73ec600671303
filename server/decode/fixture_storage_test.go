package decode_test

import (
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func claimSpec() *stowagev1.PersistentVolumeClaimSpec {
	return &stowagev1.PersistentVolumeClaimSpec{
		StorageClassName: "fast", StorageRequest: new(int64(1 << 30)), VolumeMode: stowagev1.VolumeMode_VOLUME_MODE_BLOCK,
		AccessModes: &stowagev1.AccessModes{ReadWriteOnce: true, ReadOnlyMany: true, ReadWriteMany: true, ReadWriteOncePod: true},
		Selector:    selector("web"), VolumeAttributesClassName: "gold",
	}
}

func wantClaimSpec() *api.ClaimSpec {
	return &api.ClaimSpec{
		StorageClassName: "fast", StorageRequest: new(int64(1 << 30)), VolumeMode: api.Block,
		AccessModes: api.AccessModes{ReadWriteOnce: true, ReadOnlyMany: true, ReadWriteMany: true, ReadWriteOncePod: true},
		Selector:    wantSelector("web"), VolumeAttributesClassName: "gold",
	}
}

func csiNode(most int32) *stowagev1.CSINode {
	return &stowagev1.CSINode{
		Drivers:         []*stowagev1.CSINodeDriver{{Name: "files.example"}, {Name: "disks.example", AllocatableCount: proto.Int32(most)}},
		MigratedPlugins: []string{"kubernetes.io/disk", "kubernetes.io/file"},
	}
}

func wantCSINode(most int32) *api.CSINode {
	return &api.CSINode{
		Drivers:         []api.CSINodeDriver{{Name: "files.example"}, {Name: "disks.example", AllocatableCount: &most}},
		MigratedPlugins: []string{"kubernetes.io/disk", "kubernetes.io/file"},
	}
}

// storage is the storage objects of the sound request, in another order than the canonical one.
func storage() *stowagev1.Cluster {
	return &stowagev1.Cluster{
		StorageClasses: []*stowagev1.StorageClass{
			{Name: "slow"},
			{
				Name: "fast", Provisioner: "kubernetes.io/disk", CsiDriver: "disks.example",
				VolumeBindingMode: stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER,
				AllowedTopologies: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{nodeTerm()}},
			},
		},
		CsiDrivers: []*stowagev1.CSIDriver{
			{Name: "files.example"}, {Name: "disks.example", StorageCapacity: true, PreventPodSchedulingIfMissing: true},
		},
		CsiStorageCapacities: []*stowagev1.CSIStorageCapacity{
			{Namespace: "kube-system", Name: "room"},
			{
				Name: "room", StorageClassName: "fast", NodeTopology: selector("web"), Capacity: new(int64(2 << 30)),
				MaximumVolumeSize: new(int64(0)),
			},
		},
		PersistentVolumes: []*stowagev1.PersistentVolume{
			{Name: "pv-2", Claim: &stowagev1.ClaimReference{Name: "other"}},
			{
				Name: "pv-1", Labels: map[string]string{"topology.kubernetes.io/zone": "z1", "app": "db"}, StorageClassName: "fast",
				Capacity: 4 << 30, AccessModes: &stowagev1.AccessModes{ReadWriteOnce: true}, VolumeAttributesClassName: "gold",
				VolumeMode: stowagev1.VolumeMode_VOLUME_MODE_FILESYSTEM, Available: true, Terminating: true,
				Claim:        &stowagev1.ClaimReference{Namespace: "prod", Name: "data-0", Uid: "u1"},
				NodeAffinity: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{nodeTerm()}},
				CsiDriver:    "disks.example", VolumeHandle: "disk-1", InTreePlugin: "kubernetes.io/disk",
				MigratedNodeAffinity: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{nodeTerm(), {}}},
			},
		},
		PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{
			{
				Namespace: "prod", Name: "data-0", Uid: "u1", Spec: claimSpec(), VolumeName: "pv-1", BindCompleted: true,
				SelectedNode: "a", Lost: true, Terminating: true, ControllerPod: "web-0",
			},
			{Name: "data-0"},
		},
	}
}

func wantStorage() api.Storage {
	return api.Storage{
		Classes: []api.StorageClass{
			{
				Name: "fast", Provisioner: "kubernetes.io/disk", CSIDriver: "disks.example", VolumeBindingMode: api.WaitForFirstConsumer,
				AllowedTopologies: &api.NodeSelector{Terms: []api.NodeSelectorTerm{wantNodeTerm()}},
			},
			{Name: "slow"},
		},
		Drivers: []api.CSIDriver{
			{Name: "disks.example", StorageCapacity: true, PreventPodSchedulingIfMissing: true}, {Name: "files.example"},
		},
		Capacities: []api.StorageCapacity{
			{
				Namespace: "default", Name: "room", StorageClassName: "fast", NodeTopology: wantSelector("web"),
				Capacity: new(int64(2 << 30)), MaximumVolumeSize: new(int64(0)),
			},
			{Namespace: "kube-system", Name: "room"},
		},
		Volumes: []api.PersistentVolume{
			{
				Name: "pv-1", Labels: api.Labels{{Key: "app", Value: "db"}, {Key: "topology.kubernetes.io/zone", Value: "z1"}},
				StorageClassName: "fast", Capacity: 4 << 30, AccessModes: api.AccessModes{ReadWriteOnce: true},
				VolumeAttributesClassName: "gold", VolumeMode: api.Filesystem, Available: true, Terminating: true,
				Claim:        &api.ClaimReference{Namespace: "prod", Name: "data-0", UID: "u1"},
				NodeAffinity: &api.NodeSelector{Terms: []api.NodeSelectorTerm{wantNodeTerm()}},
				CSIDriver:    "disks.example", VolumeHandle: "disk-1", InTreePlugin: "kubernetes.io/disk",
				MigratedNodeAffinity: &api.NodeSelector{Terms: []api.NodeSelectorTerm{wantNodeTerm(), {}}},
			},
			{Name: "pv-2", Claim: &api.ClaimReference{Namespace: "default", Name: "other"}},
		},
		Claims: []api.PersistentVolumeClaim{
			{Namespace: "default", Name: "data-0"},
			{
				Namespace: "prod", Name: "data-0", UID: "u1", Spec: *wantClaimSpec(), VolumeName: "pv-1", BindCompleted: true,
				SelectedNode: "a", Lost: true, Terminating: true, ControllerPod: "web-0",
			},
		},
	}
}
