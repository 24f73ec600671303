package api

// Pod is one pod: a template, and what this pod alone has.
type Pod struct {
	Name string
	// Template is what the pod was made from; templates may be shared by pointer, and pods that share one are compiled
	// faster. Not nil.
	Template *PodTemplate
	// TemplateIndex is the template's index in Cluster.Templates, -1 if it is the pod's own.
	TemplateIndex int
	// Labels stand beside those of the template and win where both have a key.
	Labels         Labels
	Terminating    bool
	ResourceStatus *PodResourceStatus
}

// PodTemplate is what pods stamped from one workload share.
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
}

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
	// Requests are the pod-level requests.
	Requests Resources
	Overhead Resources
	// ImageVolumes are the references of volumes that are images.
	ImageVolumes    []string
	NodeName        string
	SchedulingGates []string
	Priority        int32
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

// PodResourceStatus is what a pod's status says of its resources.
type PodResourceStatus struct {
	ResizeInfeasible bool
	Containers       []ContainerResourceStatus
	// Allocated and Actuated are pod-level; nil if the status does not state them.
	Allocated, Actuated Resources
	// ResourcesPresent says whether status.resources is there, as it is wherever Actuated is.
	ResourcesPresent bool
}

// ContainerResourceStatus is what a container's status says of its resources; nil if it does not state them.
type ContainerResourceStatus struct {
	Name                string
	Allocated, Actuated Resources
}
