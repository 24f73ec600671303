package scenario

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// After is a case in which a scenario has happened.
type After struct {
	*Case
	// Returned are the evicted pods that come back. They are the last entries of the queue, but for the unknown ones.
	Returned []Returned
	// Before are the nodes' names behind the delta, and before the removal of nodes; Index are the indexes there of those left.
	Before []string
	Index  []uint32
	// Counted is how it was made.
	Counted Counted

	added map[string]bool // names of the delta's pods
}

// Unknown says whether the request does not specify what the controller of a pod creates.
func (a *After) Unknown(p *corev1.Pod) bool { return a.added[PodName(p)] }

// Returned is an entry of evicted pods.
type Returned struct {
	Pod     *corev1.Pod // the first one, as it was
	Count   int
	Counted bool
	// Unknown says that only the pods themselves, which the delta added, say what comes back.
	Unknown bool
	kind    int
}

// Counted returns how a pod of a node is counted instead of named: the kind of pods that are counted together, in the order of
// kinds, and false for a pod with a name.
type Counted func(*corev1.Pod) (kind int, counted bool)

// Named is Counted where every pod has its name.
func Named(*corev1.Pod) (int, bool) { return 0, false }

// After changes the objects as what happens in the scenario does.
func (c *Case) After(w *WhatIf, counted Counted) *After {
	out := *c
	a := &After{Case: &out, Counted: counted, added: map[string]bool{}}
	out.WhatIf, out.Queue = nil, nil
	a.apply(&w.Delta)
	a.Nodes = Cordon(a.Nodes, w.Cordoned)
	evicted, entries := a.evicted(w.Evictions, counted)
	if w.Requeue {
		a.comeBack(entries)
	}
	a.evict(evicted, w.Terminating)
	a.remove(w.Removed)
	a.enqueue(c, w)
	return a
}

func (a *After) apply(d *Delta) {
	a.Nodes = slices.DeleteFunc(slices.Clone(a.Nodes), func(n *corev1.Node) bool { return slices.Contains(d.RemovedNodes, n.Name) })
	a.Pods = slices.DeleteFunc(slices.Clone(a.Pods), func(p *corev1.Pod) bool {
		return slices.Contains(d.RemovedNodes, p.Spec.NodeName) || slices.Contains(d.RemovedPods, PodName(p))
	})
	for _, n := range d.Nodes {
		if i := slices.IndexFunc(a.Nodes, func(o *corev1.Node) bool { return o.Name == n.Name }); i >= 0 {
			a.Nodes[i] = n
			continue
		}
		a.Nodes = append(a.Nodes, n)
	}
	a.Namespaces = changed(a.Namespaces, d.RemovedNamespaces, d.Namespaces)
	a.Services = changed(a.Services, d.RemovedServices, d.Services)
	a.PodDisruptionBudgets = changed(a.PodDisruptionBudgets, d.RemovedBudgets, d.Budgets)
	for _, p := range d.Pods {
		a.Pods = append(a.Pods, p)
		a.added[PodName(p)] = true
	}
}

// Cordon returns nodes after what kubectl cordon and the node lifecycle controller do to some of them.
func Cordon(nodes []*corev1.Node, names []string) []*corev1.Node {
	nodes = slices.Clone(nodes)
	for i, n := range nodes {
		if !slices.Contains(names, n.Name) {
			continue
		}
		n = n.DeepCopy()
		n.Spec.Unschedulable = true
		tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeUnschedulable && t.Effect == corev1.TaintEffectNoSchedule
		})
		if !tainted {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
		nodes[i] = n
	}
	return nodes
}

// Stays reports whether kubectl drain leaves a pod, and no controller creates it on another node.
func Stays(p *corev1.Pod) bool {
	o := metav1.GetControllerOfNoCopy(p)
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || o != nil && o.APIVersion == "apps/v1" && o.Kind == "DaemonSet"
}

// Returns reports whether the controller of a pod creates it again, on whatever node. A Node creates no pods.
func Returns(p *corev1.Pod) bool {
	o := metav1.GetControllerOfNoCopy(p)
	return p.DeletionTimestamp == nil && o != nil && !Stays(p) && (o.APIVersion != "v1" || o.Kind != "Node")
}

