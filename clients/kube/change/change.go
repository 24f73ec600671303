// Package change decides what changes of workloads do in a cluster: which pods leave and which are created, what a rollout has to
// replace, and what remains undecided.
package change

import (
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// Change is a workload of a cluster before and after a change.
type Change struct {
	object.Origin
	// At names the object with the change.
	At            string
	Before, After metav1.Object
	// Leaves reports whether a pod leaves; nil unless Shrink reported true.
	Leaves func(*corev1.Pod) bool
}

// Cluster is what the effects of changes depend on.
type Cluster struct {
	Nodes []*corev1.Node
	// ReplicaSets are the ReplicaSets of Deployments.
	ReplicaSets []*appsv1.ReplicaSet
	// Pods are the pods on nodes and the pending ones. Pods on unknown nodes have no node.
	Pods iter.Seq[*corev1.Pod]
	// Labels are the labels of all pods by namespace.
	Labels map[string][]labels.Set
}

// Effects are the effects of changes that are not in the cluster itself.
type Effects struct {
	// Undecided are the changes of workloads that the cluster does not contain.
	Undecided []Undecided
	// Leavers are the pods that left their nodes, which the cluster no longer has.
	Leavers []Leaver
	// Rollouts are the rollouts among Undecided, with what decides them.
	Rollouts []Rollout
	// OnDelete are workloads with a new template, which their pods get when they are deleted.
	OnDelete []object.Origin
}

// Undecided is a change of a workload that a snapshot does not contain: its pods are as they were.
type Undecided struct {
	object.Origin
	// At names the object with the change.
	At string
	// Message says what would change.
	Message string
}

func (u *Undecided) String() string { return u.At + ": " + u.Message }

// Leaver is a pod on a node that leaves, as its workload is to have fewer replicas.
type Leaver struct {
	Workload  object.Origin
	Pod, Node string
}

// Rollout returns the rollout of a workload, nil if there is none.
func (e *Effects) Rollout(of object.Origin) *Rollout {
	for i := range e.Rollouts {
		if e.Rollouts[i].Origin == of {
			return &e.Rollouts[i]
		}
	}
	return nil
}

// revision returns the ReplicaSet of a Deployment that has its template, and the template of its pods. If no ReplicaSet was
// added, its name follows from the labels of the Deployment's pods; it is not ok if these are of several revisions.
func (in *Cluster) revision(d *appsv1.Deployment) (o controller.Owner, template *corev1.PodTemplateSpec, ok bool) {
	o = controller.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: object.Namespace(d)}
	found, added := controller.NewReplicaSet(in.ReplicaSets, d)
	if found != nil {
		o.Name = found.Name
		return o, &found.Spec.Template, true
	}
	hash, err := in.commonHash(d, added)
	if err != nil || hash == "" {
		return o, nil, false
	}
	o, template = hashed(d, hash)
	return o, template, true
}

// commonHash returns the revision that all pods of a Deployment share, the revision of its template without pods, and nothing if
// they differ. strange says that none of its ReplicaSets has its template: the revision is new.
func (in *Cluster) commonHash(d *appsv1.Deployment, strange bool) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return "", err
	}
	var hashes []string
	for _, l := range in.Labels[object.Namespace(d)] {
		if hash := l[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && selector.Matches(l) {
			hashes = append(hashes, hash)
		}
	}
	slices.Sort(hashes)
	switch hashes = slices.Compact(hashes); {
	case len(hashes) == 0 || strange:
		return controller.TemplateHash(&d.Spec.Template)
	case len(hashes) == 1:
		return hashes[0], nil
	}
	return "", nil
}

// newRevision returns the ReplicaSet of an edited Deployment: one that was added and has its template, or the new one.
func (in *Cluster) newRevision(d *appsv1.Deployment) (o controller.Owner, template *corev1.PodTemplateSpec, err error) {
	o = controller.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: object.Namespace(d)}
	if found, _ := controller.NewReplicaSet(in.ReplicaSets, d); found != nil {
		o.Name = found.Name
		return o, &found.Spec.Template, nil
	}
	hash, err := controller.TemplateHash(&d.Spec.Template)
	if err != nil {
		return o, nil, err
	}
	o, template = hashed(d, hash)
	return o, template, nil
}

// hashed returns the ReplicaSet of a Deployment whose template has a hash, and the template of its pods.
func hashed(d *appsv1.Deployment, hash string) (controller.Owner, *corev1.PodTemplateSpec) {
	template := d.Spec.Template.DeepCopy()
	template.Labels = controller.WithLabels(template.Labels, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash})
	return controller.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-" + hash, Namespace: object.Namespace(d)}, template
}
