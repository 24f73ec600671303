package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RestGroup is the name of the group that PlaceRestJointly makes. No PodGroup can have it, as theirs contain a slash.
const RestGroup = "queue"

// addedGroup is a PodGroup and its origin.
type addedGroup struct {
	object *schedulingv1beta1.PodGroup
	at     string
}

// AddPodGroup adds a PodGroup. Pods that name it may be added before or after it.
func (b *Builder) AddPodGroup(g *schedulingv1beta1.PodGroup) error {
	if err := b.once("PodGroup", namespaceOf(g), g.Name); err != nil {
		return err
	}
	name := namespaceOf(g) + "/" + g.Name
	b.groups[name] = addedGroup{g.DeepCopy(), b.at}
	b.around.groups[name] = groupUnread(g)
	return nil
}

// AddCompositePodGroup refuses a CompositePodGroup. The PodGroups in it are refused, too.
func (b *Builder) AddCompositePodGroup(g *schedulingv1alpha3.CompositePodGroup) error {
	o := Origin{Kind: "CompositePodGroup", Namespace: namespaceOf(g), Name: g.Name}
	return b.misread(o, true, field.Forbidden(field.NewPath("spec"), notComposite))
}

// AddWorkload adds a Workload. Its templates complete PodGroups without a uid, as a controller copies them.
func (b *Builder) AddWorkload(w *schedulingv1beta1.Workload) error {
	if err := b.once("Workload", namespaceOf(w), w.Name); err != nil {
		return err
	}
	b.workloads[namespaceOf(w)+"/"+w.Name] = w.DeepCopy()
	return nil
}

// jobTemplate returns the template of a Job's n pods. With spec.scheduling it names a group, which is added as the Job
// controller would create it (pkg/controller/job/job_scheduling_manager.go, v1.37), under a name of its own.
func (b *Builder) jobTemplate(s *batchv1.JobSpec, o owner, n uint32, path *field.Path) (*corev1.PodTemplateSpec, error) {
	if s.Scheduling == nil || s.Template.Spec.SchedulingGroup != nil || n == 0 {
		return &s.Template, nil
	}
	g := &schedulingv1beta1.PodGroup{}
	g.Namespace, g.Name = o.namespace, o.name+"-pgt-0"
	g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	if p := s.Scheduling.SchedulingPolicy; p != nil && p.Gang != nil {
		minCount := int32(n)
		if p.Gang.MinCount != nil {
			minCount = *p.Gang.MinCount
		}
		if minCount < 1 || minCount > int32(n) {
			return nil, field.Invalid(path.Child("scheduling", "schedulingPolicy", "gang", "minCount"), minCount,
				fmt.Sprintf("must be 1 to %d, the number of pods", n))
		}
		g.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}
	}
	if c := s.Scheduling.SchedulingConstraints; c != nil {
		g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{}
		for _, t := range c.Topology {
			g.Spec.SchedulingConstraints.Topology = append(g.Spec.SchedulingConstraints.Topology, schedulingv1beta1.TopologyConstraint{Key: t.Key})
		}
	}
	out := s.Template.DeepCopy()
	out.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.Name}
	return out, b.AddPodGroup(g)
}

// templated returns a PodGroup with the policy and the constraints of its Workload's template, if it is about to be created
// and has no policy of its own.
func (b *Builder) templated(g *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error) {
	ref := g.Spec.WorkloadRef
	if p := g.Spec.SchedulingPolicy; ref == nil || admitted(g) || p.Basic != nil || p.Gang != nil {
		return g, nil
	}
	path := field.NewPath("spec", "workloadRef")
	w, ok := b.workloads[namespaceOf(g)+"/"+ref.WorkloadName]
	if !ok {
		return nil, field.NotFound(path.Child("workloadName"), ref.WorkloadName)
	}
	for _, t := range w.Spec.PodGroupTemplates {
		if t.Name == ref.TemplateName {
			g = g.DeepCopy()
			g.Spec.SchedulingPolicy = t.SchedulingPolicy
			if g.Spec.SchedulingConstraints == nil {
				g.Spec.SchedulingConstraints = t.SchedulingConstraints
			}
			return g, nil
		}
	}
	return nil, field.NotFound(path.Child("templateName"), ref.TemplateName)
}

