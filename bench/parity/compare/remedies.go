package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Remedies counts the changes that Stowage offers for pods without a feasible node.
type Remedies struct {
	Cases int
	// Pods have no feasible node. Helped is the number of such pods with an offered change.
	Pods, Helped int
	// Kinds counts changes. Unwritten counts changes that no command or patch makes. Sufficient counts the pods for which a single
	// change of a kind suffices.
	Kinds, Unwritten, Sufficient map[string]int
}

func (o *Remedies) add(r *Remedies) {
	o.Cases++
	o.Pods, o.Helped = o.Pods+r.Pods, o.Helped+r.Helped
	for _, of := range []struct {
		into *map[string]int
		from map[string]int
	}{{&o.Kinds, r.Kinds}, {&o.Unwritten, r.Unwritten}, {&o.Sufficient, r.Sufficient}} {
		for k, n := range of.from {
			count(of.into, k, n)
		}
	}
}

func count(into *map[string]int, kind string, n int) {
	if *into == nil {
		*into = map[string]int{}
	}
	(*into)[kind] += n
}

func (o *Remedies) print(w io.Writer) {
	if o.Cases == 0 {
		return
	}
	fmt.Fprintf(w, "%d cases about changes: %d pods without a node, %d of them with a change that would place them\n", o.Cases, o.Pods, o.Helped)
	changes := 0
	for _, n := range o.Kinds {
		changes += n
	}
	table(w, changes, "changes, made and then decided by kube-scheduler:", o.Kinds)
	table(w, changes, "changes that no command or patch makes:", o.Unwritten)
	sufficient := 0
	for _, n := range o.Sufficient {
		sufficient += n
	}
	table(w, sufficient, "kinds of which one change suffices for a pod, tried by kube-scheduler, and all of them offered:", o.Sufficient)
}

// runRemedies makes each change that Stowage offers for a pod without a feasible node, as kubectl would with the commands and the
// patch that clients/remedy writes. It then checks with kube-scheduler that the node that Stowage names is feasible.
func runRemedies(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Result, error) {
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	place, err := PlaceRequest(c, s, Form{})
	if err != nil {
		return nil, err
	}
	r := &Result{Remedies: &Remedies{}}
	for i, q := range c.Queue {
		about := proto.CloneOf(place.Context)
		about.IncludeNodeNames = true
		answer, err := stowage.Filter(ctx, &stowagev1.FilterRequest{Context: about, Pod: place.Queue[i].Pod, IncludeChanges: true})
		if err != nil {
			r.differ(fmt.Sprintf("queue[%d]", i), "remedies: Filter fails", err)
			continue
		}
		if len(answer.GetFeasibleNodes().GetIndexes()) > 0 {
			continue
		}
		r.Remedies.Pods++
		if len(answer.GetChanges()) > 0 {
			r.Remedies.Helped++
		}
		if err := r.missing(c, i, answer.GetChanges()); err != nil {
			return nil, err
		}
		for _, change := range answer.GetChanges() {
			kind := kindOf(change)
			count(&r.Remedies.Kinds, kind, 1)
			made := &making{Case: c.Copy(), pod: q.Pod.DeepCopy()}
			err := made.change(change, about.GetCluster().GetNodes())
			var unwritten *unwrittenError
			switch {
			case errors.As(err, &unwritten):
				count(&r.Remedies.Unwritten, kind, 1)
				continue
			case err == nil:
				if err = made.decided(change); err == nil {
					err = made.played(ctx, c, s, stowage)
				}
			}
			if err != nil {
				r.differ(fmt.Sprintf("queue[%d]: %v", i, change), "remedy "+kind, err)
			}
		}
	}
	return r, nil
}

func (r *Result) differ(at, kind string, err error) {
	r.Differences = append(r.Differences, conformance.Difference{Kind: kind, Text: fmt.Sprintf("%s: %v", at, err)})
}

// kindOf names the kind of a change, a combined one by its parts.
func kindOf(c *stowagev1.Change) string {
	if of := c.GetCombined(); of != nil {
		var parts []string
		for _, p := range of.GetChanges() {
			parts = append(parts, kindOf(p))
		}
		return strings.Join(parts, " and ")
	}
	m := c.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if field == nil {
		return "unknown"
	}
	return string(field.Name())
}

// making is a case in which a change is made for a pod.
type making struct {
	*scenario.Case
	pod  *corev1.Pod
	node string // that is feasible then, if the change adds it
}

// unwrittenError says that no command or patch makes a change.
type unwrittenError struct{ error }

// change makes a change.
func (m *making) change(c *stowagev1.Change, nodes []*stowagev1.Node) error {
	parts := []*stowagev1.Change{c}
	if of := c.GetCombined(); of != nil {
		parts = of.GetChanges()
	}
	var written []*stowagev1.Change
	var added *stowagev1.AddedNode
	for _, p := range parts {
		switch k := p.GetKind().(type) {
		case *stowagev1.Change_AddedNode:
			added = k.AddedNode
		case *stowagev1.Change_Victims:
			if err := m.evict(k.Victims.GetPods()); err != nil {
				return err
			}
		case *stowagev1.Change_ClearedTaints:
			roles, err := m.endStates(k.ClearedTaints, nodes)
			if err != nil {
				return err
			}
			if roles != nil {
				written = append(written, roles)
			}
		default:
			written = append(written, p)
		}
	}
	if err := m.write(written, nodes); err != nil {
		return err
	}
	if added != nil {
		m.addNode(added)
	}
	return nil
}