// Canonically compares pods in the order of their canonical encodings, which begin with the length of the name.
func Canonically(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

// evicted returns the pods, and the entries of their replacements.
func (a *After) evicted(of []Evictions, counted Counted) (all []*corev1.Pod, entries []Returned) {
	for _, e := range of {
		var pods []*corev1.Pod
		if e.Drained {
			for _, p := range a.Pods {
				if p.Spec.NodeName == e.Node && !Stays(p) {
					pods = append(pods, p)
				}
			}
			slices.SortStableFunc(pods, Canonically)
		}
		for _, name := range e.Pods {
			i := slices.IndexFunc(a.Pods, func(p *corev1.Pod) bool { return PodName(p) == name && p.Spec.NodeName == e.Node })
			if i >= 0 {
				pods = append(pods, a.Pods[i])
			}
		}
		all = append(all, pods...)
		var named, counts []Returned
		byKind := map[int]int{}
		for _, p := range pods {
			kind, together := counted(p)
			if !together {
				named = append(named, Returned{Pod: p, Count: 1})
				continue
			}
			if _, known := byKind[kind]; !known {
				byKind[kind] = len(counts)
				counts = append(counts, Returned{Pod: p, Counted: true, kind: kind})
			}
			counts[byKind[kind]].Count++
		}
		if e.Drained {
			slices.SortFunc(counts, func(a, b Returned) int { return cmp.Compare(a.kind, b.kind) })
			entries = slices.Concat(entries, counts, named)
		} else {
			entries = slices.Concat(entries, named, counts)
		}
	}
	return all, entries
}

// comeBack decides what the pods' controllers create.
func (a *After) comeBack(entries []Returned) {
	var unknown []Returned
	for _, r := range entries {
		switch {
		case !Returns(r.Pod):
		case a.Unknown(r.Pod):
			r.Unknown = true
			unknown = append(unknown, r)
		default:
			a.Returned = append(a.Returned, r)
		}
	}
	a.Returned = append(a.Returned, unknown...)
}

// deleted is when evicted pods got their deletion timestamp.
var deleted = metav1.Time{Time: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}

// Terminating returns a pod after its eviction, with the condition that the API server gives it
// (pkg/registry/core/pod/storage/eviction.go addConditionAndDeletePod, v1.37).
func Terminating(p *corev1.Pod) *corev1.Pod {
	if p.DeletionTimestamp == nil {
		p = p.DeepCopy()
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = deleted.DeepCopy(), new(int64(30))
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget
		})
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
		})
	}
	return p
}

func (a *After) evict(pods []*corev1.Pod, terminating bool) {
	var left []*corev1.Pod
	for _, p := range a.Pods {
		if slices.Contains(pods, p) {
			if !terminating {
				continue
			}
			p = Terminating(p)
		}
		left = append(left, p)
	}
	a.Pods = left
}

func (a *After) remove(names []string) {
	var left []*corev1.Node
	for i, n := range a.Nodes {
		a.Before = append(a.Before, n.Name)
		if !slices.Contains(names, n.Name) {
			left = append(left, n)
			a.Index = append(a.Index, uint32(i))
		}
	}
	a.Nodes = left
	a.Pods = slices.DeleteFunc(a.Pods, func(p *corev1.Pod) bool { return slices.Contains(names, p.Spec.NodeName) })
}

// Again returns the replacement that the controller of a pod creates.
func Again(p *corev1.Pod, suffix string) *corev1.Pod {
	again := &corev1.Pod{ObjectMeta: *p.ObjectMeta.DeepCopy(), Spec: *p.Spec.DeepCopy()}
	again.Name += "-" + suffix
	again.Spec.NodeName = ""
	return again
}

// enqueue makes the queue. Pods of the case's queue that are not in the scenario's stay nominated.
func (a *After) enqueue(c *Case, w *WhatIf) {
	a.Nominated = slices.Clone(c.Nominated)
	var queue []*corev1.Pod
	for _, q := range c.Queue {
		queue = append(queue, q.Pod)
	}
	twins := Twins(queue, c.Nominated)
	for i, p := range queue {
		if p.Status.NominatedNodeName != "" && p.Spec.NodeName == "" && !twins[i] && !slices.Contains(w.Queue, i) {
			a.Nominated = append(a.Nominated, p)
		}
	}
	for _, i := range w.Queue {
		a.Queue = append(a.Queue, c.Queue[i])
	}
	for _, r := range a.Returned {
		if r.Unknown {
			continue
		}
		a.Queue = append(a.Queue, Pending{Pod: Again(r.Pod, "again"), Count: r.Count})
	}
}
