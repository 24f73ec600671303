package verdict

import "fmt"

// ReasonType is the reason why a plugin rejects a node, or a pod as a whole.
type ReasonType uint8

// The reasons.
const (
	NoReason ReasonType = iota
	ReasonSchedulingGated
	ReasonNodeName
	ReasonNodeUnschedulable
	ReasonUntoleratedTaint
	ReasonNodeAffinity
	ReasonAddedNodeAffinity
	ReasonNodeAffinityConflict
	ReasonHostPort
	ReasonTooManyPods
	ReasonInsufficientResource
	ReasonSpread
	ReasonSpreadMissingLabel
	ReasonPodAffinity
	ReasonPodAntiAffinity
	ReasonExistingPodAntiAffinity
	ReasonNarrowedOut
	ReasonNoNodes
	ReasonUnparsablePod
	ReasonInvalidScore
	ReasonNoVictims
	ReasonPreemptionNotHelpful
	ReasonPodGroup
	ReasonDeclaredFeatures
	ReasonDiskConflict
	ReasonReadWriteOncePod
	ReasonVolumeLimit
	ReasonDriverMissing
	ReasonVolumeNodeConflict
	ReasonVolumeBindConflict
	ReasonStorageCapacity
	ReasonVolumeNotFound
	ReasonVolumeZone
	ReasonClaim
	ReasonNoDevices
	ReasonResourceClaimUnavailable
	ReasonInvalidPools
	ReasonNotServed
	ReasonExtendedClaim
	ReasonDevicesUndecided
	ReasonCount
)

var texts = map[ReasonType]string{
	ReasonNodeName:                "node(s) didn't match the requested node name",
	ReasonNodeUnschedulable:       "node(s) were unschedulable",
	ReasonUntoleratedTaint:        "node(s) had untolerated taint(s)",
	ReasonNodeAffinity:            "node(s) didn't match Pod's node affinity/selector",
	ReasonAddedNodeAffinity:       "node(s) didn't match scheduler-enforced node affinity",
	ReasonNodeAffinityConflict:    "pod affinity terms conflict",
	ReasonHostPort:                "node(s) didn't have free ports for the requested pod ports",
	ReasonTooManyPods:             "Too many pods",
	ReasonSpread:                  "node(s) didn't match pod topology spread constraints",
	ReasonSpreadMissingLabel:      "node(s) didn't match pod topology spread constraints (missing required label)",
	ReasonPodAffinity:             "node(s) didn't match pod affinity rules",
	ReasonPodAntiAffinity:         "node(s) didn't match pod anti-affinity rules",
	ReasonExistingPodAntiAffinity: "node(s) didn't satisfy existing pods anti-affinity rules",
	ReasonNoNodes:                 "no nodes available to schedule pods",
	ReasonNoVictims:               "No preemption victims found for incoming pod",
	ReasonPreemptionNotHelpful:    "Preemption is not helpful for scheduling",
	ReasonPodGroup:                "node(s) were outside of the topology domain of the pod group",
	ReasonDeclaredFeatures:        "node(s) didn't match Pod's required features",
	ReasonDiskConflict:            "node(s) had no available disk",
	ReasonReadWriteOncePod: "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by " +
		"another pod",
	ReasonVolumeLimit:        "node(s) exceed max volume count",
	ReasonVolumeNodeConflict: "node(s) didn't match PersistentVolume's node affinity",
	ReasonVolumeBindConflict: "node(s) didn't find available persistent volumes to bind",
	ReasonStorageCapacity:    "node(s) did not have enough free storage",
	ReasonVolumeNotFound:     "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
	ReasonVolumeZone:         "node(s) had no available volume zone",

	ReasonNoDevices:                "cannot allocate all claims",
	ReasonResourceClaimUnavailable: "resourceclaim not available on the node",
	ReasonInvalidPools:             "invalid resource pools were encountered",
	ReasonNotServed:                "cannot fit resource",
	ReasonExtendedClaim:            "cannot schedule extended resource claim",
	ReasonDevicesUndecided:         "devices were not decided",
}

// Reason is a reason with kube-scheduler's text.
type Reason struct {
	Type     ReasonType
	Message  string
	Resource string // with ReasonInsufficientResource
}

// ReasonOf returns the reason of a type whose text is fixed.
func ReasonOf(t ReasonType) Reason { return Reason{Type: t, Message: texts[t]} }

// UnparsablePod returns the reason of a plugin that cannot parse a selector of the pod, with the text of its error.
func UnparsablePod(message string) Reason { return Reason{Type: ReasonUnparsablePod, Message: message} }

// InvalidScore returns the reason of a score that kube-scheduler rejects, with the text of its error.
func InvalidScore(message string) Reason { return Reason{Type: ReasonInvalidScore, Message: message} }

// DriverMissing returns the reason of a node that lacks a CSI driver.
func DriverMissing(driver string) Reason {
	return Reason{Type: ReasonDriverMissing, Message: driver + " CSI driver is not installed on the node"}
}

// Claim returns the reason of a pod whose claims cannot be used.
func Claim(message string) Reason { return Reason{Type: ReasonClaim, Message: message} }

// NotOwner returns the reason of a pod with an ephemeral volume whose claim belongs to another object.
func NotOwner(namespace, claim, pod string) Reason {
	return Claim(fmt.Sprintf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", namespace, claim, namespace, pod))
}

// InsufficientResource returns the reason of an insufficient resource.
func InsufficientResource(resource string) Reason {
	return Reason{Type: ReasonInsufficientResource, Message: "Insufficient " + resource, Resource: resource}
}
