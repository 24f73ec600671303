package api

// Delta transforms a cluster. Its parts apply in the order of the fields.
type Delta struct {
	// Templates and Classes are new, or replace ones that no node of the resulting cluster refers to, except nodes in
	// Replaced and Added.
	Templates []IndexedTemplate
	Classes   []IndexedClass
	// Removed are the indexes of nodes to remove, ascending. Later nodes move up.
	Removed []uint32
	// Replaced are nodes with new contents, ascending by index; none is in Removed.
	Replaced []Replacement
	// Added are nodes to append.
	Added []Node
	// Namespaces, WorkloadSelectors, Budgets and PodGroups are complete lists; nil for no change.
	Namespaces        []Namespace
	WorkloadSelectors []WorkloadSelector
	Budgets           []PodDisruptionBudget
	PodGroups         []PodGroup
	Storage           StorageChange
	Devices           DevicesChange
}

// IndexedTemplate is a template with its index in Cluster.Templates. The index of a new one is the number of templates
// so far.
type IndexedTemplate struct {
	Index    int
	Template *PodTemplate
}

// IndexedClass is a class with its index in Cluster.Classes. The index of a new one is the number of classes so far.
type IndexedClass struct {
	Index int
	Class *NodeClass
}

// Replacement is a node with the index of the node it replaces, in the cluster before the change.
type Replacement struct {
	Index uint32
	Node  Node
}
