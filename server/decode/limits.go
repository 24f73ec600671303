package decode

// Limits on one request. They lie well above what Kubernetes is run with, and bound the memory and time that a small message can
// cause. Amounts of resources are not limited. Limits of single fields are annotations of the contract, from which their checks are
// generated; the constants here are used by other code.
const (
	// MaxNodes bounds Cluster.nodes. Kubernetes supports 5,000, and 130,000 have been shown.
	MaxNodes = 1_000_000
	// MaxInherited bounds the taints, image names, labels and declared features that all nodes together inherit from their classes.
	MaxInherited = 1 << 26
	// MaxClusterPods bounds the pods on all nodes, counted ones included, so that any sum of pods fits an int32.
	MaxClusterPods = 1 << 30
	// MaxQueuePods bounds the pods to place in one request; the answer has an entry for each.
	MaxQueuePods = 1_000_000

	// MaxDeltas bounds the deltas of one put: an empty one copies a hundred kilobytes of a large cluster, and takes milliseconds.
	MaxDeltas = 100

	// MaxPodGroups bounds the pod groups of one request, and of a cluster.
	MaxPodGroups = 100_000
	// MaxSteps bounds max_steps of PodGroup, AcrossNodesOptions and the requests of SimulationService.
	MaxSteps = 1 << 26
	// MaxCascades bounds SafePreemptionOptions.max_cascades.
	MaxCascades = 16
	// MaxCandidates bounds SafePreemptionOptions.max_candidates.
	MaxCandidates = 10_000
	// Defaults of a request.
	defaultCandidates  = 100
	defaultAcrossSteps = 1 << 16
	defaultDrainSteps  = 1 << 16
	// MaxMix bounds FitRequest.mix, and MaxFitUnits FitRequest.max_units. engine.MaxFitPods bounds the pods.
	MaxMix      = 1_000
	MaxFitUnits = 1_000_000
	// MaxNodeTemplates bounds templates of ProvisionRequest and ConsolidateRequest, MaxNewNodes ProvisionRequest.max_nodes and
	// ConsolidateRequest.max_actions, and MaxPrice the prices of nodes.
	MaxNodeTemplates = 10_000
	MaxNewNodes      = 100_000
	MaxPrice         = 1_000_000_000_000
	// MaxPricedNodes bounds ConsolidateRequest.candidates, and MaxNodesPerAction its max_nodes_per_action.
	MaxPricedNodes    = 100_000
	MaxNodesPerAction = 1_000
	// MaxTemplatePods bounds the pods that come with each node of a template.
	MaxTemplatePods = 1_000
	// MaxNewPods bounds the most pods of a node template times the new nodes.
	MaxNewPods = 4_000_000
	// MaxTemplateSlices bounds the resource slices of a node template, and MaxNewDevices its slices and devices times the new nodes.
	MaxTemplateSlices = 1_000
	MaxNewDevices     = 4_000_000
	// MaxNamePrefixBytes bounds the names of node templates: with a dash and a number they are values of labels.
	MaxNamePrefixBytes = 52
	// Defaults of a request.
	defaultNewNodes         = 10_000
	defaultConsolidateSteps = 1 << 20
	// MaxScenarios bounds WhatIfRequest.scenarios.
	MaxScenarios = 100_000
	// MaxEvictions bounds the pods, and the numbers of pods, that a scenario evicts from one node.
	MaxEvictions = 1_000_000

	// MaxDistinctResources bounds the names of scalar resources in a request: the engine keeps a list of the nodes that
	// have one for each. kube-scheduler's own benchmarks have some hundreds.
	MaxDistinctResources = 1 << 15
	// MaxDistinctTopologyKeys bounds the topology keys in a request. One pod can have 4,000 in its terms.
	MaxDistinctTopologyKeys = 1 << 15
	// MaxTopologyCells bounds the topology keys times the nodes: the engine makes a column over the nodes for each key that
	// some node has.
	MaxTopologyCells = 1 << 28

	// MaxLabels bounds the labels of an object and the entries of a selector's match_labels.
	MaxLabels = 10_000
	// MaxContainers bounds a pod's containers, its init containers and its volumes, each on their own. The sum of a pod's images, of
	// at most 16 TiB each, fits an int64.
	MaxContainers = 1_000
	// MaxValues bounds the values of one requirement, the namespaces of a term and its label keys.
	MaxValues = 10_000
	// MaxSpreadConstraints bounds a pod's spread constraints.
	MaxSpreadConstraints = 64
	// MaxWeights bounds each list of weights in a profile.
	MaxWeights = 64
	// MaxShapePoints bounds the points of a profile's shape: one a percent.
	MaxShapePoints = 101
	// MaxIgnored bounds the ignored resources of a profile and their groups, each on their own.
	MaxIgnored = 1_024

	// MaxNameBytes is the longest name of a node, pod or workload, as in Kubernetes.
	MaxNameBytes = 253
	// MaxNamespaceBytes is the longest name of a namespace, as in Kubernetes.
	MaxNamespaceBytes = 63
	// MaxLabelKeyBytes is the longest label key or resource name, as in Kubernetes: prefix of 253, slash, name of 63.
	MaxLabelKeyBytes = 317
	// MaxLabelValueBytes is the longest label value, as in Kubernetes.
	MaxLabelValueBytes = 63

	// StartSecondsBelow bounds Pod.start_time: the year 2262 in seconds, before which nanoseconds fit an int64.
	StartSecondsBelow = 9_214_646_400

	// MaxViolations bounds the problems reported for one request.
	MaxViolations = 32
	// MaxViolationBytes bounds their text, so that the error fits the 8 KiB of trailers that gRPC implementations
	// accept: status details travel in base64.
	MaxViolationBytes = 4096
)
