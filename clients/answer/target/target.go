// Package target resolves what arguments name: pods and workloads of a snapshot.
package target

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// Target is an object that an argument names.
type Target struct {
	kube.Origin        // Namespace is empty if none is given
	Text        string // the argument
}

// Kinds are the kinds of Kubernetes that arguments name.
var Kinds = []string{"Pod", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Job", "CronJob"}

// Parse reads "kind/name" or "namespace/kind/name". The kind may have its API group, as kubectl prints it:
// "deployment.apps/x". With a snapshot, the kind may be one of its objects', and is not needed where one object has the name.
func Parse(text, namespace string, snapshot *kube.Snapshot) (Target, error) {
	out := Target{Text: text}
	out.Namespace = namespace
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		if namespace != "" && namespace != parts[0] {
			return out, fmt.Errorf("%q is not in the namespace of --namespace", text)
		}
		out.Namespace, parts = parts[0], parts[1:]
	}
	if len(parts) > 2 || slices.Contains(parts, "") || len(parts) == 1 && snapshot == nil {
		return out, fmt.Errorf("%q is not KIND/NAME or NAMESPACE/KIND/NAME, such as deploy/web or shop/pod/web-1", text)
	}
	out.Name = parts[len(parts)-1]
	if len(parts) == 1 {
		return out.named(snapshot)
	}
	for _, kind := range Kinds {
		if object.NamesKind(parts[0], kind) {
			out.Kind = kind
			return out, nil
		}
	}
	if snapshot == nil {
		return out, out.unknownKind(parts[0])
	}
	if out.Kind = customKind(snapshot, parts[0]); out.Kind != "" {
		return out, nil
	}
	if namespace == "" && out.Namespace == "" && hasNamespace(snapshot, parts[0]) {
		out.Namespace = parts[0]
		return out.named(snapshot)
	}
	return out, out.unknownKind(parts[0])
}

func (t *Target) unknownKind(word string) error {
	return fmt.Errorf("%q: there is no kind %q with pods, only pod, deploy, sts, rs, rc, ds, job and cronjob", t.Text, word)
}

// named finds the kind of a target that is only a name: the kind of the only object with the name.
func (t Target) named(snapshot *kube.Snapshot) (Target, error) {
	var found []kube.Origin
	for o := range Objects(snapshot) {
		if t.Kind = o.Kind; t.is(o) && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return t, fmt.Errorf("there is no pod or workload %q%s", t.Text, object.DidYouMean(t.Text, Objects(snapshot)))
	}
	for _, o := range found {
		if o.Kind != found[0].Kind {
			return t, fmt.Errorf("there are several objects %q, name one of %s", t.Text, words.Names(arguments(found)))
		}
	}
	t.Kind = found[0].Kind // Choose distinguishes namespaces
	return t, nil
}

// arguments are objects as arguments name them.
func arguments(all []kube.Origin) []string {
	var out []string
	for _, o := range all {
		out = append(out, o.Argument())
	}
	return out
}

func hasNamespace(snapshot *kube.Snapshot, name string) bool {
	for o := range Objects(snapshot) {
		if o.Namespace == name {
			return true
		}
	}
	return false
}

// Objects iterates over the pods of a snapshot, pending ones and those on nodes, and over their workloads. It may yield an object
// several times.
func Objects(snapshot *kube.Snapshot) iter.Seq[kube.Origin] {
	return func(yield func(kube.Origin) bool) {
		stopped := func(o kube.Origin) bool { return !yield(o) }
		for _, e := range pending(snapshot) {
			exists := e.Origin.Kind == "Pod" // else its pods and ReplicaSets are yet to be created
			if exists && e.Of(stopped) || !exists && (stopped(e.Origin) || stopped(e.Workload)) {
				return
			}
		}
		for p := range snapshot.OnNodes() {
			if slices.ContainsFunc(snapshot.Owners(p.Pod), stopped) {
				return
			}
		}
		_ = slices.ContainsFunc(snapshot.Existing, stopped)
	}
}

// customKind returns the kind of a workload of a snapshot that a word names, empty if there is none.
func customKind(snapshot *kube.Snapshot, word string) string {
	for o := range Objects(snapshot) {
		if object.NamesKind(word, o.Kind) {
			return o.Kind
		}
	}
	return ""
}

// pending returns all pending pods.
func pending(snapshot *kube.Snapshot) []kube.Entry {
	return slices.Concat(snapshot.Queue, snapshot.Waiting, snapshot.Others)
}

// is reports whether a target is an object.
func (t *Target) is(o kube.Origin) bool {
	return t.Kind == o.Kind && t.Name == o.Name && (t.Namespace == "" || t.Namespace == o.Namespace)
}

