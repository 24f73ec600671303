package kube

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/suggest"
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

	source convert.Source
}

// scalable records a workload that can be scaled.
func (b *Builder) scalable(origin Origin, o metav1.Object, selector *stowagev1.LabelSelector, s controller.Stamp) error {
	if selector == nil {
		b.workloads.unselected = append(b.workloads.unselected, origin)
		return nil
	}
	of := convert.Source{Object: origin, Path: convert.TemplateSpecPath, Pod: s.Pod, Claims: s.Claims}
	converted, err := new(convert.Environment).PendingPod(of)
	if err != nil {
		return err
	}
	w := Scalable{Origin: origin, Selector: selector, Pod: converted, source: of}
	if c := metav1.GetControllerOfNoCopy(o); c != nil {
		w.Controller = &Origin{Kind: c.Kind, Namespace: origin.Namespace, Name: c.Name}
	}
	b.objects.place(converted, "spec.template")
	b.objects.place(selector, "spec.selector")
	b.workloads.scalables = append(b.workloads.scalables, w)
	return nil
}

// scaled returns the workloads that can be scaled, once everything is added.
func (b *Builder) scaled() []Scalable {
	for i := range b.workloads.scalables {
		w := &b.workloads.scalables[i]
		w.Controlled = w.Controller != nil && b.objects.seen[*w.Controller]
	}
	return slices.DeleteFunc(b.workloads.scalables, func(w Scalable) bool {
		return b.options.Namespace != "" && w.Namespace != b.options.Namespace
	})
}

// Scalable returns the workload of a name, "name" or "namespace/name", or the only one if the name is empty. Workloads whose
// controller was added count if no other one has the name.
func (s *Snapshot) Scalable(name string) (*Scalable, error) {
	var found, controlled []*Scalable
	var all, names []string
	for i := range s.Scalables {
		w := &s.Scalables[i]
		full := w.fullName()
		names = append(names, w.Name)
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
		return nil, fmt.Errorf("there is no workload %q, only %s%s", name, strings.Join(all, ", "),
			suggest.DidYouMean(name[strings.LastIndexByte(name, '/')+1:], slices.Values(names)))
	case len(s.added.unselected) > 0:
		return nil, fmt.Errorf("%s has no spec.selector, which tells its pods", s.added.unselected[0])
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
	return found && object.NamesKind(rest, w.Kind)
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

// ScaleDownRequest returns a request for the pods of a workload to delete so that the given number of replicas remains.
func (s *Snapshot) ScaleDownRequest(w *Scalable, replicas uint32) *stowagev1.ScaleDownRequest {
	return &stowagev1.ScaleDownRequest{
		Context: s.context(), Pod: w.Pod, Selector: w.Selector, Replicas: new(replicas),
	}
}
