package kube

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Effects of unread fields of other objects on a pod.
const (
	readsGroupClaims = "kube-scheduler only takes nodes that have the devices of the claim (DynamicResources)"
	readsComposite   = "kube-scheduler places the groups of a composite pod group together, and preempts their pods by its priority and " +
		"its disruption mode"
	readsRunning = "the API server changes what the pod, which is on a node, occupies there"
)

// surroundings are the other objects that decide which fields of a pod are unread.
type surroundings struct {
	deviceClasses map[string]string                   // by extended resource name
	groups        map[string][]*stowagev1.UnreadField // by the group's name
	running       []*stowagev1.UnreadField            // of pods on nodes, one for each field
	moreRunning   []int                               // by index of running: further pods with the field
}

// facts are the properties of a pending pod that its conversion depends on.
type facts struct {
	object Origin
	path   *field.Path // of its spec, in the object
	stamp  stamp
	group  string
}

func factsOf(origin Origin, path *field.Path, s stamp) facts {
	return facts{object: origin, path: path, stamp: s, group: PodGroupName(s.pod)}
}

// AddDeviceClass adds a DeviceClass. Pods that request its extended resource have an unread field.
func (b *Builder) AddDeviceClass(c *resourcev1.DeviceClass) error {
	if err := b.once("DeviceClass", "", c.Name); err != nil {
		return err
	}
	if name := c.Spec.ExtendedResourceName; name != nil {
		b.around.deviceClasses[*name] = c.Name
	}
	return nil
}

// tell completes the unread fields of the queued and the scalable pods, and lists all of them.
func (b *Builder) tell(scalables []Scalable) []*stowagev1.UnreadField {
	var out []*stowagev1.UnreadField
	seen := map[[2]string]bool{}
	list := func(p *stowagev1.Pod) {
		for _, u := range p.Unread {
			if key := [2]string{u.Object, u.Field}; !seen[key] {
				seen[key] = true
				out = append(out, u)
			}
		}
	}
	for _, s := range b.queue {
		b.around.complete(s.pods.Pod, s.facts)
		list(s.pods.Pod)
	}
	for i := range scalables {
		s := &scalables[i]
		b.around.complete(s.Pod, s.facts)
		list(s.Pod)
	}
	return out
}

// groupUnread returns the unread fields of a PodGroup.
func groupUnread(g *schedulingv1beta1.PodGroup) []*stowagev1.UnreadField {
	u := &unreads{object: Origin{"PodGroup", namespaceOf(g), g.Name}}
	for i := range g.Spec.ResourceClaims {
		u.add(field.NewPath("spec", "resourceClaims").Index(i), readsGroupClaims)
	}
	if g.Spec.ParentCompositePodGroupName != nil {
		u.add(field.NewPath("spec", "parentCompositePodGroupName"), readsComposite)
	}
	return u.fields
}

// complete adds the unread fields of a pod that depend on its surroundings.
func (s *surroundings) complete(p *stowagev1.Pod, of facts) {
	u := &unreads{object: of.object, fields: p.Unread}
	u.devices(p.GetTemplate().GetSpec(), of.path, s.deviceClasses)
	u.fields = append(u.fields, s.groups[of.group]...)
	u.fields = append(u.fields, s.running...)
	p.Unread = u.fields[:min(len(u.fields), maximumUnread)]
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and so with %d more)", n)
}

// occupiesMore records a pod on a node that would occupy more after admission than it requests.
func (s *surroundings) occupiesMore(object Origin, path string) {
	for i, u := range s.running {
		if u.Field == path {
			s.moreRunning[i]++
			u.Consequence = readsRunning + andMore(s.moreRunning[i])
			return
		}
	}
	s.running = append(s.running, &stowagev1.UnreadField{Object: object.String(), Field: path, Consequence: readsRunning})
	s.moreRunning = append(s.moreRunning, 0)
}
