package oracle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// InvalidError says that the API server would not store an object of the case.
type InvalidError struct {
	Object string
	Errs   field.ErrorList
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %v", e.Object, e.Errs.ToAggregate()) }

// StoredPod returns the pod as the API server stores it. What a kubelet reports, which no create request carries, is
// put back afterwards.
func StoredPod(in *corev1.Pod) (*corev1.Pod, error) {
	pod := in.DeepCopy()
	if pod.Namespace == "" {
		pod.Namespace = corev1.NamespaceDefault
	}
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	corev1conversion.SetObjectDefaults_Pod(pod)
	var internal core.Pod
	if err := corev1conversion.Convert_v1_Pod_To_core_Pod(pod, &internal, nil); err != nil {
		return nil, err
	}
	podregistry.Strategy.PrepareForCreate(context.Background(), &internal)
	if errs := validate(&internal); len(errs) > 0 {
		return nil, &InvalidError{Object: "pod " + in.Namespace + "/" + in.Name, Errs: errs}
	}
	out := new(corev1.Pod)
	if err := corev1conversion.Convert_core_Pod_To_v1_Pod(&internal, out, nil); err != nil {
		return nil, err
	}
	out.Status = *pod.Status.DeepCopy()
	return out, nil
}

// validate validates a pod as one that is created, or a long-lived one as an update of itself.
func validate(pod *core.Pod) field.ErrorList {
	if pod.Annotations[scenario.LongLived] == "" {
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
		options.ResourceIsPod = true
		// A pod stored while the gate was on stays when the gate is turned off; both are compared.
		options.AllowTaintTolerationComparisonOperators = true
		return validation.ValidatePodCreate(pod, options)
	}
	updated := pod.DeepCopy()
	updated.ResourceVersion = "1" // an update must have one
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&updated.Spec, &updated.Spec, &updated.ObjectMeta, &updated.ObjectMeta)
	options.ResourceIsPod = true
	return validation.ValidatePodUpdate(updated, updated, options)
}

func admitNode(in *corev1.Node) (*corev1.Node, error) {
	node := in.DeepCopy()
	corev1conversion.SetObjectDefaults_Node(node)
	var internal core.Node
	if err := corev1conversion.Convert_v1_Node_To_core_Node(node, &internal, nil); err != nil {
		return nil, err
	}
	if errs := validation.ValidateNode(&internal); len(errs) > 0 {
		return nil, &InvalidError{Object: "node " + in.Name, Errs: errs}
	}
	return node, nil
}

func admitNamespace(in *corev1.Namespace) (*corev1.Namespace, error) {
	namespace := in.DeepCopy()
	corev1conversion.SetObjectDefaults_Namespace(namespace)
	var internal core.Namespace
	if err := corev1conversion.Convert_v1_Namespace_To_core_Namespace(namespace, &internal, nil); err != nil {
		return nil, err
	}
	if errs := validation.ValidateNamespace(&internal); len(errs) > 0 {
		return nil, &InvalidError{Object: "namespace " + in.Name, Errs: errs}
	}
	return namespace, nil
}
