package skew

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodGroup has the fields of a PodGroup that are read (k8s.io/api/scheduling/v1beta1, v1.37). encoding/json finds the names of fields in any
// case.
type PodGroup struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              PodGroupSpec
}

// PodGroupSpec is the spec of a PodGroup.
type PodGroupSpec struct {
	WorkloadRef                 *WorkloadReference
	SchedulingPolicy            PodGroupSchedulingPolicy
	SchedulingConstraints       *PodGroupSchedulingConstraints
	ResourceClaims              []struct{}
	DisruptionMode              *DisruptionMode
	Priority                    *int32
	ParentCompositePodGroupName *string
}

// WorkloadReference names the template of a PodGroup.
type WorkloadReference struct{ WorkloadName, TemplateName string }

// PodGroupSchedulingPolicy is one of two policies.
type PodGroupSchedulingPolicy struct {
	Basic *struct{}
	Gang  *GangSchedulingPolicy
}

// GangSchedulingPolicy is the policy of a group that needs a number of its pods.
type GangSchedulingPolicy struct{ MinCount int32 }

// PodGroupSchedulingConstraints are the constraints of a group as a whole.
type PodGroupSchedulingConstraints struct{ Topology []TopologyConstraint }

// TopologyConstraint names the topology key of a group's domain.
type TopologyConstraint struct{ Key string }

// DisruptionMode is one of two modes. Only the mode of all pods is read.
type DisruptionMode struct{ All *struct{} }

// Workload has the fields of a Workload that are read (k8s.io/api/scheduling/v1beta1, v1.37).
type Workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              WorkloadSpec
}

// WorkloadSpec is the spec of a Workload.
type WorkloadSpec struct{ PodGroupTemplates []PodGroupTemplate }

// PodGroupTemplate is a template of PodGroups.
type PodGroupTemplate struct {
	Name                  string
	SchedulingPolicy      PodGroupSchedulingPolicy
	SchedulingConstraints *PodGroupSchedulingConstraints
}

// JobScheduling has the fields of a Job's spec.scheduling that are read (k8s.io/api/batch/v1, v1.37).
type JobScheduling struct {
	SchedulingPolicy      *JobSchedulingPolicy
	SchedulingConstraints *PodGroupSchedulingConstraints
}

// JobSchedulingPolicy is the policy of a Job's group.
type JobSchedulingPolicy struct{ Gang *struct{ MinCount *int32 } }

// ReadPodGroup copies a PodGroup of k8s.io/api/scheduling/v1beta1, typed or unstructured, and returns one of this package.
func ReadPodGroup(o metav1.Object) (*PodGroup, error) {
	if g, ok := o.(*PodGroup); ok {
		return g, nil
	}
	out := &PodGroup{ObjectMeta: metadata(o)}
	return out, readSpec(o, &out.Spec)
}

// ReadWorkload copies a Workload of k8s.io/api/scheduling/v1beta1, typed or unstructured.
func ReadWorkload(o metav1.Object) (*Workload, error) {
	out := &Workload{ObjectMeta: metadata(o)}
	return out, readSpec(o, &out.Spec)
}

// ReadJobScheduling returns spec.scheduling of a Job, nil if it is absent.
func ReadJobScheduling(s *batchv1.JobSpec) *JobScheduling {
	if jobScheduling == nil {
		return nil
	}
	field := reflect.ValueOf(s).Elem().FieldByIndex(jobScheduling)
	if field.IsNil() {
		return nil
	}
	out := &JobScheduling{}
	if convert(field.Interface(), out) != nil {
		return nil // a release with other types has no fields that are read
	}
	return out
}

func metadata(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Annotations: maps.Clone(o.GetAnnotations())}
}

// readSpec reads the spec of a typed or an unstructured object.
func readSpec(o metav1.Object, out any) error {
	if u, ok := o.(interface{ UnstructuredContent() map[string]any }); ok {
		return convert(u.UnstructuredContent()["spec"], out)
	}
	v := reflect.Indirect(reflect.ValueOf(o))
	if v.Kind() != reflect.Struct || !v.FieldByName("Spec").IsValid() {
		return fmt.Errorf("%T has no spec", o)
	}
	return convert(v.FieldByName("Spec").Interface(), out)
}

func convert(in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}
