package kube

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Undecided is a change of a workload that a snapshot does not contain: its pods are as they were.
type Undecided struct {
	Origin
	// At is the object with the change, as From named it.
	At string
	// Message says what would change.
	Message string
}

func (u *Undecided) String() string { return u.At + ": " + u.Message }

// change is a workload of a cluster before and after a change.
type change struct {
	origin        Origin
	at            string
	before, after metav1.Object
	// leaves says which pods leave, nil if none or if it is not known which.
	leaves func(*corev1.Pod) bool
}

// Before states what the object was that is added next, with the same uid. The pods of a workload are those that were added and,
// if its number of replicas grows, the new ones.
func (b *Builder) Before(o metav1.Object) { b.before = o }

// changed records a workload with a change, and returns it as it was before.
func (b *Builder) changed(origin Origin, after metav1.Object) metav1.Object {
	before := b.before
	if before == nil || before.GetUID() != after.GetUID() {
		return after
	}
	b.changes = append(b.changes, change{origin: origin, at: b.at, before: before, after: after})
	return before
}

// Leaver is a pod on a node that leaves, as its workload is to have fewer replicas.
type Leaver struct {
	Workload  Origin
	Pod, Node string
}

// takeAway takes the pods away that leave their nodes, and decides which leave the queue, once everything is added.
func (b *Builder) takeAway() {
	for i := range b.changes {
		c := &b.changes[i]
		if c.leaves = b.leaving(c); c.leaves != nil {
			b.running = slices.DeleteFunc(b.running, func(r runningPod) bool {
				p := r.facts.stamp.pod
				leaves := c.leaves(p)
				if leaves {
					b.leavers = append(b.leavers, Leaver{c.origin, p.Name, r.node})
				}
				return leaves
			})
			b.nominated = slices.DeleteFunc(b.nominated, func(n nomination) bool { return c.leaves(n.pod) })
		}
	}
}

// leaving returns which pods of a workload with fewer replicas leave, nil if that is not known.
func (b *Builder) leaving(c *change) func(*corev1.Pod) bool {
	var was, is int32
	owned := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, c.after) }
	some := func(n int) func(*corev1.Pod) bool { return b.firstToLeave(owned, n) }
	none := func(int) func(*corev1.Pod) bool { return nil }
	switch after := c.after.(type) {
	case *appsv1.Deployment:
		before := c.before.(*appsv1.Deployment)
		was, is = replicasOf(before.Spec.Replicas), replicasOf(after.Spec.Replicas)
		selector, err := metav1.LabelSelectorAsSelector(after.Spec.Selector)
		if err != nil {
			return nil
		}
		owned = func(p *corev1.Pod) bool {
			of := metav1.GetControllerOfNoCopy(p)
			return of != nil && of.Kind == "ReplicaSet" && namespaceOf(p) == c.origin.Namespace && selector.Matches(labels.Set(p.Labels))
		}
		if edited(&before.Spec.Template, &after.Spec.Template) && !after.Spec.Paused {
			some = none // the rollout begins with it
		}
	case *appsv1.ReplicaSet:
		was, is = replicasOf(c.before.(*appsv1.ReplicaSet).Spec.Replicas), replicasOf(after.Spec.Replicas)
		if metav1.GetControllerOfNoCopy(after) != nil {
			return nil
		}
	case *corev1.ReplicationController:
		was, is = replicasOf(c.before.(*corev1.ReplicationController).Spec.Replicas), replicasOf(after.Spec.Replicas)
	case *appsv1.StatefulSet:
		was, is = replicasOf(c.before.(*appsv1.StatefulSet).Spec.Replicas), replicasOf(after.Spec.Replicas)
		if edited(&c.before.(*appsv1.StatefulSet).Spec.Template, &after.Spec.Template) {
			return nil
		}
		some = func(n int) func(*corev1.Pod) bool { return highestOrdinals(owned, after, n) }
	case *batchv1.Job:
		was, is, some = jobPods(c.before.(*batchv1.Job)), jobPods(after), none
	}
	switch {
	case is >= was:
		return nil
	case is == 0:
		return owned
	}
	return some(int(is))
}

// highestOrdinals returns which pods of a StatefulSet leave so that n remain.
func highestOrdinals(owned func(*corev1.Pod) bool, of *appsv1.StatefulSet, n int) func(*corev1.Pod) bool {
	if of.Spec.Ordinals != nil {
		n += int(of.Spec.Ordinals.Start)
	}
	return func(p *corev1.Pod) bool { return owned(p) && Ordinal(p) >= n }
}

