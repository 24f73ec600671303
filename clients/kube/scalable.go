package kube

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/suggest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Scalable is a workload whose number of replicas can be changed.
type Scalable struct {
	Origin
	// Selector selects its pods.
	Selector *stowagev1.LabelSelector
	// Pod is a pod that the workload would create.
	Pod *stowagev1.Pod
	// Controller is the object that decides the number of replicas; nil if there is none.
	Controller *Origin
	// Controlled says that the controller was added, too.
	Controlled bool

	facts facts
}

// scalable records a workload that can be scaled.
func (b *Builder) scalable(origin Origin, object metav1.Object, selector *stowagev1.LabelSelector, s stamp) error {
	if selector == nil {
		b.unselected = append(b.unselected, origin)
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
	for i := range b.scalables {
		w := &b.scalables[i]
		w.Controlled = w.Controller != nil && b.seen[w.Controller.Kind+" "+w.Controller.Namespace+"/"+w.Controller.Name]
	}
	return slices.DeleteFunc(b.scalables, func(w Scalable) bool {
		return b.options.Namespace != "" && w.Namespace != b.options.Namespace
	})
}

// Scalable returns the workload of a name, "name" or "namespace/name", or the only one if the name is empty. Workloads whose
// controller was added count if no other one has the name.
func (s *Snapshot) Scalable(name string) (*Scalable, error) {
	var found, controlled []*Scalable
	var all []string
	for i := range s.Scalables {
		w := &s.Scalables[i]
		full := w.fullName()
		if !slices.Contains(all, full) && !w.Controlled {
			all = append(all, full)
		}
		switch named := w.named(name); {
		case w.Controlled && named:
			controlled = append(controlled, w)
		case !w.Controlled && (named || name == ""):
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		found = controlled
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("there are several workloads, name one of %s", strings.Join(argumentsOf(found), ", "))
	case len(all) > 0:
		return nil, fmt.Errorf("there is no workload %q, only %s%s", name, strings.Join(all, ", "), s.otherScalable(name))
	case len(s.unselected) > 0:
		return nil, fmt.Errorf("%s has no spec.selector, which tells its pods", s.unselected[0])
	}
	return nil, fmt.Errorf("there is no Deployment, ReplicaSet, ReplicationController or StatefulSet")
}

func (w *Scalable) fullName() string { return w.Namespace + "/" + w.Name }

// named reports whether a workload has a name of the form [NAMESPACE/][KIND/]NAME.
func (w *Scalable) named(name string) bool {
	if name == w.Name || name == w.fullName() {
		return true
	}
	rest, found := strings.CutSuffix(strings.TrimPrefix(name, w.Namespace+"/"), "/"+w.Name)
	return found && NamesKind(rest, w.Kind)
}

// argumentsOf returns the names that distinguish workloads, with kinds where workloads of several kinds have a name.
func argumentsOf(all []*Scalable) []string {
	count := map[string]int{}
	for _, w := range all {
		count[w.fullName()]++
	}
	var out []string
	for _, w := range all {
		if count[w.fullName()] > 1 {
			out = append(out, w.Argument())
		} else {
			out = append(out, w.fullName())
		}
	}
	return out
}

// otherScalable suggests a workload for a name that none has.
func (s *Snapshot) otherScalable(name string) string {
	return suggest.DidYouMean(name[strings.LastIndexByte(name, '/')+1:], func(yield func(string) bool) {
		for i := range s.Scalables {
			if !yield(s.Scalables[i].Name) {
				return
			}
		}
	})
}

// ScaleDownRequest returns a request for the pods of a workload to delete so that the given number of replicas remains.
func (s *Snapshot) ScaleDownRequest(w *Scalable, replicas uint32) *stowagev1.ScaleDownRequest {
	return &stowagev1.ScaleDownRequest{
		Context: s.context(), Pod: w.Pod, Selector: w.Selector, Replicas: new(replicas),
	}
}
