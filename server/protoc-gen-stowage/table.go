package main

import "github.com/stowage-scheduler/stowage/engine/api"

// message is how a message becomes a value of the engine.
type message struct {
	is any // the value; nil if the reader is written by hand
	// into has the fields set in the value of the message around it.
	into bool
	// A reader with a state of its own has a name, parameters and their names, and where the value is in them.
	function, parameters, arguments, out string
	// check is called after the last field, as r.checkTaint(at, &out).
	check bool
}

// messages are the messages of a cluster.
var messages = map[string]message{
	"Node": {is: api.Node{}, function: "nodeFields", parameters: "c *chunk, to *readNode", arguments: "c, to", out: "to.node"},
	"Pod":  {is: api.Pod{}, function: "podFields", parameters: "s podKind, p *rawPod", arguments: "s, p", out: "p.pod", check: true},

	"NodeClass":               {is: api.NodeClass{}},
	"ContainerImage":          {is: api.Image{}},
	"Taint":                   {is: api.Taint{}},
	"Namespace":               {is: api.Namespace{}},
	"WorkloadSelector":        {is: api.WorkloadSelector{}, check: true},
	"PodDisruptionBudget":     {is: api.PodDisruptionBudget{}},
	"PodGroup":                {is: api.PodGroup{}},
	"PodGroupTopology":        {is: api.PodGroup{}, into: true, check: true},
	"PodTemplate":             {is: api.PodTemplate{}},
	"PodSpec":                 {is: api.PodSpec{}},
	"UnreadField":             {is: api.UnreadField{}},
	"PodResourceStatus":       {is: api.PodResourceStatus{}},
	"ContainerResourceStatus": {is: api.ContainerResourceStatus{}},
	"Container":               {is: api.Container{}},
	"HostPort":                {is: api.HostPort{}},
	"Toleration":              {is: api.Toleration{}, check: true},

	"TopologySpreadConstraint": {is: api.TopologySpreadConstraint{}},
	"Affinity":                 {is: api.PodSpec{}, into: true},
	"NodeAffinity":             {is: api.NodeAffinity{}},
	"PodAffinity":              {is: api.PodAffinity{}},
	"PreferredSchedulingTerm":  {is: api.PreferredNodeTerm{}},
	"WeightedPodAffinityTerm":  {is: api.WeightedPodAffinityTerm{}},
	"PodAffinityTerm":          {is: api.PodAffinityTerm{}},
	"NodeSelector":             {is: api.NodeSelector{}},
	"NodeSelectorTerm":         {is: api.NodeSelectorTerm{}},
	"LabelSelector":            {is: api.LabelSelector{}},

	"ControllerReference":      {}, // the kind decides what the rest means
	"LabelSelectorRequirement": {}, // the operator decides which values are allowed
	"NodeSelectorRequirement":  {},
	"PodCount":                 {}, // has a fast path
	"Resources":                {}, // becomes a list
	"Timestamp":                {}, // becomes a number
	"Volume":                   {}, // becomes part of one of three lists
	"ImageVolumeSource":        {},
	"EmptyDirVolumeSource":     {},

	"PersistentVolumeClaimVolumeSource": {is: api.PodClaim{}},
	"EphemeralVolumeSource":             {is: api.PodClaim{}},
	"DiskVolumeSource":                  {is: api.Disk{}},

	"StorageClass":              {is: api.StorageClass{}},
	"CSIDriver":                 {is: api.CSIDriver{}},
	"CSIStorageCapacity":        {is: api.StorageCapacity{}},
	"PersistentVolume":          {is: api.PersistentVolume{}},
	"ClaimReference":            {is: api.ClaimReference{}},
	"AccessModes":               {is: api.AccessModes{}},
	"PersistentVolumeClaim":     {is: api.PersistentVolumeClaim{}},
	"PersistentVolumeClaimSpec": {is: api.ClaimSpec{}},
	"CSINode":                   {is: api.CSINode{}},
	"CSINodeDriver":             {is: api.CSINodeDriver{}},

	"DeviceType":              {is: api.DeviceType{}},
	"DeviceAttribute":         {is: api.DeviceAttribute{}},
	"DeviceCapacity":          {is: api.DeviceCapacity{}},
	"DeviceCapacityPolicy":    {is: api.CapacityPolicy{}},
	"DeviceCapacityValue":     {is: api.CapacityValue{}},
	"DeviceCapacityRange":     {is: api.CapacityRange{}},
	"DeviceExpression":        {is: api.DeviceExpression{}},
	"DeviceExpressionFailure": {is: api.ExpressionFailure{}},
	"DeviceSelector":          {is: api.DeviceSelector{}},
	"DeviceClass":             {is: api.DeviceClass{}},
	"ResourceSlice":           {is: api.ResourceSlice{}},
	"Device":                  {is: api.Device{}},
	"DeviceCounterSet":        {is: api.CounterSet{}},
	"DeviceCounter":           {is: api.Counter{}},
	"DeviceTaint":             {is: api.DeviceTaint{}},
	"DeviceToleration":        {is: api.DeviceToleration{}},
	"ResourceClaim":           {is: api.ResourceClaim{}},
	"ResourceClaimSpec":       {is: api.ResourceClaimSpec{}},
	"DeviceRequest":           {is: api.DeviceRequest{}},
	"DeviceSubRequest":        {is: api.DeviceSubRequest{}},
	"ExactDeviceRequest":      {is: api.ExactDeviceRequest{}},
	"DeviceCapacityRequest":   {is: api.CapacityRequest{}},
	"DeviceConstraint":        {is: api.DeviceConstraint{}},
	"ResourceClaimAllocation": {is: api.ClaimAllocation{}},
	"DeviceAllocation":        {is: api.DeviceAllocation{}},
	"PodResourceClaim":        {is: api.PodResourceClaim{}},
	"PodResourceClaimStatus":  {is: api.PodClaimStatus{}},
}

