package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/suggest"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
)

// find returns the object with a kind and a name, in any namespace if none is given.
func (r *Reader) find(kind, namespace, name string) (*entry, error) {
	var found []*entry
	var where []string
	for _, e := range r.entries {
		o := e.object
		if o.GetName() != name || namespace != "" && o.GetNamespace() != namespace || r.known[key(kind, o)] != e {
			continue
		}
		found, where = append(found, e), append(where, o.GetNamespace()+"/"+name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("there are several, name one of %s", strings.Join(where, ", "))
	case namespace != "":
		return nil, fmt.Errorf("there is no %s %s/%s%s", kind, namespace, name, r.nearest(kind, name))
	}
	return nil, fmt.Errorf("there is no %s %s%s", kind, name, r.nearest(kind, name))
}

// nearest suggests an object of a kind for an unknown name.
func (r *Reader) nearest(kind, name string) string {
	return suggest.DidYouMean(name, func(yield func(string) bool) {
		for _, e := range r.entries {
			if r.known[key(kind, e.object)] == e && !yield(e.object.GetName()) {
				return
			}
		}
	})
}

// Scale changes the number of replicas of a workload, as kubectl scale does. Without a namespace, the name must be unique. It
// returns the workload.
func (r *Reader) Scale(kind, namespace, name string, replicas int32) (kube.Origin, error) {
	e, err := r.find(kind, namespace, name)
	if err != nil {
		return kube.Origin{}, err
	}
	after := e.object.(runtime.Object).DeepCopyObject()
	switch o := after.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = &replicas
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = &replicas
	case *appsv1.StatefulSet:
		o.Spec.Replicas = &replicas
	case *corev1.ReplicationController:
		o.Spec.Replicas = &replicas
	default:
		return kube.Origin{}, fmt.Errorf("a %s has no replicas", kind)
	}
	if e.before == nil && e.object.GetUID() != "" {
		e.before = e.object
	}
	e.object = after.(metav1.Object)
	return kube.Origin{Kind: kind, Namespace: e.object.GetNamespace(), Name: name}, nil
}

// AddNodes adds nodes like a known one, in the state of new and ready nodes: not cordoned, without images, and without taints that
// describe the other node's state. An empty zone keeps the other node's. DaemonSets add their pods. Pods of the kubelet, and of
// DaemonSets that were not read, are copied from the other node. It returns the names of the nodes.
func (r *Reader) AddNodes(like string, count int, zone string) ([]string, error) {
	e, err := r.find("Node", "", like)
	if err != nil {
		return nil, err
	}
	old := e.object.(*corev1.Node)
	tied := r.tied(like)
	copied := []metav1.Object{old}
	for _, p := range tied {
		copied = append(copied, p.object)
	}
	if err := r.builder.Reserve(count, copied...); err != nil {
		return nil, err
	}
	var out []string
	for i := 1; len(out) < count; i++ {
		name := fmt.Sprintf("%s-new-%d", like, i)
		if r.known["Node /"+name] != nil {
			continue
		}
		n := newNode(old, name, zone)
		fresh := &entry{kind: newNodes, at: "new Node " + name, object: n}
		r.entries = append(r.entries, fresh)
		r.known[key("Node", n)] = fresh
		r.copyTied(tied, name)
		out = append(out, name)
	}
	return out, nil
}

// newNodes reads new Nodes.
var newNodes = reads([]string{"v1"}, (*kube.Builder).AddNewNode)

func newNode(like *corev1.Node, name, zone string) *corev1.Node {
	n := like.DeepCopy()
	n.Name, n.UID = name, ""
	n.Labels = maps.Clone(n.Labels)
	for label, value := range n.Labels {
		if value == like.Name {
			n.Labels[label] = name
		}
	}
	if zone != "" {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[corev1.LabelTopologyZone] = zone
		if _, old := n.Labels[corev1.LabelFailureDomainBetaZone]; old {
			n.Labels[corev1.LabelFailureDomainBetaZone] = zone
		}
	}
	n.Spec.Unschedulable, n.Status.Images = false, nil
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return nodestate.Has(t.Key) })
	return n
}

// tied are the pods of the kubelet, and of DaemonSets that were not read, on a node.
func (r *Reader) tied(node string) []*entry {
	var pods []*entry
	for _, e := range r.entries {
		p, isPod := e.object.(*corev1.Pod)
		if !isPod || p.Spec.NodeName != node || p.DeletionTimestamp != nil {
			continue
		}
		of := metav1.GetControllerOfNoCopy(p)
		if of == nil || of.Kind != "Node" && (of.Kind != "DaemonSet" || r.known[of.Kind+" "+p.Namespace+"/"+of.Name] != nil) {
			continue
		}
		pods = append(pods, e)
	}
	return pods
}

// copyTied copies pods to another node.
func (r *Reader) copyTied(pods []*entry, to string) {
	for _, e := range pods {
		p := e.object.(*corev1.Pod).DeepCopy()
		p.Name, p.Spec.NodeName = p.Name+"-"+to, to
		fresh := &entry{kind: e.kind, at: "new Pod " + p.Name, object: p}
		r.entries = append(r.entries, fresh)
		r.known[key("Pod", p)] = fresh
	}
}
