package kube

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Scalable is a workload whose number of replicas can be changed: one that no other added workload controls.
type Scalable struct {
	Origin
	// Selector selects its pods.
	Selector *stowagev1.LabelSelector
	// Pod is a pod that the workload would create.
	Pod *stowagev1.Pod
	// Controller is the object outside the snapshot that decides the number of replicas; nil if there is none.
	Controller *Origin

	facts facts
}

// scalable records a workload that can be scaled.
func (b *Builder) scalable(origin Origin, object metav1.Object, selector *stowagev1.LabelSelector, s stamp) error {
	if selector == nil {
		return nil
	}
	f := factsOf(origin, templateSpec, s)
	converted, err := (&admission{}).pendingPod(f)
	if err != nil {
		return err
	}
	w := Scalable{Origin: origin, Selector: selector, Pod: converted, facts: f}
	if c := metav1.GetControllerOfNoCopy(object); c != nil {
		w.Controller = &Origin{Kind: c.Kind, Namespace: origin.Namespace, Name: c.Name}
	}
	b.places[converted] = place{at: b.at, path: "spec.template"}
	b.places[selector] = place{at: b.at, path: "spec.selector"}
	b.scalables = append(b.scalables, w)
	return nil
}

// scaled returns the workloads that can be scaled, once everything is added.
func (b *Builder) scaled() []Scalable {
	return slices.DeleteFunc(b.scalables, func(w Scalable) bool {
		return w.Controller != nil && b.seen[w.Controller.Kind+" "+w.Controller.Namespace+"/"+w.Controller.Name]
	})
}

// Scalable returns the workload of a name, "name" or "namespace/name", or the only one if the name is empty.
func (s *Snapshot) Scalable(name string) (*Scalable, error) {
	var found []*Scalable
	var all []string
	for i := range s.Scalables {
		w := &s.Scalables[i]
		full := w.Namespace + "/" + w.Name
		if !slices.Contains(all, full) {
			all = append(all, full)
		}
		if name == "" || name == full || name == w.Name {
			found = append(found, w)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("there are several workloads, name one of %s", strings.Join(all, ", "))
	case len(all) > 0:
		return nil, fmt.Errorf("there is no workload %q, only %s", name, strings.Join(all, ", "))
	}
	return nil, fmt.Errorf("there is no Deployment, ReplicaSet, ReplicationController or StatefulSet")
}

// ScaleDownRequest returns a request for the pods of a workload to delete so that the given number of replicas remains.
func (s *Snapshot) ScaleDownRequest(w *Scalable, replicas uint32) *stowagev1.ScaleDownRequest {
	return &stowagev1.ScaleDownRequest{
		Context: s.context(), Pod: w.Pod, Selector: w.Selector, Replicas: new(replicas),
	}
}
