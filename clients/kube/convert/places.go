package convert

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Place is where a message comes from: an object, and the path in it.
type Place struct {
	// At names the object. Path is empty for the object itself.
	At, Path string
	// plain: the contract has a label selector where the object has a map of labels.
	plain bool
}

// Places are the places of messages.
type Places map[proto.Message]Place

// PutNode records the place of a converted node.
func (p Places) PutNode(out *stowagev1.Node, n *corev1.Node, at string) {
	p[out] = Place{At: at}
	if _, path := allocatableOf(n); out.Allocatable != nil {
		p[out.Allocatable] = Place{At: at, Path: path.String()}
	}
}

// PutSelector records the place of a workload's selector.
func (p Places) PutSelector(w *stowagev1.WorkloadSelector, at string) {
	p[w] = Place{At: at, plain: w.Kind == stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE ||
		w.Kind == stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER}
}

// PutClasses records the places of nodes that share classes, by the nodes that had no classes. A class has the place of its first
// node.
func (p Places) PutClasses(c *stowagev1.Cluster, before []*stowagev1.Node) {
	same := func(m, from proto.Message) {
		if _, known := p[m]; !known {
			p[m] = p[from]
		}
	}
	for i, n := range c.Nodes {
		from := before[i]
		same(n, from)
		if n.Allocatable != nil {
			same(n.Allocatable, from.Allocatable)
		}
		if n.ClassIndex == nil {
			continue
		}
		class := c.NodeClasses[n.GetClassIndex()]
		same(class, from)
		if class.Allocatable != nil {
			same(class.Allocatable, from.Allocatable)
		}
	}
}

// Locate returns the place of a path in a message at a place. It is not ok if no object is on the path.
func (p Places) Locate(in proto.Message, here Place, path string) (_ Place, ok bool) {
	m := in.ProtoReflect()
	for _, step := range steps(path) {
		name, index, _ := strings.Cut(step, "[")
		f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if f == nil {
			return here, false
		}
		here.Path = joined(here.Path, here.nameOf(f))
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		switch {
		case index == "":
		case f.IsMap():
			here.Path += "[" + unquoted(strings.TrimSuffix(index, "]")) + "]"
		case unindexed[key(f)]:
			here.Path += "[]"
		default:
			here.Path += "[" + index
		}
		if f.Message() == nil || f.IsMap() {
			break
		}
		if f.IsList() {
			list := m.Get(f).List()
			if err != nil || i < 0 || i >= list.Len() {
				break
			}
			m = list.Get(i).Message()
		} else {
			m = m.Get(f).Message()
		}
		if known, found := p[m.Interface()]; found {
			here, ok = known, true
		}
	}
	return here, ok
}

// steps splits a path at its dots, except in quoted keys.
func steps(path string) []string {
	var out []string
	quoted, escaped, start := false, false, 0
	for i := range len(path) {
		switch c := path[i]; {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = quoted
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted:
			out = append(out, path[start:i])
			start = i + 1
		}
	}
	return append(out, path[start:])
}

func unquoted(key string) string {
	if s, err := strconv.Unquote(key); err == nil {
		return s
	}
	return key
}

func joined(path, name string) string {
	if path == "" || name == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}

// key identifies a field in the tables, by message and name.
func key(f protoreflect.FieldDescriptor) string {
	return string(f.Parent().Name()) + "." + string(f.Name())
}

func (p Place) nameOf(f protoreflect.FieldDescriptor) string {
	if p.plain && key(f) == "LabelSelector.match_labels" {
		return ""
	}
	if name, ok := names[key(f)]; ok {
		return name
	}
	return f.JSONName()
}

