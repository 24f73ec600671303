package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// DaemonPods returns the pods that the DaemonSet controller would create (pkg/controller/daemon/daemon_controller.go,
// v1.37). Each can only go to its node, and tolerates the taints that evict other pods.
func DaemonPods(ds *appsv1.DaemonSet, nodes []*corev1.Node) ([]Stamp, error) {
	hash, err := TemplateHash(&ds.Spec.Template)
	if err != nil {
		return nil, err
	}
	template := ds.Spec.Template.DeepCopy()
	template.Spec.Tolerations = daemonTolerations(&template.Spec)
	o := Owner{"apps/v1", "DaemonSet", ds.Name, object.Namespace(ds)}
	var out []Stamp
	for _, n := range nodes {
		if name := template.Spec.NodeName; name != "" && name != n.Name {
			continue
		}
		if !admits(&template.Spec, n) {
			continue
		}
		if skew.Untolerated(n.Spec.Taints, template.Spec.Tolerations) {
			continue
		}
		p := o.Pod(template, ds.Name+"-"+n.Name, map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash})
		pinTo(p, n.Name)
		out = append(out, Stamp{Pod: p, Count: 1})
	}
	return out, nil
}

// pinTo replaces the pod's required node affinity by one for the node.
func pinTo(p *corev1.Pod, node string) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
		}}}},
	}
}

// PinnedNode returns the only node that the node affinity of a DaemonSet's pod allows, empty if it allows others.
func PinnedNode(p *corev1.Pod) string {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) != 1 || len(terms[0].MatchFields[0].Values) != 1 {
		return ""
	}
	return terms[0].MatchFields[0].Values[0]
}

// daemonTolerations returns a pod's tolerations and the ones that the controller adds. The controller replaces a toleration
// that differs only in fields that it leaves open.
func daemonTolerations(s *corev1.PodSpec) []corev1.Toleration {
	added := []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	if s.HostNetwork {
		added = append(added, corev1.Toleration{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
	}
	out := append([]corev1.Toleration(nil), s.Tolerations...)
	for _, t := range added {
		t.Operator = corev1.TolerationOpExists
		found := false
		for i := range out {
			if t.MatchToleration(&out[i]) {
				out[i], found = t, true
			}
		}
		if !found {
			out = append(out, t)
		}
	}
	return out
}

// DaemonPod returns the pod that the DaemonSet controller would create for a node, with the node in its spec.nodeName; nil for
// none.
func DaemonPod(ds *appsv1.DaemonSet, n *corev1.Node) (*corev1.Pod, error) {
	stamps, err := DaemonPods(ds, []*corev1.Node{n})
	if err != nil || len(stamps) == 0 {
		return nil, err
	}
	p := stamps[0].Pod
	p.Spec.NodeName = n.Name
	return p, nil
}
