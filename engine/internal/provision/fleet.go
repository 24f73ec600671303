package provision

import (
	"context"
	"slices"
	"strconv"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// Template is nodes that may be added.
type Template struct {
	// Node is the nodes with their pods. Its name is the beginning of their names.
	Node api.Node
	// NameLabelKeys are the keys of labels whose value is the name of the node, in addition to hostnameKey.
	NameLabelKeys []string
	// Slices are the devices of each node. All of them belong to the node alone, whatever they say. A pool is named after the node.
	Slices []api.ResourceSlice
	Price  int64
	// Most is how many there may be, at most Problem.MaxNodes.
	Most int
}

// hostnameKey is the label that every node has with its name.
const hostnameKey = "kubernetes.io/hostname"

// Fleet is the nodes that may be added to a cluster. It is for one goroutine at a time.
type Fleet struct {
	cluster   *cluster.Cluster
	templates []Template
	base      *cluster.Cluster // with the classes of the templates
	classes   []*api.NodeClass // by template
	// nameKeys are the keys of labels that have names of nodes.
	nameKeys map[string]bool
	names    [][]string     // by template, as many as were needed so far
	numbers  map[string]int // templates by name of a node
}

// NewFleet returns the nodes of templates, which have distinct names.
func NewFleet(ctx context.Context, c *cluster.Cluster, templates []Template) (*Fleet, error) {
	f := &Fleet{cluster: c, templates: templates, names: make([][]string, len(templates)), nameKeys: make(map[string]bool), numbers: make(map[string]int)}
	change := &api.Delta{}
	for t := range templates {
		class := templates[t].class()
		f.classes = append(f.classes, class)
		for _, key := range class.NameLabelKeys {
			f.nameKeys[key] = true
		}
		change.Classes = append(change.Classes, api.IndexedClass{Index: len(c.Classes()) + t, Class: class})
	}
	var err error
	if f.base, err = c.With(ctx, change); err == nil {
		f.base.Devices().Inventory() // which nodes with devices extend
	}
	return f, err
}

// Adding returns the change that adds nodes of templates, with their devices, and others.
func (f *Fleet) Adding(nodes []api.Node, others ...api.Node) *api.Delta {
	change := &api.Delta{Added: slices.Concat(nodes, others)}
	for i := range nodes {
		t := &f.templates[f.numbers[nodes[i].Name]]
		list := make([]*api.ResourceSlice, len(t.Slices))
		for j := range t.Slices {
			list[j] = &t.Slices[j]
		}
		change.Devices.Set.Slices = append(change.Devices.Set.Slices, cluster.SlicesFor(nodes[i].Name, t.Node.Name, list)...)
	}
	return change
}

// Base returns the cluster with what new nodes need, and without new nodes.
func (f *Fleet) Base() *cluster.Cluster { return f.base }

// class returns what the nodes of a template share: what they have of their class, and of their own.
func (t *Template) class() *api.NodeClass {
	n := &t.Node
	class := &api.NodeClass{NodeSpec: n.NodeSpec}
	keys := slices.Concat(t.NameLabelKeys, []string{hostnameKey})
	if of := n.Class; of != nil {
		class.NodeSpec = n.Over(&of.NodeSpec)
		for _, key := range of.NameLabelKeys {
			if _, own := n.Labels.Get(key); !own { // labels of the node override labels of its class
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	class.NameLabelKeys = slices.Compact(keys)
	return class
}

// Name returns the name of the i-th node of a template: with the i-th number that no node of the cluster has, and for nodes with devices, no
// pool.
func (f *Fleet) Name(t, i int) string {
	for number := f.next(t); len(f.names[t]) <= i; number++ {
		name := f.templates[t].Node.Name + "-" + strconv.Itoa(number)
		if _, taken := f.cluster.Node(name); !taken && (len(f.templates[t].Slices) == 0 || !f.cluster.Devices().Known(name)) {
			f.names[t], f.numbers[name] = append(f.names[t], name), t
		}
	}
	return f.names[t][i]
}

// next returns the number behind the number in the last name of a template.
func (f *Fleet) next(t int) int {
	n := len(f.names[t])
	if n == 0 {
		return 0
	}
	last, _ := strconv.Atoi(f.names[t][n-1][len(f.templates[t].Node.Name)+1:])
	return last + 1
}

// Placeholders returns a node of each template that stands for its topology domains: no pods are placed on it.
func (f *Fleet) Placeholders() []api.Node {
	out := make([]api.Node, len(f.templates))
	for t := range f.templates {
		name := f.templates[t].Node.Name
		for _, taken := f.cluster.Node(name); taken; _, taken = f.cluster.Node(name) {
			name += "-"
		}
		out[t] = f.node(t, name)
		out[t].PodCounts, out[t].Pods = nil, nil
	}
	return out
}

// Node returns the i-th node of a template.
func (f *Fleet) Node(t, i int) api.Node { return f.node(t, f.Name(t, i)) }

// node returns a node of a template with a name.
func (f *Fleet) node(t int, name string) api.Node {
	n := f.templates[t].Node
	n.Name, n.Class, n.NodeSpec, n.Nominated = name, f.classes[t], api.NodeSpec{}, nil
	return n
}
