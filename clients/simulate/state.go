package simulate

import (
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// placed is a pod on a node.
type placed struct {
	object   *corev1.Pod
	key      string
	node     string
	group    string // "" for none
	template *stowagev1.IndexedPodTemplate
	pod      *stowagev1.Pod // refers to template
}

// base is the cluster of New, by name. It never changes.
type base struct {
	cluster   *kube.Snapshot
	nodes     map[string]bool
	pods      map[string]*placed
	on        map[string][]*placed // by node
	groups    map[string][]*placed
	nominated map[string]string                        // the nodes of nominated pods
	templates map[string]*stowagev1.IndexedPodTemplate // by encoding
	claims    map[string]*stowagev1.PersistentVolumeClaim
	volumes   map[string]*stowagev1.PersistentVolume
}

// state is the nodes and pods of a snapshot. A copied state never changes: its trees and lists share equal parts with later states.
type state struct {
	anchor  *anchor
	journal *change // since the anchor, the latest first
	changes int     // of the journal
	order   *order
	// Differences from the base.
	pods      tree[*placed]                       // nil: on no node
	on        tree[*placed]                       // by node and pod; nil: not on the node
	nodes     tree[*stowagev1.Node]               // without their pods; nil: removed
	nominated tree[bool]                          // pods whose nomination has ended
	templates tree[*stowagev1.IndexedPodTemplate] // by encoding
	claims    tree[*stowagev1.PersistentVolumeClaim]
	volumes   tree[*stowagev1.PersistentVolume]
	count     uint32 // number of templates
}

// anchor is a snapshot on the server, or about to be put, and its state.
type anchor struct {
	snapshot *stowage.Snapshot
	put      atomic.Bool
	was      state // without an anchor and a journal
}

// change is one entry of a journal: an added template, or a node, a pod of a node, a nomination to a node, a claim or a volume that may
// differ.
type change struct {
	before         *change
	template       *stowagev1.IndexedPodTemplate
	node           string
	pod, nominated string
	claim, volume  string
}

// order is the nodes in the server's order.
type order struct {
	names []string
	once  sync.Once
	by    map[string]uint32
}

func (o *order) index(name string) (uint32, bool) {
	o.once.Do(func() {
		o.by = make(map[string]uint32, len(o.names))
		for i, name := range o.names {
			o.by[name] = uint32(i)
		}
	})
	i, ok := o.by[name]
	return i, ok
}

// keyOf is the key of a pod: namespace and name.
func keyOf(namespace, name string) string {
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return namespace + "/" + name
}

func keyOfPod(p *corev1.Pod) string { return keyOf(p.Namespace, p.Name) }

// onKey is the key of a pod of a node. No name has a zero byte.
func onKey(node, pod string) string { return node + "\x00" + pod }

func (b *base) node(s *state, name string) bool {
	if n, ok := s.nodes.get(name); ok {
		return n != nil
	}
	return b.nodes[name]
}

// find returns the pod on a node with a key, nil for none.
func (b *base) find(s *state, key string) *placed {
	if p, ok := s.pods.get(key); ok {
		return p
	}
	return b.pods[key]
}

// at returns a pod of a node, nil if the node does not have it.
func (b *base) at(s *state, node, key string) *placed {
	if p, ok := s.on.get(onKey(node, key)); ok {
		return p
	}
	if p := b.pods[key]; p != nil && p.node == node {
		return p
	}
	return nil
}

// podsOn returns the pods of a node.
func (b *base) podsOn(s *state, node string) (out []*placed) {
	for _, p := range b.on[node] {
		if _, differs := s.on.get(onKey(node, p.key)); !differs {
			out = append(out, p)
		}
	}
	for _, p := range s.on.from(onKey(node, "")) {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}

// members returns the pods of a group on nodes.
func (b *base) members(s *state, group string) (out []*placed) {
	for _, p := range b.groups[group] {
		if b.find(s, p.key) == p {
			out = append(out, p)
		}
	}
	for key, p := range s.pods.from("") {
		if p != nil && p.group == group && b.pods[key] != p {
			out = append(out, p)
		}
	}
	return out
}

func (s *state) record(c change) {
	c.before = s.journal
	s.journal = &c
	s.changes++
}

// put puts a pod on its node.
func (b *base) put(s *state, p *placed) {
	s.pods, s.on = s.pods.set(p.key, p), s.on.set(onKey(p.node, p.key), p)
	s.record(change{node: p.node, pod: p.key})
	if node, nominated := b.nominated[p.key]; nominated {
		if _, gone := s.nominated.get(p.key); !gone {
			s.nominated = s.nominated.set(p.key, true)
			s.record(change{node: node, nominated: p.key})
		}
	}
}

// take removes a pod from its node.
func (s *state) take(p *placed) {
	s.pods, s.on = s.pods.set(p.key, nil), s.on.set(onKey(p.node, p.key), nil)
	s.record(change{node: p.node, pod: p.key})
}

// template returns a template with its index, and adds it if it is new. The index is valid for descendants of this state; in other
// states it may belong to another template.
func (b *base) template(s *state, t *stowagev1.PodTemplate) (*stowagev1.IndexedPodTemplate, error) {
	key, err := encoding(t)
	if err != nil {
		return nil, err
	}
	if known := b.known(s, key); known != nil {
		return known, nil
	}
	out := &stowagev1.IndexedPodTemplate{Index: s.count, Template: t}
	s.templates, s.count = s.templates.set(key, out), s.count+1
	s.record(change{template: out})
	return out, nil
}

// known returns a template of a state by its encoding, nil for none.
func (b *base) known(s *state, key string) *stowagev1.IndexedPodTemplate {
	if t := b.templates[key]; t != nil {
		return t
	}
	t, _ := s.templates.get(key)
	return t
}

func encoding(m proto.Message) (string, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return string(b), err
}
