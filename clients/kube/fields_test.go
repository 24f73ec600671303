package kube_test

// The tables of TestEveryFieldIsUsedToldRefusedOrIrrelevant, by the field's path in Go. Storage, devices and irrelevant fields have files of their own.

const resized = `spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}`

// podFields are the fields of pods and nodes that the conversion reads, with an object for which the field makes a difference.
var podFields = map[string]string{
	"PodSpec.Volumes.Name":                               `spec: {volumes: [{name: v, ephemeral: {}}]}`,
	"PodSpec.Volumes.VolumeSource.Image":                 `spec: {volumes: [{image: {reference: i}}]}`,
	"PodSpec.Volumes.VolumeSource.EmptyDir":              `spec: {volumes: [{emptyDir: {}}]}`,
	"PodSpec.Volumes.VolumeSource.PersistentVolumeClaim": `spec: {volumes: [{persistentVolumeClaim: {claimName: c}}]}`,
	"PodSpec.Volumes.VolumeSource.Ephemeral":             `spec: {volumes: [{name: v, ephemeral: {}}]}`,
	"PodSpec.Volumes.VolumeSource.GCEPersistentDisk":     `spec: {volumes: [{gcePersistentDisk: {pdName: d}}]}`,
	"PodSpec.Volumes.VolumeSource.AWSElasticBlockStore":  `spec: {volumes: [{awsElasticBlockStore: {volumeID: d}}]}`,
	"PodSpec.Volumes.VolumeSource.ISCSI":                 `spec: {volumes: [{iscsi: {iqn: d}}]}`,
	"PodSpec.Volumes.VolumeSource.RBD":                   `spec: {volumes: [{rbd: {image: d}}]}`,
	"PodSpec.Volumes.VolumeSource.AzureDisk":             `spec: {volumes: [{azureDisk: {diskName: d}}]}`,
	"PodSpec.Volumes.VolumeSource.Cinder":                `spec: {volumes: [{cinder: {volumeID: d}}]}`,
	"PodSpec.Volumes.VolumeSource.PortworxVolume":        `spec: {volumes: [{portworxVolume: {volumeID: d}}]}`,
	"PodSpec.ResourceClaims.Name":                        `spec: {resourceClaims: [{name: c, resourceClaimName: d}]}`,
	"PodSpec.ResourceClaims.ResourceClaimName":           `spec: {resourceClaims: [{name: c, resourceClaimName: d}]}`,
	"PodSpec.ResourceClaims.ResourceClaimTemplateName":   `spec: {resourceClaims: [{name: c, resourceClaimTemplateName: t}]}`,
	"PodSpec.InitContainers":                             `spec: {initContainers: [{name: i}]}`, // converted as containers are
	"PodSpec.NodeSelector":                               `spec: {nodeSelector: {a: b}}`,
	"PodSpec.NodeName":                                   `spec: {nodeName: m}`,
	"PodSpec.HostNetwork":                                `spec: {hostNetwork: true, containers: [{ports: [{containerPort: 80}]}]}`,
	"PodSpec.Priority":                                   `spec: {priority: 3}`,
	"PodSpec.PreemptionPolicy":                           `spec: {preemptionPolicy: Never}`,
	"PodSpec.SchedulerName":                              `spec: {schedulerName: other}`,
	"PodSpec.Overhead":                                   `spec: {overhead: {cpu: 1}}`,
	"PodSpec.SchedulingGates.Name":                       `spec: {schedulingGates: [{name: g}]}`,
	"PodSpec.SchedulingGroup.PodGroupName":               `spec: {schedulingGroup: {podGroupName: g}}`,
	"PodSpec.Resources.Requests":                         `spec: {resources: {requests: {cpu: 1}}}`,
	"PodSpec.Resources.Limits":                           `spec: {resources: {limits: {cpu: 1}}}`,

	"PodSpec.Containers.Name":                `spec: {containers: [{name: c}]}`,
	"PodSpec.Containers.Image":               `spec: {containers: [{image: i}]}`,
	"PodSpec.Containers.Ports.HostPort":      `spec: {containers: [{ports: [{hostPort: 80}]}]}`,
	"PodSpec.Containers.Ports.HostIP":        `spec: {containers: [{ports: [{hostPort: 80, hostIP: 127.0.0.1}]}]}`,
	"PodSpec.Containers.Ports.Protocol":      `spec: {containers: [{ports: [{hostPort: 80, protocol: UDP}]}]}`,
	"PodSpec.Containers.Ports.ContainerPort": `spec: {hostNetwork: true, containers: [{ports: [{containerPort: 80}]}]}`,
	"PodSpec.Containers.Resources.Requests":  `spec: {containers: [{resources: {requests: {cpu: 1}}}]}`,
	"PodSpec.Containers.Resources.Limits":    `spec: {containers: [{resources: {limits: {cpu: 1}}}]}`,
	"PodSpec.Containers.RestartPolicy":       `spec: {containers: [{restartPolicy: Never}]}`,

	"PodSpec.Containers.RestartPolicyRules.Action":     `spec: {containers: [{restartPolicyRules: [{action: RestartAllContainers}]}]}`,
	"PodSpec.Containers.VolumeMounts.BindMountOptions": `spec: {containers: [{volumeMounts: [{bindMountOptions: [noexec]}]}]}`,
	"PodSpec.EphemeralContainers":                      `spec: {ephemeralContainers: [{volumeMounts: [{bindMountOptions: [noexec]}]}]}`,
	"PodSpec.HostUsers":                                `spec: {hostNetwork: true, hostUsers: false}`,

	"PodSpec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution":     `spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}}`,
	"PodSpec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution":    `spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}`,
	"PodSpec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution":      `spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z}]}}}`,
	"PodSpec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution":     `spec: {affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}`,
	"PodSpec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution":  `spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z}]}}}`,
	"PodSpec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution": `spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}`,

	"PodSpec.Tolerations.Key":      `spec: {tolerations: [{key: k}]}`,
	"PodSpec.Tolerations.Operator": `spec: {tolerations: [{operator: Exists}]}`,
	"PodSpec.Tolerations.Value":    `spec: {tolerations: [{value: v}]}`,
	"PodSpec.Tolerations.Effect":   `spec: {tolerations: [{effect: NoExecute}]}`,

	"PodSpec.TopologySpreadConstraints.MaxSkew":            spread + `maxSkew: 2}]}`,
	"PodSpec.TopologySpreadConstraints.TopologyKey":        spread + `topologyKey: z}]}`,
	"PodSpec.TopologySpreadConstraints.WhenUnsatisfiable":  spread + `maxSkew: 1}]}`,
	"PodSpec.TopologySpreadConstraints.LabelSelector":      spread + `labelSelector: {}}]}`,
	"PodSpec.TopologySpreadConstraints.MinDomains":         spread + `minDomains: 2}]}`,
	"PodSpec.TopologySpreadConstraints.NodeAffinityPolicy": spread + `nodeAffinityPolicy: Ignore}]}`,
	"PodSpec.TopologySpreadConstraints.NodeTaintsPolicy":   spread + `nodeTaintsPolicy: Honor}]}`,
	"PodSpec.TopologySpreadConstraints.MatchLabelKeys":     spread + `matchLabelKeys: [k]}]}`,

	"PodStatus.Phase":                                   `status: {phase: Succeeded}`,
	"PodStatus.StartTime":                               `{spec: {nodeName: m}, status: {startTime: "2026-01-01T00:00:00Z"}}`,
	"PodStatus.Conditions.Status":                       `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {nodeName: m}, status: {conditions: [{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler}]}}`,
	"PodStatus.NominatedNodeName":                       `status: {nominatedNodeName: m}`,
	"PodStatus.ResourceClaimStatuses.Name":              `{spec: {resourceClaims: [{name: c, resourceClaimTemplateName: t}]}, status: {resourceClaimStatuses: [{name: c, resourceClaimName: d}]}}`,
	"PodStatus.ResourceClaimStatuses.ResourceClaimName": `{spec: {resourceClaims: [{name: c, resourceClaimTemplateName: t}]}, status: {resourceClaimStatuses: [{name: c, resourceClaimName: d}]}}`,
	"PodStatus.Conditions.Type":                         `{` + resized + `, status: {conditions: [{type: PodResizePending, reason: Infeasible}], containerStatuses: [{name: c, allocatedResources: {cpu: 2}}]}}`,
	"PodStatus.Conditions.Reason":                       `{` + resized + `, status: {conditions: [{type: PodResizePending, reason: Infeasible}], containerStatuses: [{name: c, allocatedResources: {cpu: 2}}]}}`,
	"PodStatus.ContainerStatuses.Name":                  `{` + resized + `, status: {containerStatuses: [{name: c, allocatedResources: {cpu: 2}}]}}`,
	"PodStatus.ContainerStatuses.AllocatedResources":    `{` + resized + `, status: {containerStatuses: [{name: c, allocatedResources: {cpu: 2}}]}}`,
	"PodStatus.ContainerStatuses.Resources.Requests":    `{` + resized + `, status: {containerStatuses: [{name: c, resources: {requests: {cpu: 2}}}]}}`,
	"PodStatus.InitContainerStatuses":                   `{spec: {initContainers: [{name: i}]}, status: {initContainerStatuses: [{name: i, allocatedResources: {cpu: 2}}]}}`,
	"PodStatus.AllocatedResources":                      `{spec: {resources: {requests: {cpu: 1}}}, status: {allocatedResources: {cpu: 2}, resources: {}}}`,
	"PodStatus.Resources.Requests":                      `{spec: {resources: {requests: {cpu: 1}}}, status: {resources: {requests: {cpu: 2}}}}`,

	"NodeSpec.Unschedulable":      `spec: {unschedulable: true}`,
	"NodeSpec.Taints.Effect":      `spec: {taints: [{key: k, effect: NoSchedule}]}`,
	"NodeSpec.Taints.Key":         `spec: {taints: [{key: k, effect: NoSchedule}]}`,
	"NodeSpec.Taints.Value":       `spec: {taints: [{key: k, value: v, effect: NoSchedule}]}`,
	"NodeStatus.Capacity":         `status: {capacity: {cpu: 1}}`,
	"NodeStatus.Allocatable":      `status: {allocatable: {cpu: 1}}`,
	"NodeStatus.DeclaredFeatures": `status: {declaredFeatures: [F]}`,
	"NodeStatus.Images.Names":     `status: {images: [{names: [i]}]}`,
	"NodeStatus.Images.SizeBytes": `status: {images: [{names: [i], sizeBytes: 3}]}`,
}

const spread = `spec: {topologySpreadConstraints: [{whenUnsatisfiable: ScheduleAnyway, `

// toldFields are the fields that kube-scheduler reads and the contract lacks, with an object that has the field and
// how the snapshot names it.
var toldFields = map[string]struct{ object, at string }{
	"PodSpec.PriorityClassName": {`spec: {priorityClassName: c}`, "spec.priorityClassName"},
	"PodSpec.RuntimeClassName":  {`spec: {runtimeClassName: c}`, "spec.runtimeClassName"},
}
