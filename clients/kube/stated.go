package kube

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Stated is pods with one spec, and the object that states it.
type Stated struct {
	// Origin is the workload of the pods. It is the first pod where there is no controller, or one whose template is not known.
	Origin
	// At is the object as From named it. It is empty where a controller's pods were added, and not what the controller states.
	At string
	// Path is the path of the pods' spec in the object.
	Path *field.Path
	// Pod is the first of the pods, as the API server would store it. It must not be changed.
	Pod *corev1.Pod
	// Count is the number of the pods.
	Count int
	// Pending says that they are pending.
	Pending bool
}

// templated are the kinds of controllers whose pods have the spec of spec.template.
var templated = map[string]bool{
	"apps/v1 ReplicaSet": true, "apps/v1 StatefulSet": true, "apps/v1 DaemonSet": true, "v1 ReplicationController": true,
	"batch/v1 Job": true,
}

// StatingObject returns the object that states the spec of a pod that was added: its controller, or the Deployment of that. A pod
// without a controller states its own, and so does one whose controller is of another kind.
func (s *Snapshot) StatingObject(p *corev1.Pod) Origin {
	of := metav1.GetControllerOfNoCopy(p)
	if of == nil || !templated[of.APIVersion+" "+of.Kind] {
		return podOrigin(p)
	}
	if w := s.WorkloadOf(p); of.Kind == "ReplicaSet" && w.Kind == "Deployment" {
		return w
	}
	return Origin{Kind: of.Kind, Namespace: namespaceOf(p), Name: of.Name}
}

// statedBy says which object states the spec of a pod that was added as a Pod.
func (s *Snapshot) statedBy(p *corev1.Pod, at string) Stated {
	out := Stated{Origin: s.StatingObject(p), Path: specPath, Pod: s.stored(p), Count: 1}
	if out.Kind == "Pod" {
		out.At = at
	} else {
		out.Path = templateSpec
	}
	return out
}

// stored returns a pod as the API server would store it, or as it is if the API server would reject it.
func (s *Snapshot) stored(p *corev1.Pod) *corev1.Pod {
	if s.admission == nil {
		return p
	}
	if out, err := s.admission.stored(p); err == nil {
		return out
	}
	return p
}

// StatedBy returns what states the pods of an entry. It is not ok for pods that do not convert.
func (s *Snapshot) StatedBy(e Entry) (_ Stated, ok bool) {
	f, ok := s.facts[e.Pods]
	if !ok || e.Misread != nil {
		return Stated{}, false
	}
	at := s.places[e.Pods].at
	out := s.statedBy(f.stamp.pod, at)
	if f.object.Kind != "Pod" {
		out.Origin, out.Path, out.At = f.object, f.path, at
	}
	out.Count, out.Pending = int(e.Pods.PodCount()), true
	return out, true
}

// StatedBy returns what states the pods that the workload would create.
func (w *Scalable) StatedBy(s *Snapshot) Stated {
	return Stated{Origin: w.Origin, At: s.places[w.Pod].at, Path: w.facts.path, Pod: s.stored(w.facts.stamp.pod), Pending: true}
}

// statedOnce collects what states pods, once for each workload and template. Pods without a workload are one if they are equal.
type statedOnce struct {
	all   []Stated
	index map[statedKey]int
}

type statedKey struct {
	Origin
	template uint32
}

func (c *statedOnce) add(workload Origin, template uint32, count int, by func() (Stated, bool)) {
	if workload.Kind == "Pod" {
		workload.Name = ""
	}
	key := statedKey{workload, template}
	if at, known := c.index[key]; known {
		c.all[at].Count += count
		return
	}
	s, ok := by()
	if !ok {
		return
	}
	if c.index == nil {
		c.index = map[statedKey]int{}
	}
	c.index[key], s.Count = len(c.all), count
	c.all = append(c.all, s)
}

// StatedOnNodes returns what states the pods on nodes, once for each workload and template, in the order of nodes. Pods that a
// kubelet made are left out.
func (s *Snapshot) StatedOnNodes() ([]Stated, error) {
	var out statedOnce
	for i := range s.Cluster.Nodes {
		pods, err := s.PodsOn(i)
		if err != nil {
			return nil, err
		}
		for p, converted := range pods {
			if !MadeByKubelet(p) {
				by := func() (Stated, bool) { return s.statedBy(p, s.places[converted].at), true }
				out.add(s.StatingObject(p), converted.GetTemplateIndex(), 1, by)
			}
		}
	}
	return out.all, nil
}

// StatedPending returns what states the pods of the queue and of those that wait, once for each workload and template, in that
// order. What states the new pods of rollouts comes last, and stands for their old ones.
func (s *Snapshot) StatedPending() []Stated {
	var out statedOnce
	for _, e := range slices.Concat(s.Queue, s.Waiting) {
		if slices.ContainsFunc(s.Rollouts, func(r Rollout) bool { return e.Of(r.is) }) {
			continue
		}
		workload := e.Origin
		if f, ok := s.facts[e.Pods]; ok && workload.Kind == "Pod" {
			workload = s.StatingObject(f.stamp.pod)
		}
		by := func() (Stated, bool) { return s.StatedBy(e) }
		out.add(workload, e.Pods.GetPod().GetTemplateIndex(), int(e.Pods.PodCount()), by)
	}
	for _, r := range s.Rollouts {
		if r.New == nil {
			continue
		}
		out.all = append(out.all, Stated{
			Origin: r.Origin, At: r.At, Path: templateSpec, Pod: s.stored(r.New), Count: r.Replicas, Pending: true,
		})
	}
	return out.all
}

// MadeByKubelet reports whether the kubelet of its node made a pod, so that kube-scheduler does not decide about it.
func MadeByKubelet(p *corev1.Pod) bool {
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

// PendingPods iterates over the pods that are not on a node, those of other schedulers among them, with their number. Those that
// do not convert are left out.
func (s *Snapshot) PendingPods() iter.Seq2[*corev1.Pod, int] {
	return func(yield func(*corev1.Pod, int) bool) {
		for _, entries := range [][]Entry{s.Queue, s.Waiting, s.Others} {
			for _, e := range entries {
				f, ok := s.facts[e.Pods]
				if ok && !yield(f.stamp.pod, int(e.Pods.PodCount())) {
					return
				}
			}
		}
	}
}

// Example returns a pod that the workload would create.
func (w *Scalable) Example() *corev1.Pod { return w.facts.stamp.pod }

// NodeObjects returns the nodes of the cluster that were added. They must not be changed.
func (s *Snapshot) NodeObjects() []*corev1.Node { return s.nodes }

// StatedBudget is a PodDisruptionBudget that was added. It must not be changed.
type StatedBudget struct {
	Origin
	// At is the object as From named it.
	At     string
	Spec   *policyv1.PodDisruptionBudgetSpec
	Status *policyv1.PodDisruptionBudgetStatus
}

// StatedBudgets returns the PodDisruptionBudgets that were added.
func (s *Snapshot) StatedBudgets() []StatedBudget { return s.budgets }

// enqueued records what the entries of the queue are made of.
func (b *Builder) enqueued() map[*stowagev1.PendingPods]facts {
	out := make(map[*stowagev1.PendingPods]facts, len(b.queue))
	for _, s := range b.queue {
		out[s.pods] = s.facts
	}
	return out
}
