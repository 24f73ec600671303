package kube

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maximumOwners bounds how many controllers of controllers are followed.
const maximumOwners = 8

// owners are the controllers of the existing workloads that were added.
type owners map[types.UID][]metav1.OwnerReference

// WorkloadOf returns the workload that creates a pod again: its controller, or the controller of that one, as far as they are
// known, such as the Deployment of a ReplicaSet. A ReplicaSet that was not added belongs to the Deployment that its name tells.
// It is the pod itself if the pod has no controller.
func (s *Snapshot) WorkloadOf(p *corev1.Pod) Origin { return s.owners.workloadOf(p) }

// Owners returns a pod, its controller, the controller of that one, and so on up to the workload that WorkloadOf returns.
func (s *Snapshot) Owners(p *corev1.Pod) []Origin { return s.owners.chain(p) }

func (o owners) workloadOf(p *corev1.Pod) Origin {
	chain := o.chain(p)
	return chain[len(chain)-1]
}

func (o owners) chain(p *corev1.Pod) []Origin {
	out := []Origin{podOrigin(p)}
	for ref := metav1.GetControllerOfNoCopy(p); ref != nil && len(out) < maximumOwners; {
		this := Origin{Kind: ref.Kind, Namespace: namespaceOf(p), Name: ref.Name}
		out = append(out, this)
		of, known := o[ref.UID]
		if name, ok := deploymentOf(this, p); ok && !known {
			return append(out, Origin{Kind: "Deployment", Namespace: this.Namespace, Name: name})
		}
		ref = metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: of})
	}
	return out
}

// deploymentOf returns the Deployment of a ReplicaSet that is not known: its name is that of the Deployment with the hash of the
// template, which the pods have as a label (pkg/controller/deployment/sync.go getNewReplicaSet, v1.37).
func deploymentOf(of Origin, p *corev1.Pod) (name string, ok bool) {
	hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	name, ok = strings.CutSuffix(of.Name, "-"+hash)
	return name, ok && hash != "" && of.Kind == "ReplicaSet"
}

// entry returns the entry of a slot. message is why its pods wait, empty if they are in the queue.
func (b *Builder) entry(s slot, message string) Entry {
	out := Entry{Pods: s.pods, Origin: s.origin, Workload: s.origin, Gone: s.gone, Message: message}
	out.object = s.facts.stamp.pod
	out.owners = owners(b.withPods.owners).chain(out.object)
	if s.origin.Kind == "Pod" {
		out.Workload = out.owners[len(out.owners)-1]
	}
	return out
}

// Object returns a pod of an entry as an object, nil if its object does not convert. It must not be changed. Pods of a workload
// that does not exist yet share one name.
func (e *Entry) Object() *corev1.Pod { return e.object }

// SameOwner reports whether pods of another entry have the same controller.
func (e *Entry) SameOwner(as *Entry) bool {
	return len(e.owners) > 1 && len(as.owners) > 1 && e.owners[1] == as.owners[1]
}

// Of reports whether an entry's pods are, or are created by, an object that match accepts.
func (e *Entry) Of(match func(Origin) bool) bool {
	return match(e.Origin) || match(e.Workload) || slices.ContainsFunc(e.owners, match)
}
