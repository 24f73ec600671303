package words

import (
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Explanation writes an explanation: everything that keeps a pod from each node.
type Explanation struct {
	Cluster *stowagev1.Cluster
	// PodName names a conflicting pod; nil for its own name.
	PodName func(*stowagev1.PodReference) string
	// Whole is what changes do for all pods of the workload; nil if that is not known.
	Whole *Whole
	// Rollout is the progress of the rollout that creates the pod; nil if none is under way.
	Rollout *whatif.Rollout
	// Returning is the fate of the pods that changes take off their nodes, where it is known.
	Returning map[*stowagev1.Change]*Returning
	// Counting says that changes are about how many pods fit. A request that leaves room for one more pod beside the others is not the
	// highest then: with it, the others take less, too.
	Counting bool
	// Advice is changes of the workload that place the pod, in words.
	Advice []string
	// Claims are the claims of the pod: names, and the specs of claims that a controller creates.
	Claims []*stowagev1.PersistentVolumeClaim
	// NoPreemption says that the profile has no preemption.
	NoPreemption bool
}

// Pods names pods with their nodes.
func (x *Explanation) Pods(ps []*stowagev1.PodReference) string {
	var out []string
	for _, p := range ps {
		out = append(out, x.Pod(p)+" on "+x.Node(p.GetNodeIndex()))
	}
	return strings.Join(out, ", ")
}

// Pod names a pod, or several by their number.
func (x *Explanation) Pod(p *stowagev1.PodReference) string {
	out := p.GetNamespace() + "/" + x.name(p)
	if p.GetCount() > 1 {
		out += fmt.Sprintf(" ×%d", p.GetCount())
	}
	return out
}

func (x *Explanation) name(p *stowagev1.PodReference) string {
	if x.PodName != nil {
		return x.PodName(p)
	}
	return PodName(x.Cluster, p)
}

// PodName returns a pod's name, or the properties of one that is only counted.
func PodName(c *stowagev1.Cluster, p *stowagev1.PodReference) string {
	if p.GetName() == "" {
		return TemplateName(c, p.GetTemplateIndex())
	}
	return p.GetName()
}

// Node names a node of the cluster.
func (x *Explanation) Node(index uint32) string {
	return x.Cluster.GetNodes()[index].GetName()
}

// TemplateName is a name for pods that are known only by their template.
func TemplateName(c *stowagev1.Cluster, index uint32) string {
	if int(index) < len(c.GetPodTemplates()) {
		if name := c.GetPodTemplates()[index].GetController().GetName(); name != "" {
			return name
		}
	}
	return fmt.Sprintf("template %d", index)
}

// Reference names pods on nodes as what they are counted as: by their controller, else each by its name.
func (x *Explanation) Reference(p *stowagev1.PodReference) string {
	if t := x.template(p); t.GetController().GetName() != "" {
		return fmt.Sprintf("%s/%s", p.GetNamespace(), t.GetController().GetName())
	}
	return p.GetNamespace() + "/" + x.name(p)
}

// template returns the template of pods on a node, nil for pods of the queue.
func (x *Explanation) template(p *stowagev1.PodReference) *stowagev1.PodTemplate {
	if _, queued := p.GetOrigin().(*stowagev1.PodReference_QueueIndex); queued {
		return nil
	}
	if all := x.Cluster.GetPodTemplates(); int(p.GetTemplateIndex()) < len(all) {
		return all[p.GetTemplateIndex()]
	}
	return nil
}

// Who names pods on a node by their controller, or else by their name, without the namespace.
func (x *Explanation) Who(p *stowagev1.PodReference) string {
	_, name, _ := strings.Cut(x.Reference(p), "/")
	return name
}
