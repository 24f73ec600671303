package kube

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// nodeSet is the nodes, and the pods on them.
type nodeSet struct {
	objects   []*corev1.Node
	converted []*stowagev1.Node
	index     map[string]int
	residents map[int][]resident // by node
	closed    map[string]bool    // nodes that reject pods
	fresh     []*corev1.Node     // nodes that do not exist yet
	templates []nodeTemplate
}

// nodeTemplate is a template of nodes to add, whose DaemonSets' pods are not known until everything is added.
type nodeTemplate struct {
	node *corev1.Node
	out  *stowagev1.NodeTemplate
}

func newNodeSet() nodeSet {
	return nodeSet{index: map[string]int{}, residents: map[int][]resident{}, closed: map[string]bool{}}
}

// AddNode adds a node.
func (b *Builder) AddNode(n *corev1.Node) error {
	origin := Origin{Kind: "Node", Name: n.Name}
	if err := b.objects.once(origin); err != nil {
		return err
	}
	out, err := convert.Node(n)
	if err != nil {
		out = convert.Bare(out)
	}
	b.nodes.index[n.Name] = len(b.nodes.objects)
	b.nodes.objects, b.nodes.converted = append(b.nodes.objects, n), append(b.nodes.converted, out)
	b.objects.places.PutNode(out, n, b.objects.at)
	return b.objects.misread(origin, false, err)
}

// AddNewNode adds a node that does not exist yet, as it is once it is ready. It has the pods of the existing DaemonSets. The pods of
// DaemonSets without a uid are in the queue, as for other nodes.
func (b *Builder) AddNewNode(n *corev1.Node) error {
	err := b.AddNode(n)
	b.nodes.fresh = append(b.nodes.fresh, n)
	return err
}

// close closes the nodes with pods whose amounts are not known.
func (s *nodeSet) close() {
	for name := range s.closed {
		if i, ok := s.index[name]; ok {
			convert.Close(s.converted[i])
		}
	}
}

// bringDaemons puts the pods of DaemonSets on new nodes.
func (b *Builder) bringDaemons() error {
	for _, n := range b.nodes.fresh {
		for _, ds := range b.workloads.daemonSets {
			if !object.Admitted(ds) {
				continue
			}
			p, err := controller.DaemonPod(ds, n)
			if err != nil {
				return err
			}
			if p == nil {
				continue
			}
			if err := b.room.take(controller.Stamp{Pod: p, Count: 1}); err != nil {
				return err
			}
			b.objects.at = "DaemonSet " + object.Namespace(ds) + "/" + ds.Name
			if err := b.addRunning(p); err != nil && !errors.As(err, new(*Misread)) {
				return err
			}
		}
	}
	return nil
}

// AddNodeTemplate adds a template of nodes to add: a node as it is once it is ready. Its annotations have its price. It comes with
// the pods of all DaemonSets, existing or not.
func (b *Builder) AddNodeTemplate(n *corev1.Node) error {
	if err := b.objects.once(Origin{Kind: "node template", Name: n.Name}); err != nil {
		return err
	}
	out, err := convert.NodeTemplate(n)
	if err != nil {
		return err
	}
	b.objects.place(out, "")
	b.objects.places.PutNode(out.Node, n, b.objects.at)
	b.nodes.templates = append(b.nodes.templates, nodeTemplate{n, out})
	return nil
}

// nodeTemplates returns the templates with the pods of DaemonSets. share makes pods refer to the cluster's templates.
func (b *Builder) nodeTemplates(to *Snapshot, share func(...*stowagev1.Pod) error) ([]*stowagev1.NodeTemplate, error) {
	var out []*stowagev1.NodeTemplate
	for _, t := range b.nodes.templates {
		b.storeTemplate(t, to)
		b.equipTemplate(t, to)
		for _, ds := range b.workloads.daemonSets {
			stamps, err := controller.DaemonPods(ds, []*corev1.Node{t.node})
			if err != nil {
				return nil, err
			}
			for _, s := range stamps {
				p := s.Pod
				p.Spec.Affinity.NodeAffinity = nil // which names the node
				p.Spec.NodeName = t.node.Name
				running := b.environment.RunningPod(p)
				if err := running.Err(); err != nil {
					return nil, fmt.Errorf("DaemonSet %s/%s: %w", object.Namespace(ds), ds.Name, err)
				}
				if err := share(running.Pod); err != nil {
					return nil, err
				}
				t.out.Node.Pods = append(t.out.Node.Pods, running.Pod)
			}
		}
		out = append(out, t.out)
	}
	return out, nil
}

