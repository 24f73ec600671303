package kube_test

const slice = `spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, `

// deviceFields are the fields of objects of devices that the conversion reads, as podFields.
var deviceFields = map[string]string{
	"ResourceSlice.Spec.Driver":                                         slice + `nodeName: m}`,
	"ResourceSlice.Spec.Pool.Name":                                      slice + `nodeName: m}`,
	"ResourceSlice.Spec.Pool.Generation":                                slice + `nodeName: m}`,
	"ResourceSlice.Spec.Pool.ResourceSliceCount":                        slice + `nodeName: m}`,
	"ResourceSlice.Spec.NodeName":                                       slice + `nodeName: m}`,
	"ResourceSlice.Spec.NodeSelector":                                   slice + `nodeSelector: {nodeSelectorTerms: []}}`,
	"ResourceSlice.Spec.AllNodes":                                       slice + `allNodes: true}`,
	"ResourceSlice.Spec.PerDeviceNodeSelection":                         slice + `perDeviceNodeSelection: true}`,
	"ResourceSlice.Spec.SharedCounters.Name":                            slice + `sharedCounters: [{name: s, counters: {c: {value: 7}}}]}`,
	"ResourceSlice.Spec.SharedCounters.Counters.Value":                  slice + `sharedCounters: [{name: s, counters: {c: {value: 7}}}]}`,
	"ResourceSlice.Spec.Devices.Name":                                   slice + `devices: [{name: a}]}`,
	"ResourceSlice.Spec.Devices.Attributes.IntValue":                    slice + `devices: [{name: a, attributes: {a: {int: 7}}}]}`,
	"ResourceSlice.Spec.Devices.Attributes.BoolValue":                   slice + `devices: [{name: a, attributes: {a: {bool: true}}}]}`,
	"ResourceSlice.Spec.Devices.Attributes.StringValue":                 slice + `devices: [{name: a, attributes: {a: {string: x}}}]}`,
	"ResourceSlice.Spec.Devices.Attributes.VersionValue":                slice + `devices: [{name: a, attributes: {a: {version: 1.0.0}}}]}`,
	"ResourceSlice.Spec.Devices.Capacity.Value":                         slice + `devices: [{name: a, capacity: {c: {value: 7}}}]}`,
	"ResourceSlice.Spec.Devices.Capacity.RequestPolicy.Default":         slice + `devices: [{name: a, capacity: {c: {value: 7, requestPolicy: {default: 2}}}}]}`,
	"ResourceSlice.Spec.Devices.Capacity.RequestPolicy.ValidValues":     slice + `devices: [{name: a, capacity: {c: {value: 7, requestPolicy: {validValues: [2]}}}}]}`,
	"ResourceSlice.Spec.Devices.Capacity.RequestPolicy.ValidRange.Min":  slice + `devices: [{name: a, capacity: {c: {value: 7, requestPolicy: {validRange: {min: 2}}}}}]}`,
	"ResourceSlice.Spec.Devices.Capacity.RequestPolicy.ValidRange.Max":  slice + `devices: [{name: a, capacity: {c: {value: 7, requestPolicy: {validRange: {max: 2}}}}}]}`,
	"ResourceSlice.Spec.Devices.Capacity.RequestPolicy.ValidRange.Step": slice + `devices: [{name: a, capacity: {c: {value: 7, requestPolicy: {validRange: {step: 2}}}}}]}`,
	"ResourceSlice.Spec.Devices.ConsumesCounters.CounterSet":            slice + `devices: [{name: a, consumesCounters: [{counterSet: s, counters: {c: {value: 7}}}]}]}`,
	"ResourceSlice.Spec.Devices.ConsumesCounters.Counters.Value":        slice + `devices: [{name: a, consumesCounters: [{counterSet: s, counters: {c: {value: 7}}}]}]}`,
	"ResourceSlice.Spec.Devices.NodeName":                               slice + `devices: [{name: a, nodeName: m}]}`,
	"ResourceSlice.Spec.Devices.NodeSelector":                           slice + `devices: [{name: a, nodeSelector: {nodeSelectorTerms: []}}]}`,
	"ResourceSlice.Spec.Devices.AllNodes":                               slice + `devices: [{name: a, allNodes: true}]}`,
	"ResourceSlice.Spec.Devices.Taints.Key":                             slice + `devices: [{name: a, taints: [{key: k, value: v, effect: NoExecute}]}]}`,
	"ResourceSlice.Spec.Devices.Taints.Value":                           slice + `devices: [{name: a, taints: [{key: k, value: v, effect: NoExecute}]}]}`,
	"ResourceSlice.Spec.Devices.Taints.Effect":                          slice + `devices: [{name: a, taints: [{key: k, value: v, effect: NoExecute}]}]}`,
	"ResourceSlice.Spec.Devices.BindsToNode":                            slice + `devices: [{name: a, bindsToNode: true}]}`,
	"ResourceSlice.Spec.Devices.BindingConditions":                      slice + `devices: [{name: a, bindingConditions: [Ready]}]}`,
	"ResourceSlice.Spec.Devices.AllowMultipleAllocations":               slice + `devices: [{name: a, allowMultipleAllocations: true}]}`,

	"DeviceClass.Spec.Selectors.CEL.Expression": `spec: {selectors: [{cel: {expression: d/a=x}}]}`,
	"DeviceClass.Spec.ExtendedResourceName":     `spec: {extendedResourceName: example.com/gpu}`,

	"ResourceClaim.Spec.Devices.Requests.Name":                                    `spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Name":                     `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.DeviceClassName":          `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.DeviceClassName":                 `spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Selectors.CEL.Expression": `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, selectors: [{cel: {expression: d/a=x}}]}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Selectors.CEL.Expression":        `spec: {devices: {requests: [{name: r, exactly: {selectors: [{cel: {expression: d/a=x}}]}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.AllocationMode":           `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, allocationMode: All}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.AllocationMode":                  `spec: {devices: {requests: [{name: r, exactly: {allocationMode: All}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Count":                    `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, count: 7}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Count":                           `spec: {devices: {requests: [{name: r, exactly: {count: 7}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.AdminAccess":                     `spec: {devices: {requests: [{name: r, exactly: {adminAccess: true}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Tolerations.Key":          `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Tolerations.Key":                 `spec: {devices: {requests: [{name: r, exactly: {tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Tolerations.Operator":     `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Tolerations.Operator":            `spec: {devices: {requests: [{name: r, exactly: {tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Tolerations.Value":        `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Tolerations.Value":               `spec: {devices: {requests: [{name: r, exactly: {tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Tolerations.Effect":       `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Tolerations.Effect":              `spec: {devices: {requests: [{name: r, exactly: {tolerations: [{key: k, operator: Exists, value: v, effect: NoExecute}]}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.Capacity.Requests":        `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, capacity: {requests: {c: 7}}}]}]}}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.Capacity.Requests":               `spec: {devices: {requests: [{name: r, exactly: {capacity: {requests: {c: 7}}}}]}}`,
	"ResourceClaim.Spec.Devices.Constraints.MatchAttribute":                       `spec: {devices: {constraints: [{requests: [r], matchAttribute: d/a}]}}`,
	"ResourceClaim.Spec.Devices.Constraints.DistinctAttribute":                    `spec: {devices: {constraints: [{requests: [r], distinctAttribute: d/a}]}}`,
	"ResourceClaim.Spec.Devices.Constraints.Requests":                             `spec: {devices: {constraints: [{requests: [r], matchAttribute: d/a}]}}`,

	"ResourceClaim.Status.Allocation.NodeSelector":                             `status: {allocation: {nodeSelector: {nodeSelectorTerms: []}}}`,
	"ResourceClaim.Status.Allocation.AllocationTimestamp":                      `status: {allocation: {allocationTimestamp: "2020-01-01T00:00:00Z", devices: {results: [{request: r, driver: d, pool: p, device: a, bindingConditions: [Ready]}]}}}`,
	"ResourceClaim.Status.Allocation.Devices.Results.Request":                  allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.Driver":                   allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.Pool":                     allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.Device":                   allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.AdminAccess":              allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.ShareID":                  allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.ConsumedCapacity":         allocated,
	"ResourceClaim.Status.Allocation.Devices.Results.BindingConditions":        failed,
	"ResourceClaim.Status.Allocation.Devices.Results.BindingFailureConditions": failed,
	"ResourceClaim.Status.Devices.Driver":                                      failed,
	"ResourceClaim.Status.Devices.Pool":                                        failed,
	"ResourceClaim.Status.Devices.Device":                                      failed,
	"ResourceClaim.Status.Devices.Conditions":                                  failed,
	"ResourceClaim.Status.ReservedFor.APIGroup":                                `status: {reservedFor: [{apiGroup: g, resource: pods, name: p}]}`,
	"ResourceClaim.Status.ReservedFor.Resource":                                `status: {reservedFor: [{resource: podgroups, name: p}]}`,
	"ResourceClaim.Status.ReservedFor.Name":                                    `status: {reservedFor: [{resource: pods, name: p}]}`,

	"ResourceClaimTemplate.Spec.Spec": `spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}}`, // converted as the spec of a claim is

	"DeviceTaintRule.Spec.DeviceSelector.Driver": `spec: {deviceSelector: {driver: other}, taint: {key: k, value: v, effect: NoExecute}}`,
	"DeviceTaintRule.Spec.DeviceSelector.Pool":   `spec: {deviceSelector: {pool: other}, taint: {key: k, value: v, effect: NoExecute}}`,
	"DeviceTaintRule.Spec.DeviceSelector.Device": `spec: {deviceSelector: {device: other}, taint: {key: k, value: v, effect: NoExecute}}`,
	"DeviceTaintRule.Spec.Taint.Key":             `spec: {deviceSelector: {driver: d}, taint: {key: k, value: v, effect: NoExecute}}`,
	"DeviceTaintRule.Spec.Taint.Value":           `spec: {deviceSelector: {driver: d}, taint: {key: k, value: v, effect: NoExecute}}`,
	"DeviceTaintRule.Spec.Taint.Effect":          `spec: {deviceSelector: {driver: d}, taint: {key: k, value: v, effect: NoExecute}}`,
}

const (
	allocated = `status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: a, adminAccess: true, shareID: s, consumedCapacity: {c: 7}}]}}}`
	failed    = `status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: a, bindingConditions: [Ready], bindingFailureConditions: [Broken]}]}},
  devices: [{driver: d, pool: p, device: a, conditions: [{type: Broken, status: "True", reason: r, message: m, lastTransitionTime: "2020-01-01T00:00:00Z"}]}]}`
)

// refusedFields are the fields of alpha features that are off in v1.37, with an object that has the field. kube-scheduler refuses or ignores
// them, and the API server removes them from new objects.
var refusedFields = map[string]string{
	"ResourceSlice.Spec.Devices.Attributes.IntValues":                      slice + `devices: [{name: a, attributes: {a: {ints: [7]}}}]}`,
	"ResourceSlice.Spec.Devices.Attributes.BoolValues":                     slice + `devices: [{name: a, attributes: {a: {bools: [true]}}}]}`,
	"ResourceSlice.Spec.Devices.Attributes.StringValues":                   slice + `devices: [{name: a, attributes: {a: {strings: [x]}}}]}`,
	"ResourceSlice.Spec.Devices.Attributes.VersionValues":                  slice + `devices: [{name: a, attributes: {a: {versions: [1.0.0]}}}]}`,
	"ResourceSlice.Spec.Devices.ConsumesCounters.CompatibilityGroups":      slice + `devices: [{name: a, consumesCounters: [{counterSet: s, compatibilityGroups: [g]}]}]}`,
	"ResourceSlice.Spec.Devices.NodeAllocatableResources":                  slice + `devices: [{name: a, nodeAllocatableResources: {cpu: {}}}]}`,
	"ResourceSlice.Spec.SkipNodeOperations":                                slice + `nodeName: m, skipNodeOperations: [x]}`,
	"ResourceClaim.Spec.Devices.Requests.Exactly.DerivedAttributes":        `spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, derivedAttributes: [{name: d/a, expression: e}]}}]}}`,
	"ResourceClaim.Spec.Devices.Requests.FirstAvailable.DerivedAttributes": `spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c, derivedAttributes: [{name: d/a, expression: e}]}]}]}}`,
	"ResourceClaim.Status.Allocation.Devices.Results.SkipNodeOperations":   `status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: a, skipNodeOperations: [x]}]}}}`,
}
