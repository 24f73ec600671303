package api

// Change turns one cluster into another. Its parts apply in the order of the fields.
type Change struct {
	// Templates and Classes are new, or take the place of ones that no node of the resulting cluster refers to unless it
	// is in Replaced or Added.
	Templates []IndexedTemplate
	Classes   []IndexedClass
	// Removed are the indexes of nodes to remove, ascending. Those behind them move up.
	Removed []uint32
	// Replaced are nodes that take the place of others, ascending by index, none of which is in Removed.
	Replaced []Replacement
	// Added are nodes that come after all others.
	Added []Node
	// Namespaces and WorkloadSelectors are complete lists; nil if they stay as they are.
	Namespaces        []Namespace
	WorkloadSelectors []WorkloadSelector
}

// IndexedTemplate is a template and its index in Cluster.Templates; the number of templates so far for a new one.
type IndexedTemplate struct {
	Index    int
	Template *PodTemplate
}

// IndexedClass is a class and its index in Cluster.Classes; the number of classes so far for a new one.
type IndexedClass struct {
	Index int
	Class *NodeClass
}

// Replacement is a node, and the index of the one it replaces in the cluster that is changed.
type Replacement struct {
	Index uint32
	Node  Node
}
