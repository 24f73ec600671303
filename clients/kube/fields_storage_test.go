package kube_test

// storageFields are the fields of storage objects that the conversion reads, as podFields.
var storageFields = map[string]string{
	"StorageClass.Provisioner":                                    `{provisioner: p}`,
	"StorageClass.VolumeBindingMode":                              `{provisioner: p, volumeBindingMode: WaitForFirstConsumer}`,
	"StorageClass.AllowedTopologies.MatchLabelExpressions.Key":    `{provisioner: p, allowedTopologies: [{matchLabelExpressions: [{key: z, values: [a]}]}]}`,
	"StorageClass.AllowedTopologies.MatchLabelExpressions.Values": `{provisioner: p, allowedTopologies: [{matchLabelExpressions: [{key: z, values: [a]}]}]}`,

	"CSIDriver.Spec.StorageCapacity":               `spec: {storageCapacity: true}`,
	"CSIDriver.Spec.PreventPodSchedulingIfMissing": `spec: {preventPodSchedulingIfMissing: true}`,

	"CSINode.Spec.Drivers.Name":              `spec: {drivers: [{name: d, nodeID: m, allocatable: {count: 3}}]}`,
	"CSINode.Spec.Drivers.Allocatable.Count": `spec: {drivers: [{name: d, nodeID: m, allocatable: {count: 3}}]}`,

	"CSIStorageCapacity.NodeTopology":      `nodeTopology: {matchLabels: {z: a}}`,
	"CSIStorageCapacity.StorageClassName":  `storageClassName: s`,
	"CSIStorageCapacity.Capacity":          `capacity: 7`,
	"CSIStorageCapacity.MaximumVolumeSize": `maximumVolumeSize: 7`,

	"VolumeAttachment.Spec.Attacher":                    `spec: {attacher: d, nodeName: m, source: {persistentVolumeName: v}}`,
	"VolumeAttachment.Spec.NodeName":                    `spec: {attacher: d, nodeName: m, source: {persistentVolumeName: v}}`,
	"VolumeAttachment.Spec.Source.PersistentVolumeName": `spec: {attacher: d, nodeName: m, source: {persistentVolumeName: v}}`,

	"PersistentVolume.Spec.Capacity":                                    `spec: {capacity: {storage: 7}}`,
	"PersistentVolume.Spec.AccessModes":                                 `spec: {accessModes: [ReadWriteOnce]}`,
	"PersistentVolume.Spec.ClaimRef.Namespace":                          `spec: {claimRef: {namespace: n, name: c, uid: u}}`,
	"PersistentVolume.Spec.ClaimRef.Name":                               `spec: {claimRef: {namespace: n, name: c, uid: u}}`,
	"PersistentVolume.Spec.ClaimRef.UID":                                `spec: {claimRef: {namespace: n, name: c, uid: u}}`,
	"PersistentVolume.Spec.StorageClassName":                            `spec: {storageClassName: s}`,
	"PersistentVolume.Spec.VolumeMode":                                  `spec: {volumeMode: Block}`,
	"PersistentVolume.Spec.NodeAffinity.Required":                       `spec: {nodeAffinity: {required: {nodeSelectorTerms: []}}}`,
	"PersistentVolume.Spec.VolumeAttributesClassName":                   `spec: {volumeAttributesClassName: a}`,
	"PersistentVolume.Spec.PersistentVolumeSource.CSI.Driver":           `spec: {csi: {driver: d, volumeHandle: h}}`,
	"PersistentVolume.Spec.PersistentVolumeSource.CSI.VolumeHandle":     `spec: {csi: {driver: d, volumeHandle: h}}`,
	"PersistentVolume.Spec.PersistentVolumeSource.GCEPersistentDisk":    `spec: {gcePersistentDisk: {pdName: d}}`,
	"PersistentVolume.Spec.PersistentVolumeSource.AWSElasticBlockStore": `spec: {awsElasticBlockStore: {volumeID: d}}`,
	"PersistentVolume.Spec.PersistentVolumeSource.AzureDisk":            `spec: {azureDisk: {diskName: d, diskURI: /u}}`,
	"PersistentVolume.Spec.PersistentVolumeSource.Cinder":               `spec: {cinder: {volumeID: d}}`,
	"PersistentVolume.Spec.PersistentVolumeSource.PortworxVolume":       `spec: {portworxVolume: {volumeID: d}}`,
	"PersistentVolume.Status.Phase":                                     `{metadata: {uid: u}, status: {phase: Available}}`,

	"PersistentVolumeClaim.Spec.AccessModes":               `spec: {accessModes: [ReadWriteOnce]}`,
	"PersistentVolumeClaim.Spec.Selector":                  `spec: {selector: {matchLabels: {a: b}}}`,
	"PersistentVolumeClaim.Spec.Resources.Requests":        `spec: {resources: {requests: {storage: 7}}}`,
	"PersistentVolumeClaim.Spec.VolumeName":                `spec: {volumeName: w}`,
	"PersistentVolumeClaim.Spec.StorageClassName":          `spec: {storageClassName: s}`,
	"PersistentVolumeClaim.Spec.VolumeMode":                `spec: {volumeMode: Block}`,
	"PersistentVolumeClaim.Spec.VolumeAttributesClassName": `spec: {volumeAttributesClassName: a}`,
	"PersistentVolumeClaim.Status.Phase":                   `status: {phase: Lost}`,
}
