package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The labels of a pod in a group.
const (
	GroupNameLabel    = "pod-group.scheduling.sigs.k8s.io/name"
	MinAvailableLabel = "pod-group.scheduling.sigs.k8s.io/min-available"
)

// groupKey is a group of labels, or of a PodGroup.
type groupKey struct {
	namespace, name string
	object          bool
}

func (k groupKey) String() string {
	if !k.object {
		return k.namespace + "/" + k.name + " (labels)"
	}
	return k.namespace + "/" + k.name // the server's name of the group of pods on nodes
}

// groupOf returns the group of a pod, if any: its PodGroup, or else the group of its labels.
func groupOf(p *corev1.Pod) (groupKey, bool) {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return groupKey{p.Namespace, *g.PodGroupName, true}, true
	}
	name := p.Labels[GroupNameLabel]
	return groupKey{p.Namespace, name, false}, name != ""
}

// minAvailable returns the minimum of a pod's group according to the label, 0 without a label.
func minAvailable(p *corev1.Pod) (int, error) {
	text, ok := p.Labels[MinAvailableLabel]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("metadata.labels[%s]: Invalid value: %q: must be a number of pods", MinAvailableLabel, text)
	}
	return int(n), nil
}

// groupIndex indexes pods by their group.
const groupIndex = "stowage-group"

func indexByGroup(o any) ([]string, error) {
	if p, ok := o.(*corev1.Pod); ok {
		if key, ok := groupOf(p); ok {
			return []string{key.String()}, nil
		}
	}
	return nil, nil
}

// decided counts the running pods of a group, including assumed pods.
func (s *Scheduler) decided(key groupKey) (int, error) {
	members, err := s.pods.ByIndex(groupIndex, key.String())
	if err != nil {
		return 0, err
	}
	n := 0
	for _, o := range members {
		if node, _ := s.cluster.NodeOf(o.(*corev1.Pod).UID); node != "" {
			n++
		}
	}
	return n, nil
}

// succeeded counts the succeeded pods of a group, which the informer leaves out. Failed pods do not count: their controller
// replaces them.
func (s *Scheduler) succeeded(ctx context.Context, key groupKey) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	members, err := s.api.CoreV1().Pods(key.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{GroupNameLabel: key.name}.String(), ResourceVersion: "0", // from the API server's watch cache
	})
	if err != nil {
		return 0, because(failed, "pod group %s: cannot count its succeeded pods: %w", key.name, err)
	}
	n := 0
	for _, p := range members.Items {
		if p.Status.Phase == corev1.PodSucceeded {
			n++
		}
	}
	return n, nil
}

// podGroup returns the group of a PodGroup with a number of pending pods, and the number of pods that it needs. If the pods must
// wait, it returns kube-scheduler's reason (pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go PreEnqueue, v1.37).
func (s *Scheduler) podGroup(key groupKey, pods int) (*stowagev1.PodGroup, int, error) {
	object := s.cluster.PodGroup(key.namespace, key.name)
	if object == nil {
		return nil, 0, because(gated, "waiting for pods's pod group %q to appear in scheduling queue", key.name)
	}
	scheduled, astray, err := s.scheduled(key)
	if err != nil {
		return nil, 0, err
	}
	out, err := convert.PodGroup(object)
	if err != nil {
		return nil, 0, fmt.Errorf("PodGroup %s/%s: %w", key.namespace, key.name, err)
	}
	if len(object.Spec.ResourceClaims) > 0 {
		return nil, 0, fmt.Errorf("this scheduler leaves the pod alone, because it does not read spec.resourceClaims of PodGroup %s/%s",
			key.namespace, key.name)
	}
	if int(out.GetMinCount()) > pods+scheduled+len(astray) {
		return nil, 0, because(gated, "waiting for minCount pods from a gang to appear in scheduling queue")
	}
	// In kube-scheduler such a pod counts towards minCount, but is in no domain
	// (pkg/scheduler/framework/plugins/topologyaware/topology_placement.go getScheduledPodsTopologyDomain, v1.37).
	if len(astray) > 0 && len(out.GetTopology().GetKeys()) > 0 {
		return nil, 0, because(failed, "cannot determine domain for already scheduled pods: getting node for pod %s/%s: "+
			"nodeinfo not found for node name %q", astray[0].Namespace, astray[0].Name, astray[0].Spec.NodeName)
	}
	out.MinCount = new(max(1, out.GetMinCount()-min(out.GetMinCount(), uint32(len(astray)))))
	out.Name, out.Mode = key.String(), cmp.Or(out.Mode, s.options.GroupMode)
	if out.MaxSteps != nil { // a namespace must not delay others
		out.MaxSteps = new(min(out.GetMaxSteps(), s.options.MaxJointSteps))
	}
	return out, max(0, int(out.GetMinCount())-scheduled), nil
}

// scheduled counts the running pods of a group. astray are the pods whose node does not exist, sorted by name.
func (s *Scheduler) scheduled(key groupKey) (there int, astray []*corev1.Pod, err error) {
	members, err := s.pods.ByIndex(groupIndex, key.String())
	if err != nil {
		return 0, nil, err
	}
	for _, o := range members {
		p := o.(*corev1.Pod)
		switch node, _ := s.cluster.NodeOf(p.UID); {
		case node == "":
		case s.cluster.HasNode(node):
			there++
		default:
			p = p.DeepCopy()
			p.Spec.NodeName = node
			astray = append(astray, p)
		}
	}
	slices.SortFunc(astray, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return there, astray, nil
}
