package kube

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// HomelessPod is a pod on a node that is not in the cluster.
type HomelessPod struct {
	Namespace, Name string
	Node            string
	// Stays is why the pod is not in the queue, empty if it is.
	Stays string
}

// runningPod is a pod on a node, which may not be in the cluster.
type runningPod struct {
	node  string
	at    string
	facts facts
	pod   *stowagev1.Pod
	// misread is why the pod does not convert.
	misread *Misread
	// stays is why the pod is not placed again if its node is gone.
	stays string
	// before is the length of the queue when the pod was added.
	before int
}

// addRunning adds a pod on a node.
func (b *Builder) addRunning(p *corev1.Pod) error {
	converted := (&admission{}).running(p)
	out, err := converted.Pod, converted.err()
	if converted.Amounts != nil {
		b.closed[p.Spec.NodeName] = true
	}
	r := runningPod{
		node: p.Spec.NodeName, at: b.at, facts: factsOf(Origin{Kind: "Pod", Namespace: namespaceOf(p), Name: p.Name}, specPath, stamp{pod: p, count: 1}),
		pod: out, stays: StaysGone(p), before: len(b.queue),
	}
	b.places[out] = place{at: b.at}
	err = b.misread(r.facts.object, false, err)
	errors.As(err, &r.misread)
	b.running = append(b.running, r)
	return err
}

// StaysGone returns why a pod is not placed again once its node is gone. Pods on other nodes are deleted
// (pkg/controller/podgc/gc_controller.go gcOrphaned, v1.37) and created again. It is empty for a pod that is.
func StaysGone(p *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(p)
	switch {
	case p.DeletionTimestamp != nil:
		return "it is being deleted"
	case MadeByKubelet(p):
		return "the kubelet of its node made it"
	case owner != nil && owner.APIVersion == "apps/v1" && owner.Kind == "DaemonSet":
		return "its DaemonSet made it for its node"
	}
	return ""
}

// settle puts the pods on their nodes. Pods whose node is not in the cluster are queued at the position where they were
// added, and returned.
func (b *Builder) settle() []HomelessPod {
	var out []HomelessPod
	var queue []slot
	taken := 0
	for _, r := range b.running {
		if i, ok := b.nodeIndex[r.node]; ok {
			b.onNode(i, r)
			continue
		}
		o := r.facts.object
		out = append(out, HomelessPod{Namespace: o.Namespace, Name: o.Name, Node: r.node, Stays: r.stays})
		if r.misread != nil {
			r.misread.OwnPods = true // it occupies nothing
		}
		if r.stays != "" {
			continue
		}
		free := *r.facts.stamp.pod
		free.Spec.NodeName, free.Status.NominatedNodeName = "", ""
		r.facts.stamp.pod = &free
		again, err := (&admission{}).pendingPod(r.facts)
		if err != nil {
			if r.misread == nil {
				r.misread = b.note(r.at, o, true, err)
			}
			e := waits(o, 1, err, r.misread)
			e.Gone = r.node
			b.waiting = append(b.waiting, e)
			continue
		}
		queue = append(queue, b.queue[taken:r.before]...)
		taken = r.before
		pods := &stowagev1.PendingPods{Pod: again, Count: new(uint32(1)), PodGroup: r.facts.group}
		b.places[pods], b.places[again] = place{at: r.at}, place{at: r.at}
		queue = append(queue, slot{origin: o, at: r.at, pods: pods, gone: r.node, facts: r.facts})
	}
	b.queue = append(queue, b.queue[taken:]...)
	return out
}

// unreadOnNodes sets the unread fields of pods on nodes: those of the pod that replaces each of them. Pods that return to their own
// node only, as those of DaemonSets, are never placed.
func (b *Builder) unreadOnNodes() {
	if b.options.CountPods {
		return
	}
	for node, residents := range b.residents {
		for i, r := range residents {
			if r.stays {
				continue
			}
			stored, err := b.admission.stored(r.facts.stamp.pod)
			if err != nil {
				stored = r.facts.stamp.pod
			}
			p := b.converted[node].Pods[i]
			p.Unread = b.admission.unreadIn(r.facts, stored, r.spec)
			b.around.complete(p, r.facts)
		}
	}
}

// lacksDaemonSet reports whether the DaemonSet of a pod does not exist. That is not known if no DaemonSets were added, as manifests
// may lack all of them.
func (b *Builder) lacksDaemonSet(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.APIVersion == "apps/v1" && owner.Kind == "DaemonSet" && !MadeByKubelet(p) && len(b.daemonSets) > 0 &&
		!slices.ContainsFunc(b.daemonSets, func(ds *appsv1.DaemonSet) bool {
			return ds.Name == owner.Name && namespaceOf(ds) == namespaceOf(p)
		})
}

// onNode puts a pod on a node.
func (b *Builder) onNode(node int, r runningPod) {
	if p := r.facts.stamp.pod; !admitted(p) && b.admission.concerns(p) {
		again := b.admission.running(p)
		replace(r.pod, again.Pod)
		if again.Amounts != nil {
			b.closed[r.node] = true
		}
	}
	if b.lacksDaemonSet(r.facts.stamp.pod) {
		r.pod.GetTemplate().GetController().Gone = true
	}
	b.converted[node].Pods = append(b.converted[node].Pods, r.pod)
	b.residents[node] = append(b.residents[node], resident{r.facts, r.pod.GetTemplate().GetSpec(), r.stays != ""})
	if r.facts.group != "" {
		b.runningIn[r.facts.group]++
	}
	if s := &r.facts.stamp.pod.Spec; !admitted(r.facts.stamp.pod) && s.RuntimeClassName != nil && *s.RuntimeClassName != "" &&
		b.admission.runtimeClass(s) == nil {
		b.around.occupiesMore(r.facts.object, "spec.runtimeClassName")
	}
}