// HomelessPod is a pod on a node that is not in the cluster.
type HomelessPod struct {
	Namespace, Name string
	Node            string
	// Stays is why the pod is not in the queue, empty if it is.
	Stays string
}

// podSet is the pods with a node, which may not be in the cluster.
type podSet struct {
	running   []runningPod
	nominated []nomination
}

// runningPod is a pod on a node, which may not be in the cluster.
type runningPod struct {
	node   string
	at     string
	source convert.Source
	pod    *stowagev1.Pod
	// misread is why the pod does not convert.
	misread *Misread
	// stays is why the pod is not placed again if its node is gone.
	stays string
	// before is the length of the queue when the pod was added.
	before int
}

// nomination is a pending pod with a nominated node, which may not be in the cluster.
type nomination struct {
	at     string
	object Origin
	pod    *corev1.Pod
	// misread is why the pod does not convert as a pending one.
	misread *Misread
}

// AddPod adds a pod to its node, or to the queue if it has none. Like kube-scheduler, it leaves out pods that have ended,
// which occupy nothing, and does not queue pending pods that are being deleted. A pending pod with a nominated node is
// also a nominated pod of that node, if the cluster has it.
func (b *Builder) AddPod(p *corev1.Pod) error {
	b.workloads.pod(p)
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	if p.Name != "" {
		if err := b.objects.once(object.Of("Pod", p)); err != nil {
			return err
		}
	}
	if p.Spec.NodeName != "" {
		return b.addRunning(p)
	}
	origin := object.Of("Pod", p)
	var err error
	if p.DeletionTimestamp == nil {
		if p.Name == "" {
			origin.Name = b.objects.generatedName(origin.Namespace, p.GenerateName)
		}
		err = b.misreadPods(origin, 1, b.enqueue(origin, convert.SpecPath, controller.Stamp{Pod: p, Count: 1, Named: p.Name != ""}))
	}
	if p.Name != "" && p.Status.NominatedNodeName != "" {
		n := nomination{at: b.objects.at, object: origin, pod: p}
		errors.As(err, &n.misread)
		b.pods.nominated = append(b.pods.nominated, n)
	}
	return err
}

// addRunning adds a pod on a node.
func (b *Builder) addRunning(p *corev1.Pod) error {
	converted := new(convert.Environment).RunningPod(p)
	out, err := converted.Pod, converted.Err()
	if converted.Amounts != nil {
		b.nodes.closed[p.Spec.NodeName] = true
	}
	r := runningPod{
		node: p.Spec.NodeName, at: b.objects.at,
		source: convert.Source{Object: object.Of("Pod", p), Path: convert.SpecPath, Pod: p, Named: p.Name != ""},
		pod:    out, stays: StaysGone(p), before: len(b.queue.slots),
	}
	b.objects.place(out, "")
	err = b.objects.misread(r.source.Object, false, err)
	errors.As(err, &r.misread)
	b.pods.running = append(b.pods.running, r)
	return err
}

