package answer

import (
	"cmp"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Document has the fields that documents about a cluster share.
type Document struct {
	Header
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string `json:"topologyKey,omitempty"`
	Nodes       []Node `json:"nodes"`
	// Pods are the pods of the queue, and Moves the pods that move; absent if the answer does not have them.
	Pods  []Pod  `json:"pods,omitzero"`
	Moves []Move `json:"moves,omitzero"`

	// Effect is what the answer does to the cluster.
	Effect *Effect `json:"-"`
}

// NewDocument returns the document of an answer with an effect on a cluster, whose nodes are grouped by a label; empty for a suitable
// one.
func NewDocument(kind, verdict string, c *stowagev1.Cluster, key string, e *Effect) Document {
	key = cmp.Or(key, words.TopologyKey(c, nil))
	return Document{Header: NewHeader(kind, verdict), TopologyKey: key, Nodes: e.Nodes(key), Moves: e.AllMoves(), Effect: e}
}

// NewEffectWith returns the effect of an answer that adds nodes of templates to a cluster.
func NewEffectWith(c *stowagev1.Cluster, templates []*stowagev1.NodeTemplate, names []string) (*Effect, error) {
	e, err := NewEffect(WithNodes(c, templates, names))
	if err != nil {
		return nil, err
	}
	e.States(Added, names...)
	return e, nil
}
