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
	b.groups[namespaceOf(g)+"/"+g.Name] = addedGroup{g.DeepCopy(), b.at}
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

// grouped returns the groups of the queue's entries, in the queue's order. As in kube-scheduler, pods that wait for their
// group or for other members leave the queue (pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go PreEnqueue,
// v1.37).
func (b *Builder) grouped() []*stowagev1.PodGroup {
	var names []string
	pods := map[string]int{}
	for _, s := range b.queue {
		name := s.pods.PodGroup
		if name != "" && pods[name] == 0 {
			names = append(names, name)
		}
		pods[name] += int(s.pods.PodCount())
	}
	var out []*stowagev1.PodGroup
	waiting := map[string]string{}
	for _, name := range names {
		g, message := b.group(name, pods[name])
		if message != "" {
			waiting[name] = message
		} else {
			out = append(out, g)
		}
	}
	out = append(out, b.runningGroups(out)...)
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

// runningGroups returns the groups that are not in the queue and have pods on nodes, by name, for preemption by the queue. A group
// without a PodGroup has no priority and no disruption mode.
func (b *Builder) runningGroups(queued []*stowagev1.PodGroup) []*stowagev1.PodGroup {
	if len(b.queue) == 0 {
		return nil
	}
	in := map[string]bool{}
	for _, g := range queued {
		in[g.Name] = true
	}
	var out []*stowagev1.PodGroup
	for _, name := range slices.Sorted(maps.Keys(b.runningIn)) {
		if in[name] {
			continue
		}
		added, ok := b.groups[name]
		g := RunningPodGroup(name, added.object, b.runningIn[name])
		if ok {
			of := added.object
			if of.Spec.ParentCompositePodGroupName != nil {
				namespace, base, _ := strings.Cut(name, "/")
				path := field.NewPath("spec", "parentCompositePodGroupName")
				_ = b.note(added.at, Origin{Kind: "PodGroup", Namespace: namespace, Name: base}, true, field.Forbidden(path, notComposite))
			}
			b.places[g] = place{at: added.at}
		}
		out = append(out, g)
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
// kube-scheduler's reason. A group that the API server would reject counts as missing.
func (b *Builder) group(name string, pods int) (out *stowagev1.PodGroup, message string) {
	namespace, base, _ := strings.Cut(name, "/")
	missing := missingGroup(base)
	added, ok := b.groups[name]
	if version := b.unread[name]; !ok && version != "" {
		return nil, fmt.Sprintf("PodGroup %s is there as %s, which is not read", name, version)
	}
	if !ok {
		return nil, missing
	}
	object, err := b.templated(added.object)
	if err == nil {
		out, err = PodGroup(object, b.runningIn[name])
	}
	if err != nil {
		_ = b.note(added.at, Origin{Kind: "PodGroup", Namespace: namespace, Name: base}, true, err)
		return nil, missing
	}
	b.around.groups[name] = groupUnread(object)
	if int(out.GetMinCount()) > pods+len(out.ScheduledPods) {
		return nil, TooFewMembers
	}
	b.places[out] = place{at: added.at}
	if out.Topology != nil {
		b.places[out.Topology] = place{at: added.at, path: "spec.schedulingConstraints"}
	}
	return out, ""
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
