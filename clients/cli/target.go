package cli

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
)

// target is an object that an argument names.
type target struct {
	kube.Origin        // Namespace is empty if none is given
	text        string // the argument
}

// targetKinds are the kinds of Kubernetes that arguments name.
var targetKinds = []string{"Pod", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Job", "CronJob"}

// parseTarget reads "kind/name" or "namespace/kind/name". The kind may have its API group, as kubectl prints it:
// "deployment.apps/x". With a snapshot, the kind may be one of its objects', and is not needed where one object has the name.
func parseTarget(text, namespace string, snapshot *kube.Snapshot) (target, error) {
	out := target{text: text}
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
	for _, kind := range targetKinds {
		if kube.NamesKind(parts[0], kind) {
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

func (t *target) unknownKind(word string) error {
	return fmt.Errorf("%q: there is no kind %q with pods, only pod, deploy, sts, rs, rc, ds, job and cronjob", t.text, word)
}

// named finds the kind of a target that is only a name: that of the only object that has it.
func (t target) named(snapshot *kube.Snapshot) (target, error) {
	var found []kube.Origin
	for o := range objectsOf(snapshot) {
		if t.Kind = o.Kind; t.is(o) && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return t, fmt.Errorf("there is no pod or workload %q%s", t.text, kube.DidYouMean(t.text, objectsOf(snapshot)))
	}
	for _, o := range found {
		if o.Kind != found[0].Kind {
			return t, fmt.Errorf("there are several objects %q, name one of %s", t.text, words.Names(arguments(found)))
		}
	}
	t.Kind = found[0].Kind // choose tells namespaces apart
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
	for o := range objectsOf(snapshot) {
		if o.Namespace == name {
			return true
		}
	}
	return false
}

// objectsOf iterates over the pods of a snapshot, pending ones and those on nodes, and over their workloads. It may yield an object
// several times.
func objectsOf(snapshot *kube.Snapshot) iter.Seq[kube.Origin] {
	return func(yield func(kube.Origin) bool) {
		stopped := func(o kube.Origin) bool { return !yield(o) }
		for _, e := range pendingOf(snapshot) {
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
	for o := range objectsOf(snapshot) {
		if kube.NamesKind(word, o.Kind) {
			return o.Kind
		}
	}
	return ""
}

// pendingOf returns all pending pods.
func pendingOf(snapshot *kube.Snapshot) []kube.Entry {
	return slices.Concat(snapshot.Queue, snapshot.Waiting, snapshot.Others)
}

// is reports whether a target is an object.
func (t *target) is(o kube.Origin) bool {
	return t.Kind == o.Kind && t.Name == o.Name && (t.Namespace == "" || t.Namespace == o.Namespace)
}

// running returns the pod on a node that a target names.
func (t *target) running(snapshot *kube.Snapshot) (kube.OnNode, error) {
	var found []kube.OnNode
	var where []string
	for p := range snapshot.OnNodes() {
		if t.is(p.Object) {
			found, where = append(found, p), append(where, p.Object.Namespace+"/pod/"+p.Object.Name)
		}
	}
	switch {
	case t.Kind != "Pod":
		return kube.OnNode{}, fmt.Errorf("%q is not a pod", t.text)
	case len(found) == 0:
		return kube.OnNode{}, fmt.Errorf("there is no pod %q on a node%s", t.text, t.didYouMean(snapshot))
	case len(found) > 1:
		return kube.OnNode{}, fmt.Errorf("there are several pods %q on nodes, name one of %s", t.text, words.Names(where))
	}
	return found[0], nil
}

// chosen is a pod that a target chooses: a pending one, or one on a node.
type chosen struct {
	*target
	// pending are the entries of the target's pending pods with one spec. The first pod is the chosen one.
	pending []kube.Entry
	// specs says that the target has pending pods with other specs.
	specs bool
	on    kube.OnNode
}

// name is that of the pod. Of a workload whose pods have one spec it is that of the object that creates them.
func (c *chosen) name() string {
	switch {
	case len(c.pending) == 0:
		return c.on.Object.Name
	case c.specs || c.Kind == "Pod":
		return cmp.Or(c.pending[0].Pods.Pod.Name, c.pending[0].Origin.Name)
	}
	return c.pending[0].Origin.Name
}

// namespace is that of the pod.
func (c *chosen) namespace() string {
	if len(c.pending) == 0 {
		return c.on.Object.Namespace
	}
	return c.pending[0].Origin.Namespace
}

// heading says which pod an answer is about.
func (c *chosen) heading() string {
	text := c.namespace() + "/" + c.name()
	switch alike := podCount(c.pending); {
	case alike > 1 && c.specs:
		text += fmt.Sprintf(", the first of %d pending pods of %s with its spec", alike, c.text)
	case alike > 1:
		text += fmt.Sprintf(", the first of %d pending pods of %s", alike, c.text)
	case c.specs:
		text += ", of " + c.text
	}
	return text + ":"
}

// sameAnswer tells pending pods of a target apart: the spec, and why kube-scheduler does not queue them.
type sameAnswer struct{ spec, message string }

// choose returns the first pending pod of each spec of a target, or else its first pod on a node.
func (t *target) choose(snapshot *kube.Snapshot) ([]*chosen, error) {
	var out []*chosen
	var namespaces []string
	within := func(namespace string) {
		if !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	var misread error
	index := map[sameAnswer]*chosen{}
	for _, e := range pendingOf(snapshot) {
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
			index[key] = &chosen{target: t}
			out = append(out, index[key])
		}
		index[key].pending = append(index[key].pending, e)
	}
	for _, c := range out {
		c.specs = len(out) > 1
	}
	var placed *chosen
	for p := range snapshot.OnNodes() {
		if !slices.ContainsFunc(snapshot.Owners(p.Pod), t.is) {
			continue
		}
		within(p.Object.Namespace)
		if placed == nil {
			placed = &chosen{target: t, on: p}
		}
	}
	switch {
	case len(namespaces) > 1:
		return nil, fmt.Errorf("%q is in several namespaces, name one of %s", t.text, words.Names(namespaces))
	case len(out) > 0:
		return out, nil
	case misread != nil:
		return nil, misread
	case placed != nil:
		return []*chosen{placed}, nil
	case t.Kind == "Pod":
		return nil, fmt.Errorf("there is no pod %q%s", t.text, t.didYouMean(snapshot))
	}
	return nil, fmt.Errorf("there is no pod of %q%s", t.text, t.didYouMean(snapshot))
}

// didYouMean suggests another object for a target that has no pod; nothing if the target exists.
func (t *target) didYouMean(snapshot *kube.Snapshot) string {
	for o := range objectsOf(snapshot) {
		if t.is(o) {
			return ""
		}
	}
	return kube.DidYouMean(t.text, objectsOf(snapshot))
}