// Ordinal returns the ordinal of a StatefulSet's pod by its name, -1 if the name has none.
func Ordinal(p *corev1.Pod) int {
	n, err := strconv.Atoi(p.Name[strings.LastIndex(p.Name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

// firstToLeave returns which pods a ReplicaSet deletes so that n remain. It is nil if there are no pods, or those of several
// ReplicaSets, whose Deployment scales all of them.
func (b *Builder) firstToLeave(owned func(*corev1.Pod) bool, n int) func(*corev1.Pod) bool {
	var pods []*corev1.Pod
	for p := range b.addedPods() {
		if !owned(p) || !isActive(p) {
			continue
		}
		if len(pods) > 0 && metav1.GetControllerOfNoCopy(p).Name != metav1.GetControllerOfNoCopy(pods[0]).Name {
			return nil
		}
		pods = append(pods, p)
	}
	if len(pods) == 0 {
		return nil
	}
	leave := map[string]bool{}
	for _, p := range DeletionOrder(pods, pods, Newest(pods))[:max(0, len(pods)-n)] {
		leave[p.Name] = true
	}
	return func(p *corev1.Pod) bool { return leave[p.Name] && owned(p) }
}

// addedPods iterates over the pods that were added. Those of nodes that were not have no node.
func (b *Builder) addedPods() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, r := range b.running {
			p := r.facts.stamp.pod
			if _, known := b.nodeIndex[r.node]; !known {
				free := *p
				free.Spec.NodeName = ""
				p = &free
			}
			if !yield(p) {
				return
			}
		}
		for _, s := range b.queue {
			if s.daemonSet == nil && s.origin.Kind == "Pod" && !yield(s.facts.stamp.pod) {
				return
			}
		}
	}
}

// makeChanges queues the pods that changed workloads create, once everything is added.
func (b *Builder) makeChanges() {
	for _, c := range b.changes {
		b.at = c.at
		if c.leaves != nil {
			b.queue = slices.DeleteFunc(b.queue, func(s slot) bool { return c.leaves(s.facts.stamp.pod) })
			continue
		}
		message, err := b.change(c)
		if message != "" {
			b.undecided = append(b.undecided, Undecided{c.origin, c.at, message})
		}
		_ = b.misreadPods(c.origin, 1, err)
	}
}

// change queues the pods that one changed workload creates. message is what it leaves out.
func (b *Builder) change(c change) (message string, err error) {
	switch after := c.after.(type) {
	case *appsv1.Deployment:
		before := c.before.(*appsv1.Deployment)
		if edited(&before.Spec.Template, &after.Spec.Template) && !after.Spec.Paused {
			return b.rollout(c, before, after), nil
		}
		n, message := grown(before.Spec.Replicas, after.Spec.Replicas)
		if n == 0 {
			return message, nil
		}
		o, template, ok := b.revision(before)
		if !ok {
			return fmt.Sprintf("%d more replicas are not placed: there are pods of several revisions, and no ReplicaSet that tells "+
				"the current one", n), nil
		}
		return "", b.enqueue(c.origin, templateSpec, stamp{pod: o.pod(template, after.Name, nil), count: n})
	case *appsv1.ReplicaSet:
		before := c.before.(*appsv1.ReplicaSet)
		n, message := grown(before.Spec.Replicas, after.Spec.Replicas)
		if of := metav1.GetControllerOfNoCopy(after); of != nil && (n > 0 || message != "") {
			return fmt.Sprintf("its replicas stay: %s %s decides them", of.Kind, of.Name), nil
		}
		o := owner{"apps/v1", "ReplicaSet", after.Name, c.origin.Namespace}
		return message, b.enqueue(c.origin, templateSpec, stamp{pod: o.pod(&after.Spec.Template, after.Name, nil), count: n})
	case *corev1.ReplicationController:
		n, message := grown(c.before.(*corev1.ReplicationController).Spec.Replicas, after.Spec.Replicas)
		if n == 0 || after.Spec.Template == nil {
			return message, nil
		}
		o := owner{"v1", "ReplicationController", after.Name, c.origin.Namespace}
		return message, b.enqueue(c.origin, templateSpec, stamp{pod: o.pod(after.Spec.Template, after.Name, nil), count: n})
	case *appsv1.StatefulSet:
		before := c.before.(*appsv1.StatefulSet)
		revision := after.Status.UpdateRevision
		if edited(&before.Spec.Template, &after.Spec.Template) {
			if revision = ""; after.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
				return b.rolloutOfStatefulSet(c, before, after), nil
			}
		}
		n, message := grown(before.Spec.Replicas, after.Spec.Replicas)
		if edited(&before.Spec.Template, &after.Spec.Template) {
			b.onDelete = append(b.onDelete, c.origin)
		}
		if n == 0 {
			return message, nil
		}
		stamps, err := statefulPods(after, revision, int(replicasOf(before.Spec.Replicas)))
		if err != nil {
			return "", err
		}
		return message, b.enqueue(c.origin, templateSpec, stamps...)
	case *appsv1.DaemonSet:
		before := c.before.(*appsv1.DaemonSet)
		switch {
		case !edited(&before.Spec.Template, &after.Spec.Template):
		case after.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
			b.onDelete = append(b.onDelete, c.origin)
		default:
			return b.rolloutOfDaemonSet(c, before, after), nil
		}
	case *batchv1.Job:
		return b.changeJob(c, c.before.(*batchv1.Job), after)
	case *CustomWorkload:
		return changedParts(c.before.(*CustomWorkload), after), nil
	}
	return "", nil
}

// changeJob queues the pods that a Job creates once it may run more of them at a time.
func (b *Builder) changeJob(c change, before, after *batchv1.Job) (message string, err error) {
	was, is := jobPods(before), jobPods(after)
	n, message := grown(&was, &is)
	switch {
	case n == 0:
		return message, nil
	case edited(&before.Spec.Template, &after.Spec.Template) && was > 0:
		return "its template stays: the API server does not change that of a Job that runs", nil
	case was+after.Status.Succeeded > 0 && after.Spec.CompletionMode != nil &&
		*after.Spec.CompletionMode == batchv1.IndexedCompletion:
		return fmt.Sprintf("%d more pods are not placed: which indexes are left is not read", n), nil
	}
	spec := after.Spec.DeepCopy()
	spec.Parallelism, spec.Completions = new(int32(n)), nil
	o := owner{"batch/v1", "Job", after.Name, c.origin.Namespace}
	return "", b.job(spec, o, c.origin, field.NewPath("spec"))
}

// jobPods is the number of pods that a Job runs at a time.
func jobPods(j *batchv1.Job) int32 {
	n := replicasOf(active(j))
	if j.Spec.Completions != nil {
		n = max(0, min(n, *j.Spec.Completions-j.Status.Succeeded))
	}
	return n
}

const rollout = "its template changes: the rollout that replaces its pods is not decided; they stay as they are"

// edited reports whether the pods of a template are replaced by those of another one.
func edited(before, after *corev1.PodTemplateSpec) bool {
	return !equality.Semantic.DeepEqual(before, after)
}

func replicasOf(n *int32) int32 {
	if n == nil {
		return 1
	}
	return max(0, *n)
}

// grown returns by how much a number of replicas grows, and says what is left out if it falls.
func grown(before, after *int32) (n uint32, message string) {
	was, is := replicasOf(before), replicasOf(after)
	if is < was {
		return 0, fmt.Sprintf("of %d replicas %d remain: which pods leave is not decided; they stay", was, is)
	}
	return uint32(is - was), ""
}

// revision returns the ReplicaSet of a Deployment that has its template, and the template of its pods. If no ReplicaSet was
// added, the Deployment's pods tell its name; it is not ok if they tell several.
func (b *Builder) revision(d *appsv1.Deployment) (o owner, template *corev1.PodTemplateSpec, ok bool) {
	o = owner{"apps/v1", "ReplicaSet", "", namespaceOf(d)}
	found, added := b.replicaSetOf(d)
	if found != nil {
		o.name = found.Name
		return o, &found.Spec.Template, true
	}
	hash, err := b.commonHash(d, added)
	if err != nil || hash == "" {
		return o, nil, false
	}
	o.name = d.Name + "-" + hash
	template = d.Spec.Template.DeepCopy()
	template.Labels = withLabels(template.Labels, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash})
	return o, template, true
}

// commonHash returns the revision that all pods of a Deployment share, that of its template if there are none, and nothing if
// they differ. strange says that none of its ReplicaSets has its template: the revision is new.
func (b *Builder) commonHash(d *appsv1.Deployment, strange bool) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return "", err
	}
	var hashes []string
	for _, l := range b.withPods.pods[namespaceOf(d)] {
		if hash := l[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && selector.Matches(l) {
			hashes = append(hashes, hash)
		}
	}
	slices.Sort(hashes)
	switch hashes = slices.Compact(hashes); {
	case len(hashes) == 0 || strange:
		return templateHash(&d.Spec.Template)
	case len(hashes) == 1:
		return hashes[0], nil
	}
	return "", nil
}