// names are the paths in manifests of fields whose names or places differ from the contract's. All others differ only in
// case.
var names = map[string]string{
	"Node.name":                         "metadata.name",
	"Node.labels":                       "metadata.labels",
	"Node.taints":                       "spec.taints",
	"Node.unschedulable":                "spec.unschedulable",
	"Node.allocatable":                  "status.allocatable",
	"Node.images":                       "status.images",
	"Node.declared_features":            "status.declaredFeatures",
	"NodeTemplate.price":                "metadata.annotations[" + NodePriceAnnotation + "]",
	"NodeTemplate.max_count":            "metadata.annotations[" + NodeMaxCountAnnotation + "]",
	"NodeClass.labels":                  "metadata.labels",
	"NodeClass.name_label_keys":         "metadata.labels",
	"NodeClass.taints":                  "spec.taints",
	"NodeClass.allocatable":             "status.allocatable",
	"NodeClass.images":                  "status.images",
	"NodeClass.declared_features":       "status.declaredFeatures",
	"Namespace.name":                    "metadata.name",
	"Namespace.labels":                  "metadata.labels",
	"WorkloadSelector.name":             "metadata.name",
	"WorkloadSelector.namespace":        "metadata.namespace",
	"WorkloadSelector.selector":         "spec.selector",
	"PodSpec.scheduling_group":          "schedulingGroup.podGroupName",
	"PendingPods.count":                 "number of pods",
	"PendingPods.pod_group":             "schedulingGroup.podGroupName",
	"PodGroup.name":                     "metadata.name",
	"PodGroup.min_count":                "spec.schedulingPolicy.gang.minCount",
	"PodGroup.mode":                     "metadata.annotations[" + PodGroupModeAnnotation + "]",
	"PodGroup.max_steps":                "metadata.annotations[" + PodGroupMaxStepsAnnotation + "]",
	"PodGroup.topology":                 "spec.schedulingConstraints",
	"PodGroup.priority":                 "spec.priority",
	"PodGroupTopology.keys":             "topology",
	"Pod.name":                          "metadata.name",
	"Pod.labels":                        "metadata.labels",
	"Pod.resource_status":               "status",
	"Pod.start_time":                    "status.startTime",
	"PodTemplate.namespace":             "metadata.namespace",
	"PodTemplate.labels":                "metadata.labels",
	"PodTemplate.controller":            "metadata.ownerReferences",
	"PodSpec.requests":                  "resources.requests",
	"Container.requests":                "resources.requests",
	"Container.host_ports":              "ports",
	"HostPort.port":                     "hostPort",
	"HostPort.host_ip":                  "hostIP",
	"PodResourceStatus.containers":      "containerStatuses",
	"PodResourceStatus.allocated":       "allocatedResources",
	"PodResourceStatus.actuated":        "resources.requests",
	"ContainerResourceStatus.allocated": "allocatedResources",
	"ContainerResourceStatus.actuated":  "resources.requests",
	"Resources.cpu_millis":              "[cpu]",
	"Resources.memory_bytes":            "[memory]",
	"Resources.ephemeral_storage_bytes": "[ephemeral-storage]",
	"Resources.pods":                    "[pods]",
	"Resources.scalars":                 "",
	"NodeSelector.terms":                "nodeSelectorTerms",
	"NodeAffinity.required":             "requiredDuringSchedulingIgnoredDuringExecution",
	"NodeAffinity.preferred":            "preferredDuringSchedulingIgnoredDuringExecution",
	"PodAffinity.required":              "requiredDuringSchedulingIgnoredDuringExecution",
	"PodAffinity.preferred":             "preferredDuringSchedulingIgnoredDuringExecution",
	"WeightedPodAffinityTerm.term":      "podAffinityTerm",

	"Node.csi_node":                                 "CSINode",
	"Node.attached_volumes":                         "VolumeAttachments",
	"NodeClass.csi_node":                            "CSINode",
	"CSINode.migrated_plugins":                      "metadata.annotations[" + corev1.MigratedPluginsAnnotationKey + "]",
	"CSINodeDriver.allocatable_count":               "allocatable.count",
	"StorageClass.name":                             "metadata.name",
	"CSIDriver.name":                                "metadata.name",
	"CSIDriver.storage_capacity":                    "spec.storageCapacity",
	"CSIDriver.prevent_pod_scheduling_if_missing":   "spec.preventPodSchedulingIfMissing",
	"CSIStorageCapacity.namespace":                  "metadata.namespace",
	"CSIStorageCapacity.name":                       "metadata.name",
	"PersistentVolume.name":                         "metadata.name",
	"PersistentVolume.labels":                       "metadata.labels",
	"PersistentVolume.storage_class_name":           "spec.storageClassName",
	"PersistentVolume.capacity":                     "spec.capacity[storage]",
	"PersistentVolume.access_modes":                 "spec.accessModes",
	"PersistentVolume.volume_mode":                  "spec.volumeMode",
	"PersistentVolume.volume_attributes_class_name": "spec.volumeAttributesClassName",
	"PersistentVolume.claim":                        "spec.claimRef",
	"PersistentVolume.node_affinity":                "spec.nodeAffinity.required",
	"PersistentVolume.migrated_node_affinity":       "spec.nodeAffinity.required",
	"PersistentVolume.csi_driver":                   "spec.csi.driver",
	"PersistentVolume.volume_handle":                "spec.csi.volumeHandle",
	"PersistentVolumeClaim.namespace":               "metadata.namespace",
	"PersistentVolumeClaim.name":                    "metadata.name",
	"PersistentVolumeClaim.uid":                     "metadata.uid",
	"PersistentVolumeClaim.volume_name":             "spec.volumeName",
	"PersistentVolumeClaim.selected_node":           "metadata.annotations[" + selectedNodeAnnotation + "]",
	"PersistentVolumeClaimSpec.storage_request":     "resources.requests[storage]",

	"PodDisruptionBudget.name":                "metadata.name",
	"PodDisruptionBudget.namespace":           "metadata.namespace",
	"PodDisruptionBudget.selector":            "spec.selector",
	"PodDisruptionBudget.disruptions_allowed": "status.disruptionsAllowed",
	"PodDisruptionBudget.disrupted_pods":      "status.disruptedPods",
}

// unindexed are lists that leave out items of the manifest's, so that an index would mislead.
var unindexed = map[string]bool{
	"Node.images":                  true,
	"NodeClass.images":             true,
	"Node.declared_features":       true,
	"NodeClass.declared_features":  true,
	"NodeClass.name_label_keys":    true,
	"Container.host_ports":         true,
	"PodSpec.volumes":              true,
	"PodResourceStatus.containers": true,

	"PodDisruptionBudget.disrupted_pods": true,
}
