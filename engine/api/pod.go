package api

// Pod is a pod: a template and the fields of this pod alone.
type Pod struct {
	Name string
	// Template is not nil. Pods that share one by pointer compile faster.
	Template *PodTemplate
	// TemplateIndex is the template's index in Cluster.Templates, -1 if it is the pod's own.
	TemplateIndex int
	// Labels are added to the labels of the template and override equal keys.
	Labels         Labels
	Terminating    bool
	ResourceStatus *PodResourceStatus
	// NominatedNode is the name of the node that a pod to be placed is nominated to; empty for none.
	NominatedNode string
	// StartTime is when a pod of a node started, in nanoseconds since the epoch; 0 if it has not.
	StartTime int64
	// Preempted reports whether a pod of a node is terminating because kube-scheduler preempted it.
	Preempted bool
	// Readiness is the readiness of a pod on a node.
	Readiness Readiness
	// ResourceClaimStatuses are the claims that were created for entries of ResourceClaims.
	ResourceClaimStatuses []PodClaimStatus
	// Unread are fields of the pod that kube-scheduler reads and decisions do not.
	Unread []UnreadField
}

// Readiness is what the eviction API reads of the status of a pod of a node.
type Readiness uint8

// The values.
const (
	// ReadinessUnknown marks a pod that is assumed to run and to be ready.
	ReadinessUnknown Readiness = iota
	Ready
	NotReady
	// PhasePending marks a pod on a node with a container that has not started.
	PhasePending
)

// UnreadField is a field of an object, and what kube-scheduler does with it.
type UnreadField struct{ Object, Field, Consequence string }

// PodTemplate is what the pods of one workload share.
type PodTemplate struct {
	Namespace  string // not empty
	Labels     Labels
	Controller ControllerReference
	Spec       PodSpec
}

// ControllerReference names the object that controls a pod; zero if none does.
type ControllerReference struct {
	Kind WorkloadKind
	Name string
	// Mirror reports whether the kind is DaemonSet because the pod is a mirror pod, and Gone whether there is no such object that would
	// create the pod again.
	Mirror, Gone bool
}

// Creates reports whether the controller creates pods that are deleted again.
func (c ControllerReference) Creates() bool { return c.Kind != NoWorkload && !c.Gone }

// PodSpec is the part of a pod's spec that scheduling reads.
type PodSpec struct {
	NodeSelector    Labels
	NodeAffinity    *NodeAffinity
	PodAffinity     *PodAffinity
	PodAntiAffinity *PodAffinity
	Tolerations     []Toleration
	Spread          []TopologySpreadConstraint
	Containers      []Container
	InitContainers  []Container
	UnclaimedVolumes
	// Requests are the pod-level requests.
	Requests        Resources
	Overhead        Resources
	NodeName        string
	SchedulingGates []string
	Priority        int32
	// NeverPreempts is set for the preemptionPolicy Never.
	NeverPreempts bool
	// SchedulerName is the scheduler that places the pod, DefaultScheduler if empty.
	SchedulerName string
	// SchedulingGroup is the name of the pod's group in its namespace, empty if it is in none.
	SchedulingGroup string
	// RequiredNodeFeatures are features that a node must declare.
	RequiredNodeFeatures []string
	// Volumes are the volumes with claims and disks, in the order of the pod.
	Volumes []PodVolume
	// ResourceClaims are the claims that the pod uses.
	ResourceClaims []PodResourceClaim
}

// UnclaimedVolumes are the volumes without claims and disks.
type UnclaimedVolumes struct {
	// ImageVolumes are the references of volumes that are images.
	ImageVolumes []string
	// EmptyDir reports whether the pod has an emptyDir volume.
	EmptyDir bool
}

// Container is a container or an init container.
type Container struct {
	Name      string
	Image     string
	Requests  Resources
	HostPorts []HostPort
	// Sidecar marks an init container with restartPolicy Always.
	Sidecar bool
}

// Protocol is a port's protocol.
type Protocol uint8

// The protocols.
const (
	TCP Protocol = iota
	UDP
	SCTP
)

// HostPort is a port of the node that a container occupies.
type HostPort struct {
	Port     int32 // 1..65535
	Protocol Protocol
	HostIP   string // empty for every address
}

// PodResourceStatus is the status of a pod's resources.
type PodResourceStatus struct {
	ResizeInfeasible bool
	Containers       []ContainerResourceStatus
	// Allocated and Actuated are pod-level; nil if absent from the status.
	Allocated, Actuated Resources
	// ResourcesPresent reports whether status.resources is present, as it is with Actuated.
	ResourcesPresent bool
}

// ContainerResourceStatus is the status of a container's resources; nil for absent ones.
type ContainerResourceStatus struct {
	Name                string
	Allocated, Actuated Resources
}