// field describes the reading of a field beyond its type and its limits.
type field struct {
	// as is the engine's name of the field. If it is a bool, means is the value of the enum for true.
	as, means string
	// reader reads the message, or each message of a list. For a list of strings it checks an element.
	reader string
	// by reads the whole field if it is there, as r.startTime(at, in, s, p), or always.
	by     string
	always bool
	// or is the value of an empty text.
	or string
}

// fields are the fields with a description.
var fields = map[string]field{
	"Node.allocatable":    {reader: "nodeResources"},
	"Node.pod_counts":     {by: "podCounts", always: true},
	"Node.pods":           {by: "podsOnNode", always: true},
	"Node.class_index":    {by: "classIndex"},
	"Node.nominated_pods": {by: "podsNominated", always: true},

	"NodeClass.allocatable": {reader: "nodeResources"},

	"Pod.source":              {by: "podSource", always: true},
	"Pod.resource_status":     {by: "resourceStatus"},
	"Pod.nominated_node_name": {as: "NominatedNode"},
	"Pod.start_time":          {by: "startTime"},
	"Pod.readiness":           {by: "readiness"},

	"PodTemplate.namespace":      {or: "default"},
	"WorkloadSelector.namespace": {or: "default"},

	"PodDisruptionBudget.namespace":                     {or: "default"},
	"PodDisruptionBudget.disrupted_pods":                {as: "Disrupted"},
	"PodDisruptionBudget.unhealthy_pod_eviction_policy": {as: "AlwaysAllow", means: "ALWAYS_ALLOW"},

	"PodGroup.min_count":       {as: "Minimum"},
	"PodGroup.mode":            {by: "groupMode"},
	"PodGroup.max_steps":       {by: "maxSteps"},
	"PodGroup.disruption_mode": {as: "DisruptAll", means: "ALL"},
	"PodGroupTopology.keys":    {reader: "labelKey"},
	"PodGroupTopology.policy":  {as: "Preferred", means: "PREFERRED"},

	"PodSpec.topology_spread_constraints": {by: "spreadConstraints"},
	"PodSpec.containers":                  {reader: "mainContainer"},
	"PodSpec.volumes":                     {by: "volumes"},
	"PodSpec.preemption_policy":           {by: "preemptionPolicy"},

	"Container.restart_policy":            {as: "Sidecar", means: "ALWAYS"},
	"PodResourceStatus.actuated":          {by: "actuated"},
	"PodResourceStatus.resources_present": {by: "resourcesPresent"},

	"TopologySpreadConstraint.topology_key":         {by: "spreadKey", always: true},
	"TopologySpreadConstraint.when_unsatisfiable":   {as: "ScheduleAnyway", means: "SCHEDULE_ANYWAY"},
	"TopologySpreadConstraint.label_selector":       {by: "spreadSelector"},
	"TopologySpreadConstraint.min_domains":          {by: "minDomains", always: true},
	"TopologySpreadConstraint.node_affinity_policy": {as: "IgnoreNodeAffinity", means: "IGNORE"},
	"TopologySpreadConstraint.node_taints_policy":   {as: "HonorNodeTaints", means: "HONOR"},
	"TopologySpreadConstraint.match_label_keys":     {reader: "labelKey"},

	"PodAffinityTerm.topology_key":        {by: "termKey", always: true},
	"PodAffinityTerm.match_label_keys":    {reader: "labelKey"},
	"PodAffinityTerm.mismatch_label_keys": {reader: "labelKey"},

	"LabelSelector.match_labels":         {by: "matchLabels"},
	"LabelSelector.match_expressions":    {reader: "labelRequirement"},
	"NodeSelectorTerm.match_expressions": {reader: "nodeRequirement"},
	"NodeSelectorTerm.match_fields":      {reader: "nodeField"},

	"CSIStorageCapacity.namespace":    {or: "default"},
	"PersistentVolumeClaim.namespace": {or: "default"},
	"ClaimReference.namespace":        {or: "default"},
	"ResourceClaim.namespace":         {or: "default"},

	"DeviceCapacityPolicy.default_value": {as: "Default"},

	"PersistentVolumeClaimVolumeSource.claim_name":     {as: "Name"},
	"PersistentVolumeClaimVolumeSource.claim_template": {as: "Template"},
	"EphemeralVolumeSource.volume_name":                {as: "Name"},
	"EphemeralVolumeSource.claim_template":             {as: "Template"},
}

// enums are the engine's values of the numbers of an enum, from 1 on. 0 is the engine's zero value.
var enums = map[string][]string{
	"Protocol":           {"TCP", "UDP", "SCTP"},
	"TaintEffect":        {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	"TolerationOperator": {"TolerationEqual", "TolerationExists", "TolerationLessThan", "TolerationGreaterThan"},
	"WorkloadKind":       {"Service", "ReplicationController", "ReplicaSet", "StatefulSet"},
	"VolumeBindingMode":  {"BindImmediately", "WaitForFirstConsumer"},
	"VolumeMode":         {"Filesystem", "Block"},
	"DiskKind":           {"GCEPersistentDisk", "AWSElasticBlockStore", "ISCSI", "RBD"},

	"DeviceAttributeKind": {"StringAttribute", "IntegerAttribute", "BooleanAttribute", "VersionAttribute"},
	"DeviceTaintEffect":   {"DeviceNoSchedule", "DeviceNoExecute"},
}

// slabs are the lists of the reader's that elements come from.
var slabs = map[string]string{"Taint": "taints", "ContainerImage": "images"}
