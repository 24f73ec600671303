package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// AddDaemonSet adds a pod for each node for which the DaemonSet controller would create one, if the DaemonSet has no uid.
// The nodes are all nodes of the Builder, in whatever order they are added.
func (b *Builder) AddDaemonSet(ds *appsv1.DaemonSet) error {
	if err := b.once("DaemonSet", namespaceOf(ds), ds.Name); err != nil {
		return err
	}
	b.keepDaemonSet(ds)
	if b.exists("DaemonSet", ds, nil, ds.Spec.Selector) {
		return nil
	}
	// Whether the template converts does not depend on the nodes, so its errors belong to this object.
	origin := Origin{Kind: "DaemonSet", Namespace: namespaceOf(ds), Name: ds.Name}
	template := factsOf(origin, templateSpec, stamp{pod: &corev1.Pod{Spec: ds.Spec.Template.Spec}})
	if _, err := (&admission{}).pendingPod(template); err != nil {
		return b.misreadPods(origin, 1, err)
	}
	b.queue = append(b.queue, slot{
		origin:    origin,
		at:        b.at,
		daemonSet: ds.DeepCopy(),
	})
	return nil
}

// daemonPods returns the pods that the DaemonSet controller would create (pkg/controller/daemon/daemon_controller.go,
// v1.37). Each can only go to its node, and tolerates the taints that evict other pods.
func daemonPods(ds *appsv1.DaemonSet, nodes []*corev1.Node) ([]stamp, error) {
	hash, err := templateHash(&ds.Spec.Template)
	if err != nil {
		return nil, err
	}
	template := ds.Spec.Template.DeepCopy()
	template.Spec.Tolerations = daemonTolerations(&template.Spec)
	wanted := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: template.Spec})
	o := owner{"apps/v1", "DaemonSet", ds.Name, namespaceOf(ds)}
	var out []stamp
	for _, n := range nodes {
		if name := template.Spec.NodeName; name != "" && name != n.Name {
			continue
		}
		// The controller ignores errors in an affinity: an invalid term matches nothing.
		if match, _ := wanted.Match(n); !match {
			continue
		}
		if _, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, template.Spec.Tolerations,
			func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false); refused {
			continue
		}
		p := o.pod(template, ds.Name+"-"+n.Name, map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash})
		pinTo(p, n.Name)
		out = append(out, stamp{pod: p, count: 1})
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

// daemonTolerations returns a pod's tolerations with those that the controller adds. The controller replaces a toleration
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
	stamps, err := daemonPods(ds, []*corev1.Node{n})
	if err != nil || len(stamps) == 0 {
		return nil, err
	}
	p := stamps[0].pod
	p.Spec.NodeName = n.Name
	return p, nil
}