// Running returns the pod on a node that a target names.
func (t *Target) Running(snapshot *kube.Snapshot) (kube.OnNode, error) {
	var found []kube.OnNode
	var where []string
	for p := range snapshot.OnNodes() {
		if t.is(p.Object) {
			found, where = append(found, p), append(where, p.Object.Namespace+"/pod/"+p.Object.Name)
		}
	}
	switch {
	case t.Kind != "Pod":
		return kube.OnNode{}, fmt.Errorf("%q is not a pod", t.Text)
	case len(found) == 0:
		return kube.OnNode{}, fmt.Errorf("there is no pod %q on a node%s", t.Text, t.didYouMean(snapshot))
	case len(found) > 1:
		return kube.OnNode{}, fmt.Errorf("there are several pods %q on nodes, name one of %s", t.Text, words.Names(where))
	}
	return found[0], nil
}

// Chosen is a pod that a target names: a pending one, or one on a node.
type Chosen struct {
	*Target
	// Pending are the entries of the target's pending pods with one spec. The first pod is the chosen one.
	Pending []kube.Entry
	// Specs says that the target has pending pods with other specs.
	Specs bool
	// On is the pod on a node, where no pod is pending.
	On kube.OnNode
}

// PodName is the name of the pod. Pods of a workload with one spec have the name of the object that creates them.
func (c *Chosen) PodName() string {
	switch {
	case len(c.Pending) == 0:
		return c.On.Object.Name
	case c.Specs || c.Kind == "Pod":
		return cmp.Or(c.Pending[0].Pods.Pod.Name, c.Pending[0].Origin.Name)
	}
	return c.Pending[0].Origin.Name
}

// PodNamespace is the namespace of the pod.
func (c *Chosen) PodNamespace() string {
	if len(c.Pending) == 0 {
		return c.On.Object.Namespace
	}
	return c.Pending[0].Origin.Namespace
}

// Count is the number of pending pods with the spec of the chosen one.
func (c *Chosen) Count() int { return Count(c.Pending) }

// Count returns the number of pods of entries.
func Count(entries []kube.Entry) int {
	n := 0
	for _, e := range entries {
		n += int(e.Pods.PodCount())
	}
	return n
}

// Pending returns the pending pods that a name of kube.Snapshot.Pending chooses.
func Pending(snapshot *kube.Snapshot, name string) (*Chosen, error) {
	entries, err := snapshot.Pending(name)
	if err != nil {
		return nil, err
	}
	if entries[0].Misread != nil {
		return nil, entries[0].Misread
	}
	return &Chosen{Target: &Target{Origin: entries[0].Origin, Text: name}, Pending: entries}, nil
}

// Heading says which pod an answer is about.
func (c *Chosen) Heading() string {
	text := c.PodNamespace() + "/" + c.PodName()
	switch alike := c.Count(); {
	case alike > 1 && c.Specs:
		text += fmt.Sprintf(", the first of %d pending pods of %s with its spec", alike, c.Text)
	case alike > 1:
		text += fmt.Sprintf(", the first of %d pending pods of %s", alike, c.Text)
	case c.Specs:
		text += ", of " + c.Text
	}
	return text + ":"
}

// sameAnswer is a key of pending pods of a target: their spec, and why kube-scheduler does not queue them.
type sameAnswer struct{ spec, message string }

// Choose returns the first pending pod of each spec of a target, or else its first pod on a node.
func (t *Target) Choose(snapshot *kube.Snapshot) ([]*Chosen, error) {
	var out []*Chosen
	var namespaces []string
	within := func(namespace string) {
		if !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	var misread error
	index := map[sameAnswer]*Chosen{}
	for _, e := range pending(snapshot) {
		if !e.Of(t.is) {
			continue
		}
		within(e.Origin.Namespace)
		if e.Misread != nil { // it is named as not understood
			if misread == nil {
				misread = e.Misread
			}
			continue
		}
		key := sameAnswer{snapshot.SpecOf(e), e.Message}
		if index[key] == nil {
			index[key] = &Chosen{Target: t}
			out = append(out, index[key])
		}
		index[key].Pending = append(index[key].Pending, e)
	}
	for _, c := range out {
		c.Specs = len(out) > 1
	}
	var placed *Chosen
	for p := range snapshot.OnNodes() {
		if !slices.ContainsFunc(snapshot.Owners(p.Pod), t.is) {
			continue
		}
		within(p.Object.Namespace)
		if placed == nil {
			placed = &Chosen{Target: t, On: p}
		}
	}
	switch {
	case len(namespaces) > 1:
		return nil, fmt.Errorf("%q is in several namespaces, name one of %s", t.Text, words.Names(namespaces))
	case len(out) > 0:
		return out, nil
	case misread != nil:
		return nil, misread
	case placed != nil:
		return []*Chosen{placed}, nil
	case t.Kind == "Pod":
		return nil, fmt.Errorf("there is no pod %q%s", t.Text, t.didYouMean(snapshot))
	}
	return nil, fmt.Errorf("there is no pod of %q%s", t.Text, t.didYouMean(snapshot))
}

// didYouMean suggests another object for a target that has no pod; nothing if the target exists.
func (t *Target) didYouMean(snapshot *kube.Snapshot) string {
	for o := range Objects(snapshot) {
		if t.is(o) {
			return ""
		}
	}
	return object.DidYouMean(t.Text, Objects(snapshot))
}