// StaysGone returns why a pod is not placed again once its node is gone. Pods on other nodes are deleted
// (pkg/controller/podgc/gc_controller.go gcOrphaned, v1.37) and created again: the reason is empty.
func StaysGone(p *corev1.Pod) string {
	_, daemon := object.OfDaemonSet(p)
	switch {
	case p.DeletionTimestamp != nil:
		return "it is being deleted"
	case object.MadeByKubelet(p):
		return "the kubelet of its node made it"
	case daemon:
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
	for _, r := range b.pods.running {
		if i, ok := b.nodes.index[r.node]; ok {
			b.onNode(i, r)
			continue
		}
		o := r.source.Object
		out = append(out, HomelessPod{Namespace: o.Namespace, Name: o.Name, Node: r.node, Stays: r.stays})
		if r.misread != nil {
			r.misread.OwnPods = true // it occupies nothing
		}
		if r.stays != "" {
			continue
		}
		unbound := *r.source.Pod
		unbound.Spec.NodeName, unbound.Status.NominatedNodeName = "", ""
		r.source.Pod = &unbound
		again, err := new(convert.Environment).PendingPod(r.source)
		if err != nil {
			if r.misread == nil {
				r.misread = b.objects.note(r.at, o, true, err)
			}
			e := waits(o, 1, err, r.misread)
			e.Gone = r.node
			b.queue.waiting = append(b.queue.waiting, e)
			continue
		}
		queue = append(queue, b.queue.slots[taken:r.before]...)
		taken = r.before
		free := b.newSlot(r.source, r.at, again, 1)
		free.gone = r.node
		queue = append(queue, free)
	}
	b.queue.slots = append(queue, b.queue.slots[taken:]...)
	return out
}

// setUnread sets the volumes of pods on nodes, and their unread fields, which are the fields of their replacements. Pods that return only
// to their own node, such as pods of DaemonSets, are never placed.
func (b *Builder) setUnread() {
	for node, residents := range b.nodes.residents {
		for i, r := range residents {
			if p := b.nodes.converted[node].Pods[i]; r.stays || b.options.CountPods {
				b.environment.SetClaims(p, r.source)
			} else {
				b.environment.SetUnread(p, r.source)
			}
		}
	}
}

// lacksDaemonSet reports whether the DaemonSet of a pod does not exist. That is not known if no DaemonSets were added, as manifests
// may lack all of them.
func (b *Builder) lacksDaemonSet(p *corev1.Pod) bool {
	name, ok := object.OfDaemonSet(p)
	return ok && !object.MadeByKubelet(p) && len(b.workloads.daemonSets) > 0 &&
		!slices.ContainsFunc(b.workloads.daemonSets, func(ds *appsv1.DaemonSet) bool {
			return ds.Name == name && object.Namespace(ds) == object.Namespace(p)
		})
}

// onNode puts a pod on a node.
func (b *Builder) onNode(node int, r runningPod) {
	if b.environment.Concern(r.source.Pod) {
		again := b.environment.RunningPod(r.source.Pod)
		replace(r.pod, again.Pod)
		if again.Amounts != nil {
			b.nodes.closed[r.node] = true
		}
	}
	if b.lacksDaemonSet(r.source.Pod) {
		r.pod.GetTemplate().GetController().Gone = true
	}
	b.nodes.converted[node].Pods = append(b.nodes.converted[node].Pods, r.pod)
	b.nodes.residents[node] = append(b.nodes.residents[node], resident{r.source, r.stays != ""})
	if group := r.source.PodGroup(); group != "" {
		b.groups.running[group]++
	}
	b.environment.AddRunning(r.source)
}

// nominate puts the nominated pods on the nodes that the cluster has. kube-scheduler counts pending pods that are being
// deleted, too (pkg/scheduler/backend/queue/nominator.go, v1.37).
func (b *Builder) nominate() {
	for _, n := range b.pods.nominated {
		name := n.pod.Status.NominatedNodeName
		i, known := b.nodes.index[name]
		if !known {
			continue
		}
		if _, rejected := b.environment.Stored(n.pod); rejected != nil {
			continue // there will be no such pod
		}
		converted := b.environment.RunningPod(n.pod)
		if err := converted.Err(); err != nil {
			if n.misread == nil {
				n.misread = b.objects.note(n.at, n.object, false, err)
			}
			n.misread.OwnPods = false // it counts for others
		}
		if converted.Amounts != nil {
			b.nodes.closed[name] = true
		}
		b.objects.places[converted.Pod] = convert.Place{At: n.at}
		b.nodes.converted[i].NominatedPods = append(b.nodes.converted[i].NominatedPods, converted.Pod)
	}
}
