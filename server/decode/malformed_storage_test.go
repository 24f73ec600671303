package decode_test

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Of the sound request, the items with every field.
func aClass(r *place) *stowagev1.StorageClass          { return cluster(r).StorageClasses[1] }
func aDriver(r *place) *stowagev1.CSIDriver            { return cluster(r).CsiDrivers[1] }
func aCapacity(r *place) *stowagev1.CSIStorageCapacity { return cluster(r).CsiStorageCapacities[1] }
func aVolume(r *place) *stowagev1.PersistentVolume     { return cluster(r).PersistentVolumes[1] }
func aClaim(r *place) *stowagev1.PersistentVolumeClaim { return cluster(r).PersistentVolumeClaims[0] }
func claimOfPod(r *place) *stowagev1.PersistentVolumeClaimVolumeSource {
	return spec(r).Volumes[2].GetPersistentVolumeClaim()
}
func ephemeral(r *place) *stowagev1.EphemeralVolumeSource { return spec(r).Volumes[3].GetEphemeral() }
func disk(r *place) *stowagev1.DiskVolumeSource           { return spec(r).Volumes[4].GetDisk() }

var malformedStorage = []malformation{
	{"context.cluster.storage_classes[1].name", "REQUIRED", "is required", func(r *place) {
		aClass(r).Name = ""
	}},
	{"context.cluster.storage_classes[1].name", "TOO_LONG", "at most 253", func(r *place) {
		aClass(r).Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.storage_classes[1].provisioner", "TOO_LONG", "at most 253", func(r *place) {
		aClass(r).Provisioner = strings.Repeat("a", 254)
	}},
	{"context.cluster.storage_classes[1].volume_binding_mode", "UNKNOWN_VALUE", "must be VOLUME_BINDING_MODE_IMMEDIATE or VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER", func(r *place) {
		aClass(r).VolumeBindingMode = 3
	}},
	{"context.cluster.storage_classes[1].allowed_topologies.terms[0].match_expressions[0].values", "WRONG_COUNT", "exactly one", func(r *place) {
		aClass(r).AllowedTopologies.Terms[0].MatchExpressions[0].Values = nil
	}},
	{"context.cluster.storage_classes[1].csi_driver", "TOO_LONG", "at most 253", func(r *place) {
		aClass(r).CsiDriver = strings.Repeat("a", 254)
	}},
	{"context.cluster.storage_classes[2].name", "DUPLICATE", "duplicates context.cluster.storage_classes[0], names must be unique", func(r *place) {
		cluster(r).StorageClasses = append(cluster(r).StorageClasses, &stowagev1.StorageClass{Name: "slow"})
	}},
	{"context.cluster.csi_drivers[1].name", "REQUIRED", "is required", func(r *place) {
		aDriver(r).Name = ""
	}},
	{"context.cluster.csi_drivers[1].name", "TOO_LONG", "at most 253", func(r *place) {
		aDriver(r).Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.csi_drivers[2].name", "DUPLICATE", "duplicates context.cluster.csi_drivers[1], names must be unique", func(r *place) {
		cluster(r).CsiDrivers = append(cluster(r).CsiDrivers, aDriver(r))
	}},
	{"context.cluster.csi_storage_capacities[1].namespace", "TOO_LONG", "at most 63", func(r *place) {
		aCapacity(r).Namespace = strings.Repeat("a", 64)
	}},
	{"context.cluster.csi_storage_capacities[1].name", "REQUIRED", "is required", func(r *place) {
		aCapacity(r).Name = ""
	}},
	{"context.cluster.csi_storage_capacities[1].name", "TOO_LONG", "at most 253", func(r *place) {
		aCapacity(r).Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.csi_storage_capacities[1].storage_class_name", "TOO_LONG", "at most 253", func(r *place) {
		aCapacity(r).StorageClassName = strings.Repeat("a", 254)
	}},
	{"context.cluster.csi_storage_capacities[1].node_topology.match_expressions[0].operator", "UNKNOWN_VALUE", "must be LABEL_SELECTOR_OPERATOR_IN", func(r *place) {
		aCapacity(r).NodeTopology.MatchExpressions[0].Operator = 7
	}},
	{"context.cluster.csi_storage_capacities[1].capacity", "OUT_OF_RANGE", "is -1, at least 0 is required", func(r *place) {
		aCapacity(r).Capacity = new(int64(-1))
	}},
	{"context.cluster.csi_storage_capacities[1].maximum_volume_size", "OUT_OF_RANGE", "is -1, at least 0 is required", func(r *place) {
		aCapacity(r).MaximumVolumeSize = new(int64(-1))
	}},
	{"context.cluster.csi_storage_capacities[2].name", "DUPLICATE", "duplicates context.cluster.csi_storage_capacities[1], names must be unique per namespace", func(r *place) {
		cluster(r).CsiStorageCapacities = append(cluster(r).CsiStorageCapacities,
			&stowagev1.CSIStorageCapacity{Namespace: "default", Name: "room"})
	}},
	{"context.cluster.persistent_volumes[1].name", "REQUIRED", "is required", func(r *place) {
		aVolume(r).Name = ""
	}},
	{"context.cluster.persistent_volumes[1].name", "TOO_LONG", "at most 253", func(r *place) {
		aVolume(r).Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volumes[1].labels", "WRONG_COUNT", "at most 10000", func(r *place) {
		aVolume(r).Labels = make(map[string]string)
		for i := range 10_001 {
			aVolume(r).Labels[fmt.Sprint("k", i)] = ""
		}
	}},
	{`context.cluster.persistent_volumes[1].labels["k"]`, "TOO_LONG", "value of 64 bytes", func(r *place) {
		aVolume(r).Labels = map[string]string{"k": strings.Repeat("v", 64)}
	}},
	{`context.cluster.persistent_volumes[1].labels[""]`, "REQUIRED", "empty key", func(r *place) {
		aVolume(r).Labels = map[string]string{"": "v"}
	}},
	{"context.cluster.persistent_volumes[1].storage_class_name", "TOO_LONG", "at most 253", func(r *place) {
		aVolume(r).StorageClassName = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volumes[1].capacity", "OUT_OF_RANGE", "is -1, at least 0 is required", func(r *place) {
		aVolume(r).Capacity = -1
	}},
	{"context.cluster.persistent_volumes[1].volume_mode", "UNKNOWN_VALUE", "must be VOLUME_MODE_FILESYSTEM or VOLUME_MODE_BLOCK", func(r *place) {
		aVolume(r).VolumeMode = 3
	}},
	{"context.cluster.persistent_volumes[1].volume_attributes_class_name", "TOO_LONG", "at most 253", func(r *place) {
		aVolume(r).VolumeAttributesClassName = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volumes[1].claim.namespace", "TOO_LONG", "at most 63", func(r *place) {
		aVolume(r).Claim.Namespace = strings.Repeat("a", 64)
	}},
	{"context.cluster.persistent_volumes[1].claim.name", "REQUIRED", "is required", func(r *place) {
		aVolume(r).Claim.Name = ""
	}},
	{"context.cluster.persistent_volumes[1].claim.name", "TOO_LONG", "at most 253", func(r *place) {
		aVolume(r).Claim.Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volumes[1].claim.uid", "TOO_LONG", "at most 63", func(r *place) {
		aVolume(r).Claim.Uid = strings.Repeat("a", 64)
	}},
	{"context.cluster.persistent_volumes[1].node_affinity.terms[0].match_fields[0].key", "UNKNOWN_VALUE", "only", func(r *place) {
		aVolume(r).NodeAffinity.Terms[0].MatchFields[0].Key = "metadata.uid"
	}},
	{"context.cluster.persistent_volumes[1].csi_driver", "TOO_LONG", "at most 253", func(r *place) {
		aVolume(r).CsiDriver = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volumes[1].volume_handle", "TOO_LONG", "at most 4096", func(r *place) {
		aVolume(r).VolumeHandle = strings.Repeat("a", 4097)
	}},
	{"context.cluster.persistent_volumes[1].in_tree_plugin", "TOO_LONG", "at most 253", func(r *place) {
		aVolume(r).InTreePlugin = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volumes[1].migrated_node_affinity.terms[0].match_expressions[0].operator", "UNKNOWN_VALUE", "must be NODE_SELECTOR_OPERATOR_IN", func(r *place) {
		aVolume(r).MigratedNodeAffinity.Terms[0].MatchExpressions[0].Operator = 9
	}},
	{"context.cluster.persistent_volumes[2].name", "DUPLICATE", "duplicates context.cluster.persistent_volumes[1], names must be unique", func(r *place) {
		cluster(r).PersistentVolumes = append(cluster(r).PersistentVolumes, aVolume(r))
	}},
	{"context.cluster.persistent_volume_claims[0].namespace", "TOO_LONG", "at most 63", func(r *place) {
		aClaim(r).Namespace = strings.Repeat("a", 64)
	}},
	{"context.cluster.persistent_volume_claims[0].name", "REQUIRED", "is required", func(r *place) {
		aClaim(r).Name = ""
	}},
	{"context.cluster.persistent_volume_claims[0].name", "TOO_LONG", "at most 253", func(r *place) {
		aClaim(r).Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volume_claims[0].uid", "TOO_LONG", "at most 63", func(r *place) {
		aClaim(r).Uid = strings.Repeat("a", 64)
	}},
	{"context.cluster.persistent_volume_claims[0].volume_name", "TOO_LONG", "at most 253", func(r *place) {
		aClaim(r).VolumeName = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volume_claims[0].selected_node", "TOO_LONG", "at most 253", func(r *place) {
		aClaim(r).SelectedNode = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volume_claims[0].controller_pod", "TOO_LONG", "at most 253", func(r *place) {
		aClaim(r).ControllerPod = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volume_claims[2].name", "DUPLICATE", "duplicates context.cluster.persistent_volume_claims[1], names must be unique per namespace", func(r *place) {
		cluster(r).PersistentVolumeClaims = append(cluster(r).PersistentVolumeClaims,
			&stowagev1.PersistentVolumeClaim{Namespace: "default", Name: "data-0"})
	}},
	{"context.cluster.persistent_volume_claims[0].spec.storage_class_name", "TOO_LONG", "at most 253", func(r *place) {
		aClaim(r).Spec.StorageClassName = strings.Repeat("a", 254)
	}},
	{"context.cluster.persistent_volume_claims[0].spec.storage_request", "OUT_OF_RANGE", "is -1, at least 0 is required", func(r *place) {
		aClaim(r).Spec.StorageRequest = new(int64(-1))
	}},
	{"context.cluster.persistent_volume_claims[0].spec.volume_mode", "UNKNOWN_VALUE", "must be VOLUME_MODE_FILESYSTEM or VOLUME_MODE_BLOCK", func(r *place) {
		aClaim(r).Spec.VolumeMode = 3
	}},
	{"context.cluster.persistent_volume_claims[0].spec.selector.match_expressions[0].values", "REQUIRED", "at least one", func(r *place) {
		aClaim(r).Spec.Selector.MatchExpressions[0].Values = nil
	}},
	{"context.cluster.persistent_volume_claims[0].spec.volume_attributes_class_name", "TOO_LONG", "at most 253", func(r *place) {
		aClaim(r).Spec.VolumeAttributesClassName = strings.Repeat("a", 254)
	}},
	{podSpec + "volumes[2].persistent_volume_claim.claim_name", "TOO_LONG", "at most 253", func(r *place) {
		claimOfPod(r).ClaimName = strings.Repeat("a", 254)
	}},
	{podSpec + "volumes[2].persistent_volume_claim.claim_template.storage_request", "OUT_OF_RANGE", "is -1, at least 0 is required", func(r *place) {
		claimOfPod(r).ClaimTemplate.StorageRequest = new(int64(-1))
	}},
	{podSpec + "volumes[3].ephemeral.volume_name", "REQUIRED", "is required", func(r *place) {
		ephemeral(r).VolumeName = ""
	}},
	{podSpec + "volumes[3].ephemeral.volume_name", "TOO_LONG", "at most 253", func(r *place) {
		ephemeral(r).VolumeName = strings.Repeat("a", 254)
	}},
	{podSpec + "volumes[3].ephemeral.claim_template.storage_class_name", "TOO_LONG", "at most 253", func(r *place) {
		ephemeral(r).ClaimTemplate.StorageClassName = strings.Repeat("a", 254)
	}},
	{podSpec + "volumes[4].disk.kind", "UNKNOWN_VALUE", "must be DISK_KIND_GCE_PERSISTENT_DISK", func(r *place) {
		disk(r).Kind = 5
	}},
	{podSpec + "volumes[4].disk.id", "TOO_LONG", "at most 4096", func(r *place) {
		disk(r).Id = strings.Repeat("a", 4097)
	}},
	{podSpec + "volumes[4].disk.monitors", "WRONG_COUNT", "at most 1000", func(r *place) {
		disk(r).Monitors = slices.Repeat([]string{"m"}, 1_001)
	}},
	{podSpec + "volumes[4].disk.monitors[1]", "REQUIRED", "is empty", func(r *place) {
		disk(r).Monitors[1] = ""
	}},
	{podSpec + "volumes[4].disk.monitors[1]", "TOO_LONG", "at most 4096", func(r *place) {
		disk(r).Monitors[1] = strings.Repeat("a", 4097)
	}},
	{podSpec + "volumes[4].disk.csi_driver", "TOO_LONG", "at most 253", func(r *place) {
		disk(r).CsiDriver = strings.Repeat("a", 254)
	}},
	{podSpec + "volumes[4].disk.volume_handle", "TOO_LONG", "at most 4096", func(r *place) {
		disk(r).VolumeHandle = strings.Repeat("a", 4097)
	}},
	{"context.cluster.nodes[0].csi_node.drivers", "WRONG_COUNT", "at most 1000", func(r *place) {
		node(r, 0).CsiNode.Drivers = make([]*stowagev1.CSINodeDriver, 1_001)
	}},
	{"context.cluster.nodes[0].csi_node.drivers[1].name", "REQUIRED", "is required", func(r *place) {
		node(r, 0).CsiNode.Drivers[1].Name = ""
	}},
	{"context.cluster.nodes[0].csi_node.drivers[1].name", "TOO_LONG", "at most 253", func(r *place) {
		node(r, 0).CsiNode.Drivers[1].Name = strings.Repeat("a", 254)
	}},
	{"context.cluster.nodes[0].csi_node.drivers[1].allocatable_count", "OUT_OF_RANGE", "is -1, at least 0 is required", func(r *place) {
		node(r, 0).CsiNode.Drivers[1].AllocatableCount = proto.Int32(-1)
	}},
	{"context.cluster.nodes[0].csi_node.migrated_plugins", "WRONG_COUNT", "at most 1000", func(r *place) {
		node(r, 0).CsiNode.MigratedPlugins = slices.Repeat([]string{"p"}, 1_001)
	}},
	{"context.cluster.nodes[0].csi_node.migrated_plugins[1]", "REQUIRED", "is empty", func(r *place) {
		node(r, 0).CsiNode.MigratedPlugins[1] = ""
	}},
	{"context.cluster.node_classes[0].csi_node.migrated_plugins[1]", "TOO_LONG", "at most 253", func(r *place) {
		cluster(r).NodeClasses[0].CsiNode.MigratedPlugins[1] = strings.Repeat("a", 254)
	}},
	{"context.cluster.nodes[0].attached_volumes", "WRONG_COUNT", "at most 10000", func(r *place) {
		node(r, 0).AttachedVolumes = slices.Repeat([]string{"v"}, 10_001)
	}},
	{"context.cluster.nodes[0].attached_volumes[1]", "REQUIRED", "is empty", func(r *place) {
		node(r, 0).AttachedVolumes[1] = ""
	}},
	{"context.cluster.nodes[0].attached_volumes[1]", "TOO_LONG", "at most 253", func(r *place) {
		node(r, 0).AttachedVolumes[1] = strings.Repeat("a", 254)
	}},
}
