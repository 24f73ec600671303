// Package object identifies Kubernetes objects: their names, the names that people give them, and the workloads that own pods.
package object

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/suggest"
)

// Origin is the name of an object that something comes from.
type Origin struct {
	Kind, Namespace, Name string
}

func (o Origin) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Of returns the origin of an object of a namespaced kind.
func Of(kind string, o metav1.Object) Origin {
	return Origin{Kind: kind, Namespace: Namespace(o), Name: o.GetName()}
}

// OfPod returns the origin of a pod. A pod without a name yet has the prefix of its name.
func OfPod(p *corev1.Pod) Origin {
	return Origin{Kind: "Pod", Namespace: Namespace(p), Name: cmp.Or(p.Name, p.GenerateName+"*")}
}

// Namespace returns the namespace of an object.
func Namespace(o metav1.Object) string {
	return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault)
}

// Admitted reports whether an API server has admitted an object: it gives every object a uid.
func Admitted(o metav1.Object) bool { return o.GetUID() != "" }

// IsApplied reports whether people apply manifests to objects of the kind, so that it matters who manages which field. Controllers and
// kubelets write the others; the managers of their fields are most of a dump.
func IsApplied(o metav1.Object) bool {
	switch o.(type) {
	case *corev1.Pod, *corev1.Node, *appsv1.ReplicaSet:
		return false
	}
	return true
}

// MadeByKubelet reports whether the kubelet of its node created a pod, so that kube-scheduler does not decide about it.
func MadeByKubelet(p *corev1.Pod) bool {
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

// OfDaemonSet returns the name of the DaemonSet that created a pod.
func OfDaemonSet(p *corev1.Pod) (name string, ok bool) {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil || owner.APIVersion != "apps/v1" || owner.Kind != "DaemonSet" {
		return "", false
	}
	return owner.Name, true
}

// shortKinds are the short names of kinds that kubectl accepts.
var shortKinds = map[string]string{
	"po": "Pod", "deploy": "Deployment", "rs": "ReplicaSet", "sts": "StatefulSet", "rc": "ReplicationController", "ds": "DaemonSet",
	"cj": "CronJob", "ro": "Rollout", "clone": "CloneSet", "lws": "LeaderWorkerSet", "vcjob": "Job",
}

// NamesKind reports whether a word is a name of a kind, as kubectl accepts it: the kind itself in any case, its plural, or a short
// name, each with or without the API group.
func NamesKind(word, kind string) bool {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	singular := strings.ToLower(kind)
	return word == singular || word == singular+"s" || shortKinds[word] == kind
}

// Argument is the object as an argument of a command: namespace/kind/name.
func (o Origin) Argument() string {
	return o.Namespace + "/" + strings.ToLower(o.Kind) + "/" + o.Name
}

// Named reports whether KIND/NAME or NAMESPACE/KIND/NAME, in parts, names an object.
func (o Origin) Named(parts []string) bool {
	n := len(parts)
	return n <= 3 && o.Name == parts[n-1] && NamesKind(parts[n-2], o.Kind) && (n == 2 || o.Namespace == parts[0])
}

// maximumArguments bounds the objects that an error names.
const maximumArguments = 20

// Arguments lists objects, each once, as arguments of a command.
func Arguments(all []Origin) string {
	var out []string
	seen := map[Origin]bool{}
	for _, o := range all {
		if !seen[o] {
			seen[o] = true
			out = append(out, o.Argument())
		}
	}
	if more := len(out) - maximumArguments; more > 0 {
		out = append(out[:maximumArguments], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// DidYouMean returns "; did you mean ...?" with the object that an unknown NAME, KIND/NAME or NAMESPACE/KIND/NAME most likely means:
// an object of this name in another namespace or of another kind, or else of the nearest name. It is empty without such an object.
func DidYouMean(text string, all iter.Seq[Origin]) string {
	name := text[strings.LastIndexByte(text, '/')+1:]
	arguments := map[string]string{} // by name
	var names []string
	for o := range all {
		if argument := o.Argument(); argument != text && arguments[o.Name] == "" {
			arguments[o.Name] = argument
			names = append(names, o.Name)
		}
	}
	argument := arguments[name]
	if argument == "" {
		argument = arguments[suggest.Nearest(name, slices.Values(names))]
	}
	if argument == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", argument)
}

// MaximumOwners bounds the controllers of controllers that are followed.
const MaximumOwners = 8

// Owners are the owners of workloads.
type Owners map[types.UID][]metav1.OwnerReference

// Workload returns the last owner of the chain of a pod, the pod itself if it has no controller.
func (o Owners) Workload(p *corev1.Pod) Origin {
	chain := o.Chain(p)
	return chain[len(chain)-1]
}

// Chain returns a pod, its controller, the controller of the controller, and so on as far as they are known. A ReplicaSet that is not
// known belongs to the Deployment in its name.
func (o Owners) Chain(p *corev1.Pod) []Origin {
	out := []Origin{OfPod(p)}
	for ref := metav1.GetControllerOfNoCopy(p); ref != nil && len(out) < MaximumOwners; {
		this := Origin{Kind: ref.Kind, Namespace: Namespace(p), Name: ref.Name}
		out = append(out, this)
		of, known := o[ref.UID]
		if name, ok := deploymentOf(this, p); ok && !known {
			return append(out, Origin{Kind: "Deployment", Namespace: this.Namespace, Name: name})
		}
		ref = metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: of})
	}
	return out
}

// deploymentOf returns the Deployment of a ReplicaSet that is not known. The name of the ReplicaSet consists of the Deployment's and
// the hash of the template, which is a label of the pods (pkg/controller/deployment/sync.go getNewReplicaSet, v1.37).
func deploymentOf(of Origin, p *corev1.Pod) (name string, ok bool) {
	hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	name, ok = strings.CutSuffix(of.Name, "-"+hash)
	return name, ok && hash != "" && of.Kind == "ReplicaSet"
}
