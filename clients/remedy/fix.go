package remedy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/engine/nodestate"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Fix is how a change is made.
type Fix struct {
	// Commands are kubectl's, in order. The one that applies Patch reads it from its standard input.
	Commands []string
	// Patch is a strategic merge patch as YAML, nil for none.
	Patch []byte
	// Note is what the commands do not observe; empty if there is nothing to say.
	Note string
}

// unbudgeted is said of commands that delete pods.
const unbudgeted = "kubectl delete pod ignores PodDisruptionBudgets."

// Of returns how a change is made. The pod is as it was read, of is its workload, and nodes are the nodes of the cluster.
func Of(c *stowagev1.Change, pod *corev1.Pod, of Workload, nodes []*stowagev1.Node) (*Fix, error) {
	fix := &Fix{}
	changed := pod.DeepCopy()
	parts := []*stowagev1.Change{c}
	if combined := c.GetCombined(); combined != nil {
		parts = inOrder(combined.GetChanges())
	}
	var edits []*stowagev1.Change
	for _, part := range parts {
		commands, err := ofNode(part, nodes)
		if err != nil {
			return nil, err
		}
		if commands != nil {
			fix.Commands = append(fix.Commands, commands...)
			if part.GetVictims() != nil {
				fix.Note = unbudgeted
			}
			continue
		}
		if err := edit(&changed.Spec, of.Namespace, part); err != nil {
			return nil, err
		}
		edits = append(edits, part)
	}
	if equality.Semantic.DeepEqual(pod.Spec, changed.Spec) {
		return fix, nil
	}
	fields, err := of.fields(edits)
	if err != nil {
		return nil, err
	}
	before := pod.Spec.DeepCopy()
	unmerge(before)
	unmerge(&changed.Spec)
	if fix.Patch, err = patch(before, &changed.Spec, fields); err != nil {
		return nil, err
	}
	fix.Commands = append(fix.Commands, of.command())
	return fix, nil
}

// ofNode returns the commands for a change of a node or its pods, nil if the change is another one. No command ends a state of a node:
// its controller would set the taint again.
func ofNode(c *stowagev1.Change, nodes []*stowagev1.Node) ([]string, error) {
	name := func(index uint32) string { return nodes[index].GetName() }
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_UncordonedNode:
		return []string{quote.Command("kubectl uncordon", []string{name(k.UncordonedNode.GetNodeIndex())})}, nil
	case *stowagev1.Change_LabelledNode:
		l := k.LabelledNode
		return []string{quote.Command("kubectl label node", []string{name(l.GetNodeIndex()), l.GetKey() + "=" + l.GetValue()})}, nil
	case *stowagev1.Change_ClearedTaints:
		var commands []string
		for _, t := range k.ClearedTaints.GetTaints() {
			if nodestate.Has(t.GetKey()) {
				return nil, fmt.Errorf("a controller removes the taint %s when that state ends", words.Taint(t))
			}
			commands = append(commands, quote.Command("kubectl taint node", []string{
				name(k.ClearedTaints.GetNodeIndex()), fmt.Sprintf("%s:%s-", t.GetKey(), effects[t.GetEffect()]),
			}))
		}
		return commands, nil
	case *stowagev1.Change_Victims:
		var commands []string
		for _, p := range k.Victims.GetPods() {
			if p.GetName() == "" {
				return nil, errors.New("the pods have no names")
			}
			commands = append(commands, DeletePod(p.GetNamespace(), p.GetName()))
		}
		return commands, nil
	}
	return nil, nil
}

// patch returns the patch that changes a pod's spec, below some fields of its object. It refuses a difference that a strategic merge
// patch does not express, such as one of two spread constraints with the same topology key.
func patch(from, to *corev1.PodSpec, fields []string) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Spec: *from})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(corev1.Pod{Spec: *to})
	if err != nil {
		return nil, err
	}
	text, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	result, err := strategicpatch.StrategicMergePatch(before, text, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	var applied corev1.Pod
	if err := json.Unmarshal(result, &applied); err != nil {
		return nil, err
	}
	if !equality.Semantic.DeepEqual(applied.Spec, *to) {
		return nil, fmt.Errorf("a patch does not express the change: edit %s", strings.Join(fields, "."))
	}
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	return yaml.Marshal(below(fields, spec["spec"]))
}
