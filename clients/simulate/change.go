package simulate

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// AddPods puts pods on the nodes of their spec.nodeName, all or none, without checking feasibility.
func (s *Snapshot) AddPods(pods ...*corev1.Pod) error {
	return s.all(func() error {
		for _, p := range pods {
			if err := s.add(p, p.Spec.NodeName); err != nil {
				return fmt.Errorf("pod %s: %w", keyOfPod(p), err)
			}
		}
		return nil
	})
}

// add puts a pod on a node.
func (s *Snapshot) add(p *corev1.Pod, node string) error {
	if err := s.free(p); err != nil {
		return err
	}
	if !s.HasNode(node) {
		return fmt.Errorf("spec.nodeName: there is no node %q", node)
	}
	bound := *p
	bound.Spec.NodeName = node
	running := s.base.cluster.RunningPod(&bound)
	if err := errors.Join(running.Terms, running.Amounts); err != nil {
		return err
	}
	template, err := s.base.template(&s.now, running.Pod.GetTemplate())
	if err != nil {
		return err
	}
	running.Pod.Source = templateIndex(template.Index)
	s.base.put(&s.now, &placed{
		object: p, key: keyOfPod(p), node: node, group: convert.PodGroupName(p), template: template, pod: running.Pod,
	})
	return nil
}

// free returns why a pod cannot be put on a node: it has no name, or is already on a node.
func (s *Snapshot) free(p *corev1.Pod) error {
	if p.Name == "" {
		return errors.New("metadata.name: is empty")
	}
	if there := s.base.find(&s.now, keyOfPod(p)); there != nil {
		return fmt.Errorf("is already on node %s", there.node)
	}
	return nil
}

// all undoes the changes of do if it returns an error.
func (s *Snapshot) all(do func() error) error {
	before := s.now
	err := do()
	if err != nil {
		s.now = before
	}
	return err
}

// Evicted is a set of pods that were evicted together.
type Evicted struct{ pods []*placed }

// Pods returns the pods, as added or scheduled. The caller must not change them.
func (e *Evicted) Pods() (out []*corev1.Pod) {
	for _, p := range e.pods {
		out = append(out, p.object)
	}
	return out
}

// Evict removes pods from their nodes, all or none. Nothing of them counts afterwards. PodDisruptionBudgets are neither checked nor
// updated.
func (s *Snapshot) Evict(pods ...types.NamespacedName) (*Evicted, error) {
	out := &Evicted{}
	return out, s.all(func() error {
		for _, name := range pods {
			p := s.base.find(&s.now, keyOf(name.Namespace, name.Name))
			if p == nil {
				return fmt.Errorf("pod %s is on no node", keyOf(name.Namespace, name.Name))
			}
			s.now.take(p)
			out.pods = append(out.pods, p)
		}
		return nil
	})
}

// Restore puts evicted pods back on their nodes, all or none. It fails if a node is gone or a pod of the same name is on a node. It does
// not check whether the nodes are still feasible.
func (s *Snapshot) Restore(e *Evicted) error {
	return s.all(func() error {
		for _, p := range slices.Backward(e.pods) {
			if there := s.base.find(&s.now, p.key); there != nil {
				return fmt.Errorf("pod %s is already on node %s", p.key, there.node)
			}
			if !s.HasNode(p.node) {
				return fmt.Errorf("pod %s: there is no node %q", p.key, p.node)
			}
			template, err := s.base.template(&s.now, p.template.Template)
			if err != nil {
				return fmt.Errorf("pod %s: %w", p.key, err)
			}
			if template.Index != p.template.Index {
				p = p.withTemplate(template)
			}
			s.base.put(&s.now, p)
		}
		return nil
	})
}

// withTemplate returns the pod for a state in which its template has another index.
func (p *placed) withTemplate(template *stowagev1.IndexedPodTemplate) *placed {
	out := *p
	out.template, out.pod = template, proto.Clone(p.pod).(*stowagev1.Pod)
	out.pod.Source = templateIndex(template.Index)
	return &out
}

// AddNode adds a node behind the others, with pods, whose spec.nodeName may be empty.
func (s *Snapshot) AddNode(n *corev1.Node, pods ...*corev1.Pod) error {
	out, err := convert.Node(n)
	switch {
	case err != nil:
		return err
	case n.Name == "":
		return errors.New("metadata.name: is empty")
	case s.HasNode(n.Name):
		return fmt.Errorf("node %q already exists", n.Name)
	}
	return s.all(func() error {
		if s.base.node(&s.now.anchor.was, n.Name) {
			// A delta that removes and adds it would keep its place in the order.
			if err := s.settle(s.base.delta(&s.now)); err != nil {
				return err
			}
		}
		s.now.nodes = s.now.nodes.set(n.Name, out)
		s.now.order = &order{names: append(slices.Clip(s.now.order.names), n.Name)}
		s.now.record(change{node: n.Name})
		for _, p := range pods {
			if err := s.add(p, n.Name); err != nil {
				return fmt.Errorf("pod %s: %w", keyOfPod(p), err)
			}
		}
		return nil
	})
}

// RemoveNode removes a node with its pods.
func (s *Snapshot) RemoveNode(name string) error {
	if !s.HasNode(name) {
		return fmt.Errorf("there is no node %q", name)
	}
	for _, p := range s.base.podsOn(&s.now, name) {
		s.now.take(p)
	}
	for pod, node := range s.base.nominated {
		if node == name {
			s.now.nominated = s.now.nominated.set(pod, true) // also if a node of that name is added again
		}
	}
	s.now.nodes = s.now.nodes.set(name, nil)
	names := slices.Clone(s.now.order.names)
	s.now.order = &order{names: slices.DeleteFunc(names, func(other string) bool { return other == name })}
	s.now.record(change{node: name})
	return nil
}