// grouped returns the PodGroups by name. As in kube-scheduler, pods that wait for their group or for other members leave the queue
// (pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go PreEnqueue, v1.37).
func (b *Builder) grouped() []*stowagev1.PodGroup {
	pods := map[string]int{}
	for _, s := range b.queue {
		pods[s.pods.PodGroup] += int(s.pods.PodCount())
	}
	waiting := map[string]string{}
	for name := range pods {
		if _, added := b.groups[name]; name != "" && !added {
			_, base, _ := strings.Cut(name, "/")
			if waiting[name] = missingGroup(base); b.unread[name] != "" {
				waiting[name] = fmt.Sprintf("PodGroup %s is there as %s, which is not read", name, b.unread[name])
			}
		}
	}
	var out []*stowagev1.PodGroup
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		g, message := b.group(name, pods[name])
		if waiting[name] = message; g != nil {
			out = append(out, g)
		}
	}
	queue := b.queue
	b.queue = nil
	for _, s := range queue {
		if message := waiting[s.pods.PodGroup]; message != "" {
			b.waiting = append(b.waiting, b.entry(s, message))
			continue
		}
		b.queue = append(b.queue, s)
	}
	return out
}

// TooFewMembers is kube-scheduler's message for pods that wait for more pods of their group.
const TooFewMembers = "waiting for minCount pods from a gang to appear in scheduling queue"

// UnreadPodGroups states PodGroups by namespace/name that are there in versions that are not read. Their pods wait.
func (b *Builder) UnreadPodGroups(versions map[string]string) { b.unread = versions }

func missingGroup(name string) string {
	return fmt.Sprintf("waiting for pods's pod group %q to appear in scheduling queue", name)
}

// group returns the group with a name and a number of queued pods. If they are not placed at all, message is
// kube-scheduler's reason. A group that the API server would reject counts as missing for them.
func (b *Builder) group(name string, pods int) (out *stowagev1.PodGroup, message string) {
	namespace, base, _ := strings.Cut(name, "/")
	added := b.groups[name]
	object, err := b.templated(added.object)
	if err == nil {
		out, err = PodGroup(object)
	}
	if err != nil {
		if pods+b.runningIn[name] > 0 {
			// Preemption reads the priority and the disruption mode of the composite group.
			ownPods := added.object.Spec.ParentCompositePodGroupName == nil || b.runningIn[name] == 0
			_ = b.note(added.at, Origin{Kind: "PodGroup", Namespace: namespace, Name: base}, ownPods, err)
		}
		if b.runningIn[name] > 0 {
			out = RunningPodGroup(added.object)
			b.places[out] = place{at: added.at}
		}
		return out, missingGroup(base)
	}
	b.places[out] = place{at: added.at}
	if out.Topology != nil {
		b.places[out.Topology] = place{at: added.at, path: "spec.schedulingConstraints"}
	}
	if int(out.GetMinCount()) > pods+b.runningIn[name] {
		return out, TooFewMembers
	}
	return out, ""
}

// QueueGroups returns the groups of the entries of the queue, each once.
func (s *Snapshot) QueueGroups() []*stowagev1.PodGroup {
	byName := map[string]*stowagev1.PodGroup{}
	for _, g := range slices.Concat(s.Cluster.GetPodGroups(), s.PodGroups) {
		byName[g.Name] = g
	}
	var out []*stowagev1.PodGroup
	for _, e := range s.Queue {
		if g := byName[e.Pods.GetPodGroup()]; g != nil {
			out = append(out, g)
			delete(byName, g.Name)
		}
	}
	return out
}

// PlaceRestJointly puts all queue entries without a group into one that is placed jointly, named RestGroup. At least
// minCount of its pods must be placed, all of them if it is 0. The search ends after maxSteps, the server's default if it is
// 0. Nothing happens without such entries.
func (s *Snapshot) PlaceRestJointly(minCount, maxSteps uint32) {
	found := false
	for _, e := range s.Queue {
		if e.Pods.PodGroup == "" {
			e.Pods.PodGroup = RestGroup
			found = true
		}
	}
	if found {
		s.PodGroups = append(s.PodGroups, &stowagev1.PodGroup{
			Name: RestGroup, MinCount: unlessZero(minCount),
			Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT, MaxSteps: unlessZero(maxSteps),
		})
	}
}

func unlessZero(n uint32) *uint32 {
	if n == 0 {
		return nil
	}
	return &n
}
