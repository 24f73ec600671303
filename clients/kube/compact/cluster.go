package compact

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options specify the information that Cluster may leave out.
type Options struct {
	// CountPods leaves out the names and the start times of pods on nodes and counts equal pods. Explanations then have numbers of
	// conflicting pods instead of names, preemption may choose other victims of equal priority than kube-scheduler, and the
	// pods that a budget lists as disrupted are unknown.
	CountPods bool
}

// Cluster encodes a cluster compactly; c may already be partly compact. Existing templates keep their indexes, and the pods' own
// templates follow. The result shares messages with c; neither may be changed afterwards. An index out of range and a string that
// is not UTF-8 are errors.
func Cluster(c *stowagev1.Cluster, o Options) (*stowagev1.Cluster, error) {
	templates, err := NewTemplates(c.GetPodTemplates())
	if err != nil {
		return nil, err
	}
	nodes := make([]*stowagev1.Node, len(c.GetNodes()))
	for i, n := range c.GetNodes() {
		whole, err := WholeNode(c, n)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
		n = Shallow(whole)
		if n.Pods, err = templates.shared(whole.GetPods()); err != nil {
			return nil, fmt.Errorf("nodes[%d].pods%w", i, err)
		}
		if n.NominatedPods, err = templates.shared(whole.GetNominatedPods()); err != nil {
			return nil, fmt.Errorf("nodes[%d].nominated_pods%w", i, err)
		}
		if o.CountPods {
			CountPods(n, templates.List())
		}
		nodes[i] = n
	}
	out := Shallow(c)
	out.PodTemplates = templates.List()
	out.Nodes, out.NodeClasses = Nodes(nodes)
	return out, nil
}

// Shallow copies any message without copying the messages that it refers to.
func Shallow[M proto.Message](m M) M {
	out := m.ProtoReflect().New()
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out.Set(f, v)
		return true
	})
	return out.Interface().(M)
}
