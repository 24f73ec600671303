package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RestGroup is the name of the group that PlaceRestJointly makes. No PodGroup can have it, as their names contain a slash.
const RestGroup = "queue"

// groupSet is the PodGroups.
type groupSet struct {
	added     map[string]addedGroup
	workloads map[string]*skew.Workload
	unread    map[string]string // the versions of PodGroups that are not read, by name
	running   map[string]int    // pods on nodes by group name
}

func newGroupSet() groupSet {
	return groupSet{added: map[string]addedGroup{}, workloads: map[string]*skew.Workload{}, running: map[string]int{}}
}

// addedGroup is a PodGroup and its origin.
type addedGroup struct {
	object *skew.PodGroup
	at     string
}

// AddPodGroup adds a PodGroup of k8s.io/api/scheduling/v1beta1, typed or unstructured. Pods that name it may be added before or after it.
func (b *Builder) AddPodGroup(o metav1.Object) error {
	g, err := skew.ReadPodGroup(o)
	if err != nil {
		return err
	}
	return b.affect(object.Of("PodGroup", g), func() {
		b.groups.added[object.Namespace(g)+"/"+g.Name] = addedGroup{g, b.objects.at}
		b.environment.AddPodGroup(g)
	})
}

// AddCompositePodGroup refuses a CompositePodGroup. The PodGroups in it are refused, too.
func (b *Builder) AddCompositePodGroup(g metav1.Object) error {
	o := object.Of("CompositePodGroup", g)
	return b.objects.misread(o, true, field.Forbidden(field.NewPath("spec"), convert.CompositeUnsupported))
}

// AddWorkload adds a Workload. Its templates complete PodGroups without a uid, as a controller copies them.
func (b *Builder) AddWorkload(o metav1.Object) error {
	w, err := skew.ReadWorkload(o)
	if err != nil {
		return err
	}
	return b.affect(object.Of("Workload", w), func() { b.groups.workloads[object.Namespace(w)+"/"+w.Name] = w })
}

// templated returns a PodGroup with the policy and the constraints of its Workload's template, if it is about to be created
// and has no policy of its own.
func (s *groupSet) templated(g *skew.PodGroup) (*skew.PodGroup, error) {
	ref := g.Spec.WorkloadRef
	if p := g.Spec.SchedulingPolicy; ref == nil || object.Admitted(g) || p.Basic != nil || p.Gang != nil {
		return g, nil
	}
	path := field.NewPath("spec", "workloadRef")
	w, ok := s.workloads[object.Namespace(g)+"/"+ref.WorkloadName]
	if !ok {
		return nil, field.NotFound(path.Child("workloadName"), ref.WorkloadName)
	}
	for _, t := range w.Spec.PodGroupTemplates {
		if t.Name == ref.TemplateName {
			completed := *g
			g = &completed
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
	for _, s := range b.queue.slots {
		pods[s.pods.PodGroup] += int(s.pods.PodCount())
	}
	waiting := map[string]string{}
	for name := range pods {
		if _, added := b.groups.added[name]; name != "" && !added {
			_, base, _ := strings.Cut(name, "/")
			if waiting[name] = missingGroup(base); b.groups.unread[name] != "" {
				waiting[name] = fmt.Sprintf("PodGroup %s is there as %s, which is not read", name, b.groups.unread[name])
			}
		}
	}
	var out []*stowagev1.PodGroup
	for _, name := range slices.Sorted(maps.Keys(b.groups.added)) {
		g, message := b.group(name, pods[name])
		if waiting[name] = message; g != nil {
			out = append(out, g)
		}
	}
	queue := b.queue.slots
	b.queue.slots = nil
	for _, s := range queue {
		if message := waiting[s.pods.PodGroup]; message != "" {
			b.queue.waiting = append(b.queue.waiting, b.entry(s, message))
			continue
		}
		b.queue.slots = append(b.queue.slots, s)
	}
	return out
}

// TooFewMembers is kube-scheduler's message for pods that wait for more pods of their group.
const TooFewMembers = "waiting for minCount pods from a gang to appear in scheduling queue"

// UnreadPodGroups records PodGroups by namespace/name that are there in versions that are not read. Their pods wait.
func (b *Builder) UnreadPodGroups(versions map[string]string) { b.groups.unread = versions }

func missingGroup(name string) string {
	return fmt.Sprintf("waiting for pods's pod group %q to appear in scheduling queue", name)
}

// group returns the group with a name and a number of queued pods. If they are not placed at all, message is
// kube-scheduler's reason. A group that the API server would reject counts as missing for them.
func (b *Builder) group(name string, pods int) (out *stowagev1.PodGroup, message string) {
	namespace, base, _ := strings.Cut(name, "/")
	added := b.groups.added[name]
	whole, err := b.groups.templated(added.object)
	if err == nil {
		out, err = convert.PodGroup(whole)
	}
	if err != nil {
		if pods+b.groups.running[name] > 0 {
			// Preemption reads the priority and the disruption mode of the composite group.
			ownPods := added.object.Spec.ParentCompositePodGroupName == nil || b.groups.running[name] == 0
			_ = b.objects.note(added.at, Origin{Kind: "PodGroup", Namespace: namespace, Name: base}, ownPods, err)
		}
		if b.groups.running[name] > 0 {
			out = convert.RunningPodGroup(added.object)
			b.objects.places[out] = convert.Place{At: added.at}
		}
		return out, missingGroup(base)
	}
	b.objects.places[out] = convert.Place{At: added.at}
	if out.Topology != nil {
		b.objects.places[out.Topology] = convert.Place{At: added.at, Path: "spec.schedulingConstraints"}
	}
	if int(out.GetMinCount()) > pods+b.groups.running[name] {
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
