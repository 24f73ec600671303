package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// declaredFeatures is the features that nodes declare: features of the class, then the node's own.
var declaredFeatures = &Field[[]string]{
	Of: func(class *api.NodeClass, n *api.Node) []string {
		switch {
		case len(class.DeclaredFeatures) == 0:
			return n.DeclaredFeatures
		case len(n.DeclaredFeatures) == 0:
			return class.DeclaredFeatures
		}
		return slices.Concat(class.DeclaredFeatures, n.DeclaredFeatures)
	},
	Key: func(b []byte, list []string) []byte {
		for _, name := range list {
			b = appendText(b, name)
		}
		return b
	},
	Clone: cloneTexts,
	Like:  func(list []string) []string { return list },
}

// FeatureLists returns the distinct lists of features that nodes declare. They must not be changed.
func (c *Cluster) FeatureLists() [][]string { return Values(c, declaredFeatures) }

// DeclaredFeatures returns the features that a node declares. They must not be changed.
func (c *Cluster) DeclaredFeatures(node uint32) []string { return Value(c, declaredFeatures, node) }

// Declaring returns the nodes for the index of whose list of features the table has 1; its other entries must be 0.
func (c *Cluster) Declaring(table []uint8) nodeset.Set { return Having(c, declaredFeatures, table) }