// endStates removes the taints that are states of a node, as their controllers do, and returns the change without them; nil if there
// is none.
func (m *making) endStates(c *stowagev1.ClearedTaints, nodes []*stowagev1.Node) (*stowagev1.Change, error) {
	rest := &stowagev1.ClearedTaints{NodeIndex: c.GetNodeIndex()}
	for _, t := range c.GetTaints() {
		if !nodestate.Has(t.GetKey()) {
			rest.Taints = append(rest.Taints, t)
			continue
		}
		err := m.onNode(nodes[c.GetNodeIndex()].GetName(), func(n *corev1.Node) error {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.Key == t.GetKey() && o.Value == t.GetValue() })
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(rest.Taints) == 0 {
		return nil, nil
	}
	return &stowagev1.Change{Kind: &stowagev1.Change_ClearedTaints{ClearedTaints: rest}}, nil
}

// write makes changes as commands and a patch say.
func (m *making) write(written []*stowagev1.Change, nodes []*stowagev1.Node) error {
	if len(written) == 0 {
		return nil
	}
	together := written[0]
	if len(written) > 1 {
		together = &stowagev1.Change{Kind: &stowagev1.Change_Combined{Combined: &stowagev1.CombinedChange{Changes: written}}}
	}
	fix, err := remedy.Of(together, m.pod, remedy.Workload{Kind: "Deployment", Namespace: m.pod.Namespace, Name: "web"}, nodes)
	if err != nil {
		return &unwrittenError{err}
	}
	for _, command := range fix.Commands {
		if err := m.run(command); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
	}
	return m.patch(fix.Patch)
}

func (m *making) addNode(of *stowagev1.AddedNode) {
	m.node = "added"
	like := m.Nodes[of.GetLikeNodeIndex()]
	n := like.DeepCopy()
	n.Name, n.Spec.Unschedulable = m.node, false
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return nodestate.Has(t.Key) })
	for _, p := range m.Pods {
		if p.Spec.NodeName == like.Name && p.DeletionTimestamp == nil && scenario.Stays(p) {
			copied := p.DeepCopy()
			copied.Name, copied.Spec.NodeName = p.Name+"-added", m.node
			m.Pods = append(m.Pods, copied)
		}
	}
	for k, v := range n.Labels {
		if v == like.Name {
			n.Labels[k] = m.node
		}
	}
	for _, k := range of.GetNewDomainKeys() {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[k] = m.node
	}
	m.Nodes = append(m.Nodes, n)
}

func (m *making) evict(pods []*stowagev1.PodReference) error {
	for _, p := range pods {
		before := len(m.Pods)
		m.Pods = slices.DeleteFunc(m.Pods, func(o *corev1.Pod) bool {
			return cmp.Or(o.Namespace, corev1.NamespaceDefault) == p.GetNamespace() && o.Name == p.GetName()
		})
		if len(m.Pods) != before-1 {
			return fmt.Errorf("%d pods are %s/%s", before-len(m.Pods), p.GetNamespace(), p.GetName())
		}
	}
	return nil
}

// run does what a kubectl command does, and the controllers that follow it.
func (m *making) run(command string) error {
	words := strings.Fields(command)
	switch {
	case len(words) > 1 && words[1] == "patch":
		return nil // with the patch
	case len(words) == 3 && words[1] == "uncordon":
		return m.onNode(words[2], func(n *corev1.Node) error {
			n.Spec.Unschedulable = false
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
			return nil
		})
	case len(words) == 5 && words[1] == "label":
		key, value, _ := strings.Cut(words[4], "=")
		return m.onNode(words[3], func(n *corev1.Node) error {
			if had, ok := n.Labels[key]; ok && had != value {
				return errors.New("the label has another value: kubectl demands --overwrite")
			}
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[key] = value
			return nil
		})
	case len(words) == 5 && words[1] == "taint":
		key, effect, _ := strings.Cut(strings.TrimSuffix(words[4], "-"), ":")
		return m.onNode(words[3], func(n *corev1.Node) error {
			before := len(n.Spec.Taints)
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key && string(t.Effect) == effect })
			if len(n.Spec.Taints) == before {
				return errors.New("there is no such taint")
			}
			return nil
		})
	}
	return errors.New("the command is not known")
}

func (m *making) onNode(name string, do func(*corev1.Node) error) error {
	for _, n := range m.Nodes {
		if n.Name == name {
			return do(n)
		}
	}
	return errors.New("there is no such node")
}

// patch changes the pod by a patch of a Deployment.
func (m *making) patch(text []byte) error {
	if text == nil {
		return nil
	}
	var of struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &of); err != nil {
		return err
	}
	before, err := json.Marshal(m.pod)
	if err != nil {
		return err
	}
	after, err := strategicpatch.StrategicMergePatch(before, of.Spec.Template, corev1.Pod{})
	if err != nil {
		return err
	}
	m.pod = &corev1.Pod{}
	return json.Unmarshal(after, m.pod)
}

// decided decides about the pod with kube-scheduler, and returns how the change fails to have its effect.
func (m *making) decided(c *stowagev1.Change) error {
	m.Queue = []scenario.Pending{{Pod: m.pod, Count: 1}}
	s, err := oracle.New(m.Case)
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		return err
	}
	nodes := c.GetNodes().GetIndexes()
	if m.node != "" {
		nodes = []uint32{uint32(len(m.Nodes) - 1)}
	}
	if len(nodes) == 0 {
		return errors.New("the change names no node")
	}
	for _, n := range nodes {
		if !slices.Contains(d.Feasible, n) {
			return fmt.Errorf("node %d is not feasible, but %v: %s", n, d.Feasible, d.Message)
		}
	}
	return nil
}
