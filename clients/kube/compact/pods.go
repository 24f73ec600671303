package compact

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Templates deduplicates pod templates.
type Templates struct {
	list  []*stowagev1.PodTemplate
	index map[string]uint32 // by deterministic encoding
}

// NewTemplates starts with templates, which keep their indexes. A string that is not UTF-8 is an error.
func NewTemplates(list []*stowagev1.PodTemplate) (*Templates, error) {
	t := &Templates{index: make(map[string]uint32, len(list))}
	for i, template := range list {
		key, err := encoding(template)
		if err != nil {
			return nil, fmt.Errorf("pod_templates[%d]: %w", i, err)
		}
		if _, ok := t.index[key]; !ok {
			t.index[key] = uint32(i)
		}
	}
	t.list = slices.Clip(list)
	return t, nil
}

// Share makes a pod with its own template refer to the list, which grows if the template is new. An index out of range and a string
// that is not UTF-8 are errors.
func (t *Templates) Share(p *stowagev1.Pod) error {
	own, ok := p.GetSource().(*stowagev1.Pod_Template)
	if !ok {
		if p.GetSource() != nil && int(p.GetTemplateIndex()) >= len(t.list) {
			return fmt.Errorf("template_index: there is no template %d", p.GetTemplateIndex())
		}
		return nil
	}
	key, err := encoding(own.Template)
	if err != nil {
		return err
	}
	i, ok := t.index[key]
	if !ok {
		i = uint32(len(t.list))
		t.index[key] = i
		t.list = append(t.list, own.Template)
	}
	p.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: i}
	return nil
}

// shared returns copies of the pods of a node, which refer to the list. An error begins with the index of its pod.
func (t *Templates) shared(pods []*stowagev1.Pod) ([]*stowagev1.Pod, error) {
	out := make([]*stowagev1.Pod, len(pods))
	for i, p := range pods {
		out[i] = Shallow(p)
		if err := t.Share(out[i]); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}

// List returns the templates, in the order of first use.
func (t *Templates) List() []*stowagev1.PodTemplate { return t.list }

func encoding(m proto.Message) (string, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return string(b), err
}

// CountPods replaces pods whose only own fields are a name and a start time by counts per template, and removes the names and start
// times of the others. Pods with their own template are unchanged, and pods keep their names if these are parts of their claims' names.
func CountPods(n *stowagev1.Node, templates []*stowagev1.PodTemplate) {
	type group struct {
		template    uint32
		terminating bool
		readiness   stowagev1.PodReadiness
	}
	counts := map[group]uint32{}
	for _, c := range n.GetPodCounts() {
		counts[group{c.GetTemplateIndex(), c.GetTerminating(), c.GetReadiness()}] += c.GetCount()
	}
	n.Pods = slices.DeleteFunc(n.Pods, func(p *stowagev1.Pod) bool {
		source, ok := p.GetSource().(*stowagev1.Pod_TemplateIndex)
		if !ok {
			return false
		}
		if int(source.TemplateIndex) < len(templates) && NamesClaims(templates[source.TemplateIndex]) {
			p.StartTime = nil
			return false
		}
		if len(p.GetLabels()) > 0 || p.GetResourceStatus() != nil || p.GetPreempted() {
			p.Name, p.StartTime = "", nil
			return false
		}
		counts[group{source.TemplateIndex, p.GetTerminating(), p.GetReadiness()}]++
		return true
	})
	n.PodCounts = nil
	for g, count := range counts {
		n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{
			TemplateIndex: g.template, Count: count, Terminating: g.terminating, Readiness: g.readiness,
		})
	}
	slices.SortFunc(n.PodCounts, func(a, b *stowagev1.PodCount) int {
		return cmp.Or(cmp.Compare(a.TemplateIndex, b.TemplateIndex), compareBools(a.Terminating, b.Terminating),
			cmp.Compare(a.Readiness, b.Readiness))
	})
}

// NamesClaims reports whether pods of a template have claims whose names depend on the names of the pods.
func NamesClaims(t *stowagev1.PodTemplate) bool {
	return slices.ContainsFunc(t.GetSpec().GetVolumes(), namesClaims)
}

// namesClaims reports whether a volume is a claim whose name depends on the name of the pod.
func namesClaims(v *stowagev1.Volume) bool {
	return v.GetEphemeral() != nil || v.GetPersistentVolumeClaim().GetOfPod()
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Claims returns the claims that a pod uses, in the order of its volumes: names, and the specs of claims that a controller creates. A claim
// whose name depends on the name of the pod has none if the pod has none.
func Claims(c *stowagev1.Cluster, p *stowagev1.Pod) []*stowagev1.PersistentVolumeClaim {
	template := Template(c, p)
	namespace := cmp.Or(template.GetNamespace(), "default")
	var out []*stowagev1.PersistentVolumeClaim
	for _, v := range template.GetSpec().GetVolumes() {
		claim, ephemeral := v.GetPersistentVolumeClaim(), v.GetEphemeral()
		of := &stowagev1.PersistentVolumeClaim{
			Namespace: namespace, Name: claim.GetClaimName(), Spec: cmp.Or(claim.GetClaimTemplate(), ephemeral.GetClaimTemplate()),
		}
		switch {
		case claim == nil && ephemeral == nil:
			continue
		case !namesClaims(v):
		case p.GetName() == "":
			of.Name = ""
		case ephemeral != nil:
			of.Name = p.GetName() + "-" + ephemeral.GetVolumeName()
		default:
			of.Name += "-" + p.GetName()
		}
		out = append(out, of)
	}
	return out
}
