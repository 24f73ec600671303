// Package controller does for workloads what the controllers of Kubernetes v1.37 do: it creates their pods, chooses the pods to
// delete, and bounds rolling updates.
package controller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// Stamp is equal pods that a workload's controller creates.
type Stamp struct {
	Pod   *corev1.Pod
	Count uint32
	// Claims are the volume claim templates that the pod's first volumes come from.
	Claims []corev1.PersistentVolumeClaim
	// Named says that the pod has the name that its controller gives it.
	Named bool
}

// Owner is the controller of stamped pods.
type Owner struct {
	APIVersion, Kind, Name, Namespace string
}

// Pod returns a pod of a template as the controller would create it, with additional labels.
func (o Owner) Pod(t *corev1.PodTemplateSpec, name string, labels map[string]string) *corev1.Pod {
	t = t.DeepCopy()
	isController := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: o.Namespace,
			Labels:    map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Controller: &isController,
			}},
		},
		Spec: t.Spec,
	}
	maps.Copy(p.Labels, t.Labels)
	maps.Copy(p.Labels, labels)
	return p
}

// TemplateHash identifies the revision of a workload. It is stable, but differs from the hash of a real cluster's controllers,
// which depends on the Go types of their release.
func TemplateHash(t *corev1.PodTemplateSpec) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write(text)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}

// MaximumOrdinals bounds the pods of one object that differ from each other.
const MaximumOrdinals = 10_000

// Replicas returns a number of replicas, 1 by default.
func Replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return max(0, *n)
}

// Count returns a number of pods, 1 by default.
func Count(n *int32, path *field.Path) (uint32, error) {
	if n == nil {
		return 1, nil
	}
	if *n < 0 {
		return 0, field.Invalid(path, *n, "must not be negative")
	}
	return uint32(*n), nil
}

// maximumCopies bounds the text of these pods: each is a copy of the template.
const maximumCopies = 256 << 20

// Ordinals returns a number of pods that become queue entries one by one.
func Ordinals(n *int32, t *corev1.PodTemplateSpec, path *field.Path) (int, error) {
	v, err := Count(n, path)
	if most := min(MaximumOrdinals, maximumCopies/max(t.Size(), 1)); err == nil && int(v) > most {
		err = field.TooMany(path, int(v), most)
	}
	return int(v), err
}

// WithLabels returns labels with more labels.
func WithLabels(labels, more map[string]string) map[string]string {
	out := make(map[string]string, len(labels)+len(more))
	maps.Copy(out, labels)
	maps.Copy(out, more)
	return out
}

// RevisionSet returns the ReplicaSet that a workload creates for its template. A label has the hash of the template.
func RevisionSet(of metav1.Object, replicas *int32, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector, hashLabel string) (*appsv1.ReplicaSet, error) {
	hash, err := TemplateHash(template)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{hashLabel: hash}
	rs := &appsv1.ReplicaSet{}
	rs.Name, rs.Namespace = of.GetName()+"-"+hash, of.GetNamespace()
	rs.Spec.Replicas = replicas
	rs.Spec.Template = *template.DeepCopy()
	rs.Spec.Template.Labels = WithLabels(rs.Spec.Template.Labels, labels)
	if selector != nil {
		rs.Spec.Selector = selector.DeepCopy()
		rs.Spec.Selector.MatchLabels = WithLabels(rs.Spec.Selector.MatchLabels, labels)
	}
	return rs, nil
}

// StatefulPods returns the pods of a StatefulSet without the first ones. revision is the revision of its template, empty if it is not
// known.
func StatefulPods(ss *appsv1.StatefulSet, revision string, without int) ([]Stamp, error) {
	n, err := Ordinals(ss.Spec.Replicas, &ss.Spec.Template, field.NewPath("spec", "replicas"))
	if err != nil {
		return nil, err
	}
	first := 0
	if ss.Spec.Ordinals != nil {
		first = int(ss.Spec.Ordinals.Start)
	}
	hash, err := TemplateHash(&ss.Spec.Template)
	if err != nil {
		return nil, err
	}
	o := statefulOwner(ss)
	template := WithClaims(&ss.Spec.Template, ss.Spec.VolumeClaimTemplates)
	var stamps []Stamp
	for i := first + without; i < first+n; i++ {
		name := fmt.Sprintf("%s-%d", ss.Name, i)
		p := o.Pod(template, name, map[string]string{
			appsv1.ControllerRevisionHashLabelKey: cmp.Or(revision, ss.Name+"-"+hash),
			appsv1.StatefulSetPodNameLabel:        name,
			appsv1.PodIndexLabel:                  strconv.Itoa(i),
		})
		for c := range ss.Spec.VolumeClaimTemplates {
			p.Spec.Volumes[c].PersistentVolumeClaim.ClaimName += "-" + name
		}
		stamps = append(stamps, Stamp{Count: 1, Claims: ss.Spec.VolumeClaimTemplates, Named: true, Pod: p})
	}
	return stamps, nil
}

