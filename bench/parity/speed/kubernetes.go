package speed

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// kubernetes states a cluster as Kubernetes objects, its pods as the API server stores them. It knows only what the
// benchmark's clusters have; that nothing was lost is checked by stating each object in the contract's way again.
func kubernetes(c *stowagev1.Cluster) (*scenario.Case, error) {
	out := &scenario.Case{Name: fmt.Sprintf("%d nodes", len(c.Nodes))}
	for _, n := range c.Namespaces {
		out.Namespaces = append(out.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
	}
	stored := make([]*corev1.Pod, len(c.PodTemplates))
	for i, t := range c.PodTemplates {
		var err error
		if stored[i], err = kubernetesPod(t); err != nil {
			return nil, fmt.Errorf("pod_templates[%d]: %w", i, err)
		}
	}
	for i, n := range c.Nodes {
		node, err := kubernetesNode(n)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
		out.Nodes = append(out.Nodes, node)
		for _, group := range n.PodCounts {
			for range group.Count {
				// All pods of a template share its maps and slices, which nothing changes.
				pod := *stored[group.TemplateIndex]
				pod.Name = fmt.Sprintf("pod-%d", len(out.Pods))
				pod.UID = types.UID(pod.Name)
				pod.Spec.NodeName = n.Name
				out.Pods = append(out.Pods, &pod)
			}
		}
		for _, named := range n.Pods {
			pod := *stored[named.GetTemplateIndex()]
			pod.Name, pod.UID, pod.Spec.NodeName = named.Name, types.UID(named.Name), n.Name
			pod.Status.StartTime = &metav1.Time{Time: named.StartTime.AsTime()}
			out.Pods = append(out.Pods, &pod)
		}
	}
	for _, p := range c.PodDisruptionBudgets {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: p.Selector.MatchLabels}
		budget.Status.DisruptionsAllowed = p.DisruptionsAllowed
		if err := lost(p, convert.PodDisruptionBudget(budget)); err != nil {
			return nil, err
		}
		out.PodDisruptionBudgets = append(out.PodDisruptionBudgets, budget)
	}
	return out, nil
}

func kubernetesNode(n *stowagev1.Node) (*corev1.Node, error) {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	out.Status.Allocatable = quantities(n.Allocatable)
	for _, t := range n.Taints {
		out.Spec.Taints = append(out.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: taintEffects[t.Effect]})
	}
	again, err := convert.Node(out)
	if err != nil {
		return nil, err
	}
	node := &stowagev1.Node{
		Name: n.Name, Labels: n.Labels, Taints: n.Taints, Allocatable: n.Allocatable, Unschedulable: n.Unschedulable, Images: n.Images,
	}
	return out, lost(node, again)
}

// kubernetesPod is a pod of a template, as the API server stores it.
func kubernetesPod(t *stowagev1.PodTemplate) (*corev1.Pod, error) {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: t.Namespace, Labels: t.Labels}}
	if t.Spec.Priority != 0 {
		out.Spec.Priority = &t.Spec.Priority
	}
	for _, c := range t.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{
			Name: c.Name, Image: c.Image, Resources: corev1.ResourceRequirements{Requests: quantities(c.Requests)},
		})
	}
	for _, c := range t.Spec.TopologySpreadConstraints {
		out.Spec.TopologySpreadConstraints = append(out.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew:           c.MaxSkew,
			TopologyKey:       c.TopologyKey,
			WhenUnsatisfiable: unsatisfiableActions[c.WhenUnsatisfiable],
			LabelSelector:     &metav1.LabelSelector{MatchLabels: c.LabelSelector.MatchLabels},
		})
	}
	if terms := t.Spec.GetAffinity().GetPodAntiAffinity().GetRequired(); len(terms) > 0 {
		out.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
		required := &out.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		for _, term := range terms {
			*required = append(*required, corev1.PodAffinityTerm{
				TopologyKey: term.TopologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: term.LabelSelector.MatchLabels},
			})
		}
	}
	again, err := convert.PendingPod(out)
	if err != nil {
		return nil, err
	}
	t = proto.CloneOf(t)
	for _, c := range t.Spec.TopologySpreadConstraints {
		// Kubernetes' form states what the contract's may leave out.
		c.NodeAffinityPolicy = cmp.Or(c.NodeAffinityPolicy, stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR)
		c.NodeTaintsPolicy = cmp.Or(c.NodeTaintsPolicy, stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE)
	}
	again.GetTemplate().Spec.Tolerations = nil // admission adds NoExecute tolerations, which reject no node
	if err := lost(t, again.GetTemplate()); err != nil {
		return nil, err
	}
	return oracle.StoredPod(out)
}

// lost returns an error unless an object survived a conversion to another form unchanged.
func lost(before, after proto.Message) error {
	if proto.Equal(before, after) {
		return nil
	}
	return fmt.Errorf("Kubernetes' form says other than the contract's:\n%v\n%v", after, before)
}

func quantities(r *stowagev1.Resources) corev1.ResourceList {
	out := corev1.ResourceList{}
	whole := func(name corev1.ResourceName, v *int64) {
		if v != nil {
			out[name] = *resource.NewQuantity(*v, resource.DecimalSI)
		}
	}
	if r.CpuMillis != nil {
		out[corev1.ResourceCPU] = *resource.NewMilliQuantity(*r.CpuMillis, resource.DecimalSI)
	}
	whole(corev1.ResourceMemory, r.MemoryBytes)
	whole(corev1.ResourceEphemeralStorage, r.EphemeralStorageBytes)
	whole(corev1.ResourcePods, r.Pods)
	return out
}

var taintEffects = map[stowagev1.TaintEffect]corev1.TaintEffect{
	stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE: corev1.TaintEffectNoSchedule,
}

var unsatisfiableActions = map[stowagev1.UnsatisfiableAction]corev1.UnsatisfiableConstraintAction{
	stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE: corev1.DoNotSchedule,
	stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY: corev1.ScheduleAnyway,
}
