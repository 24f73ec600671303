package kube

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// PodSource is pods with one spec, and the object that contains it.
type PodSource struct {
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
		return object.OfPod(p)
	}
	if w := s.WorkloadOf(p); of.Kind == "ReplicaSet" && w.Kind == "Deployment" {
		return w
	}
	return Origin{Kind: of.Kind, Namespace: object.Namespace(p), Name: of.Name}
}

// sourceOf says which object states the spec of a pod that was added as a Pod.
func (s *Snapshot) sourceOf(p *corev1.Pod, at string) PodSource {
	out := PodSource{Origin: s.StatingObject(p), Path: convert.SpecPath, Pod: s.environment.StoredOrGiven(p), Count: 1}
	if out.Kind == "Pod" {
		out.At = at
	} else {
		out.Path = convert.TemplateSpecPath
	}
	return out
}

// SourceOf returns what states the pods of an entry. It is not ok for pods that do not convert.
func (s *Snapshot) SourceOf(e Entry) (_ PodSource, ok bool) {
	f, ok := s.added.sources[e.Pods]
	if !ok || e.Misread != nil {
		return PodSource{}, false
	}
	at := s.places[e.Pods].At
	out := s.sourceOf(f.Pod, at)
	if f.Object.Kind != "Pod" {
		out.Origin, out.Path, out.At = f.Object, f.Path, at
	}
	out.Count, out.Pending = int(e.Pods.PodCount()), true
	return out, true
}

// SourceOf returns what states the pods that the workload would create.
func (w *Scalable) SourceOf(s *Snapshot) PodSource {
	return PodSource{Origin: w.Origin, At: s.places[w.Pod].At, Path: w.source.Path, Pod: s.environment.StoredOrGiven(w.source.Pod), Pending: true}
}

// statedOnce collects what states pods, once for each workload and template. Pods without a workload are one if they are equal.
type statedOnce struct {
	all   []PodSource
	index map[statedKey]int
}

type statedKey struct {
	Origin
	template uint32
}

func (c *statedOnce) add(workload Origin, template uint32, count int, by func() (PodSource, bool)) {
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
	c.index[key], s.Count = len(c.all), count
	c.all = append(c.all, s)
}

// SourcesOnNodes returns what states the pods on nodes, once for each workload and template, in the order of nodes. Pods that a
// kubelet made are left out.
func (s *Snapshot) SourcesOnNodes() ([]PodSource, error) {
	out := statedOnce{index: map[statedKey]int{}}
	for i := range s.Cluster.Nodes {
		pods, err := s.PodsOn(i)
		if err != nil {
			return nil, err
		}
		for p, converted := range pods {
			if !object.MadeByKubelet(p) {
				by := func() (PodSource, bool) { return s.sourceOf(p, s.places[converted].At), true }
				out.add(s.StatingObject(p), converted.GetTemplateIndex(), 1, by)
			}
		}
	}
	return out.all, nil
}

// PendingSources returns what states the queued and the waiting pods, once for each workload and template, in that order. What
// states the new pods of rollouts comes last, and stands for their old ones.
func (s *Snapshot) PendingSources() []PodSource {
	out := statedOnce{index: map[statedKey]int{}}
	for _, e := range slices.Concat(s.Queue, s.Waiting) {
		if e.Of(func(o Origin) bool { return s.Rollout(o) != nil }) {
			continue
		}
		workload := e.Origin
		if f, ok := s.added.sources[e.Pods]; ok && workload.Kind == "Pod" {
			workload = s.StatingObject(f.Pod)
		}
		by := func() (PodSource, bool) { return s.SourceOf(e) }
		out.add(workload, e.Pods.GetPod().GetTemplateIndex(), int(e.Pods.PodCount()), by)
	}
	for _, r := range s.Rollouts {
		if r.New == nil {
			continue
		}
		out.all = append(out.all, PodSource{
			Origin: r.Origin, At: r.At, Path: convert.TemplateSpecPath, Pod: s.environment.StoredOrGiven(r.New), Count: r.Replicas, Pending: true,
		})
	}
	return out.all
}

// PendingPods iterates over the pods that are not on a node, other schedulers' among them, with their number, except pods
// that do not convert.
func (s *Snapshot) PendingPods() iter.Seq2[*corev1.Pod, int] {
	return func(yield func(*corev1.Pod, int) bool) {
		for _, entries := range [][]Entry{s.Queue, s.Waiting, s.Others} {
			for _, e := range entries {
				f, ok := s.added.sources[e.Pods]
				if ok && !yield(f.Pod, int(e.Pods.PodCount())) {
					return
				}
			}
		}
	}
}

// Example returns a pod that the workload would create.
func (w *Scalable) Example() *corev1.Pod { return w.source.Pod }