// StatefulPod returns a pod that a StatefulSet would create, without its ordinal.
func StatefulPod(ss *appsv1.StatefulSet) Stamp {
	claims := ss.Spec.VolumeClaimTemplates
	return Stamp{Pod: statefulOwner(ss).Pod(WithClaims(&ss.Spec.Template, claims), ss.Name, nil), Claims: claims}
}

func statefulOwner(ss *appsv1.StatefulSet) Owner {
	return Owner{"apps/v1", "StatefulSet", ss.Name, object.Namespace(ss)}
}

// WithClaims returns a template with the volumes of claim templates before its own. Volumes of the template with their names are left out
// (pkg/controller/statefulset/stateful_set_utils.go updateStorage, v1.37): they stay without a source, so that the others keep their indexes.
func WithClaims(t *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) *corev1.PodTemplateSpec {
	var volumes []corev1.Volume
	for i := range claims {
		volumes = append(volumes, corev1.Volume{Name: claims[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claims[i].Name},
		}})
	}
	out := t.DeepCopy()
	for i := range out.Spec.Volumes {
		v := &out.Spec.Volumes[i]
		if slices.ContainsFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == v.Name }) {
			v.VolumeSource = corev1.VolumeSource{}
		}
	}
	out.Spec.Volumes = append(volumes, out.Spec.Volumes...)
	return out
}

// Parallelism returns the number of pods that a Job may run at a time by its spec, 0 once it has ended.
func Parallelism(j *batchv1.Job) *int32 {
	if j.Status.CompletionTime != nil || j.Spec.Suspend != nil && *j.Spec.Suspend || slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	}) {
		return new(int32)
	}
	return j.Spec.Parallelism
}

// JobPods is the number of pods that a Job runs at a time.
func JobPods(j *batchv1.Job) int32 {
	n := Replicas(Parallelism(j))
	if j.Spec.Completions != nil {
		n = max(0, min(n, *j.Spec.Completions-j.Status.Succeeded))
	}
	return n
}

// NewJobPods returns the pods that a new Job starts with: as many as parallelism and completions allow, none while it is suspended.
// With spec.scheduling, the pods are in a group that the Job controller creates; otherwise the group is nil.
func NewJobPods(s *batchv1.JobSpec, o Owner, path *field.Path) (pods []Stamp, group *skew.PodGroup, err error) {
	if s.Suspend != nil && *s.Suspend {
		return nil, nil, nil
	}
	n, err := Count(s.Parallelism, path.Child("parallelism"))
	if err != nil {
		return nil, nil, err
	}
	if s.Completions != nil {
		completions, err := Count(s.Completions, path.Child("completions"))
		if err != nil {
			return nil, nil, err
		}
		n = min(n, completions)
	}
	template := &s.Template
	if scheduling := skew.ReadJobScheduling(s); scheduling != nil && skew.PodGroupName(&s.Template.Spec) == nil && n > 0 {
		if group, err = jobGroup(scheduling, o, n, path.Child("scheduling")); err != nil {
			return nil, nil, err
		}
		template = template.DeepCopy()
		skew.SetPodGroupName(&template.Spec, &group.Name)
	}
	labels := map[string]string{batchv1.JobNameLabel: o.Name, "job-name": o.Name}
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion {
		return []Stamp{{Pod: o.Pod(template, o.Name, labels), Count: n}}, group, nil
	}
	if _, err := Ordinals(new(int32(n)), template, path.Child("parallelism")); err != nil {
		return nil, nil, err
	}
	for i := range int(n) {
		index := strconv.Itoa(i)
		pods = append(pods, Stamp{Count: 1, Pod: o.Pod(template, o.Name+"-"+index,
			WithLabels(labels, map[string]string{batchv1.JobCompletionIndexAnnotation: index}))})
	}
	return pods, group, nil
}

// jobGroup returns the group of a Job's n pods as the Job controller would create it
// (pkg/controller/job/job_scheduling_manager.go, v1.37), under a name of its own.
func jobGroup(s *skew.JobScheduling, o Owner, n uint32, path *field.Path) (*skew.PodGroup, error) {
	g := &skew.PodGroup{}
	g.Namespace, g.Name = o.Namespace, o.Name+"-pgt-0"
	g.Spec.SchedulingPolicy.Basic = &struct{}{}
	if p := s.SchedulingPolicy; p != nil && p.Gang != nil {
		minCount := int32(n)
		if p.Gang.MinCount != nil {
			minCount = *p.Gang.MinCount
		}
		if minCount < 1 || minCount > int32(n) {
			return nil, field.Invalid(path.Child("schedulingPolicy", "gang", "minCount"), minCount,
				fmt.Sprintf("must be 1 to %d, the number of pods", n))
		}
		g.Spec.SchedulingPolicy = skew.PodGroupSchedulingPolicy{Gang: &skew.GangSchedulingPolicy{MinCount: minCount}}
	}
	g.Spec.SchedulingConstraints = s.SchedulingConstraints
	return g, nil
}
