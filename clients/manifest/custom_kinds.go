package manifest

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// customKinds are the kinds whose pod templates are complete, except for additions that controller.CustomPart notes. Keys are kind and
// group, as kubectl names them.
var customKinds = map[string]customKind{
	"Rollout.argoproj.io":        {versions: alpha, parts: rolloutParts, selector: ownSelector},
	"CloneSet.apps.kruise.io":    {versions: alpha, parts: cloneSetParts, selector: ownSelector},
	"StatefulSet.apps.kruise.io": {versions: []string{"v1beta1", "v1alpha1"}, parts: kruiseStatefulSetParts, selector: ownSelector},

	"LeaderWorkerSet.leaderworkerset.x-k8s.io": {versions: stable, parts: leaderWorkerParts, selector: named(leaderWorkerName)},

	"JobSet.jobset.x-k8s.io": {versions: []string{"v1alpha2"}, parts: jobSetParts, selector: named(jobSetName), ends: true},
	"Job.batch.volcano.sh":   {versions: alpha, parts: volcanoParts, selector: named("volcano.sh/job-name"), ends: true},

	"PyTorchJob.kubeflow.org": trainingJob(stable, pyTorchParts),
	"TFJob.kubeflow.org":      trainingJob(stable, trainingParts("tfReplicaSpecs")),
	"XGBoostJob.kubeflow.org": trainingJob(stable, trainingParts("xgbReplicaSpecs")),
	"PaddleJob.kubeflow.org":  trainingJob(stable, trainingParts("paddleReplicaSpecs")),
	"JAXJob.kubeflow.org":     trainingJob(stable, trainingParts("jaxReplicaSpecs")),
	"MPIJob.kubeflow.org":     trainingJob([]string{"v1", "v2beta1"}, mpiParts),

	"RayCluster.ray.io": {versions: rayVersions, parts: rayClusterParts, selector: named("ray.io/cluster")},
	"RayJob.ray.io":     {versions: rayVersions, parts: rayJobParts, selector: named(rayOrigin), ends: true},
	"RayService.ray.io": {versions: rayVersions, parts: rayServiceParts, selector: named(rayOrigin)},
}

var stable, alpha, rayVersions = []string{"v1"}, []string{"v1alpha1"}, []string{"v1", "v1alpha1"}

func trainingJob(versions []string, parts func(*custom) ([]controller.CustomPart, error)) customKind {
	return customKind{versions: versions, parts: parts, selector: named(trainingName), ends: true}
}

// rolloutParts reads an Argo Rollout, which runs ReplicaSets as a Deployment does.
func rolloutParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[struct {
		Replicas    *int32                `json:"replicas"`
		Selector    *metav1.LabelSelector `json:"selector"`
		Template    rawTemplate           `json:"template"`
		WorkloadRef *struct{}             `json:"workloadRef"`
	}](c)
	if err != nil {
		return nil, err
	}
	if spec.WorkloadRef != nil {
		return nil, undecided("a workloadRef")
	}
	t := template{"spec.template", spec.Template.RawMessage}
	pods, err := t.read()
	return []controller.CustomPart{{Path: t.path, ReplicaSet: &controller.CustomReplicaSet{
		Replicas: spec.Replicas, Template: pods, Selector: spec.Selector, HashLabel: "rollouts-pod-template-hash",
	}}}, err
}

// cloneSetParts reads an OpenKruise CloneSet.
func cloneSetParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[kruiseSpec](c)
	if err != nil {
		return nil, err
	}
	t := template{"spec.template", spec.Template.RawMessage}
	pods, err := t.read()
	return []controller.CustomPart{{Path: t.path, Pods: &controller.CustomPods{
		Template: pods, Name: c.Name, Replicas: orOne(spec.Replicas), Claims: spec.VolumeClaimTemplates,
	}}}, err
}

// kruiseStatefulSetParts reads OpenKruise's StatefulSet.
func kruiseStatefulSetParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[kruiseSpec](c)
	if err != nil {
		return nil, err
	}
	if len(spec.ReserveOrdinals) > 0 {
		return nil, undecided("reserveOrdinals")
	}
	t := template{"spec.template", spec.Template.RawMessage}
	pods, err := t.read()
	p := &controller.CustomPods{
		Template: pods, Name: c.Name, Indexed: true, Replicas: orOne(spec.Replicas), Claims: spec.VolumeClaimTemplates,
		NameLabel: appsv1.StatefulSetPodNameLabel,
	}
	if spec.Ordinals != nil {
		p.First = int(spec.Ordinals.Start)
	}
	return []controller.CustomPart{{Path: t.path, Pods: p}}, err
}

type claims = []corev1.PersistentVolumeClaim

type kruiseSpec struct {
	Replicas             *int32                      `json:"replicas"`
	Template             rawTemplate                 `json:"template"`
	VolumeClaimTemplates claims                      `json:"volumeClaimTemplates"`
	ReserveOrdinals      []json.RawMessage           `json:"reserveOrdinals"`
	Ordinals             *appsv1.StatefulSetOrdinals `json:"ordinals"`
}

const (
	leaderWorkerPrefix = "leaderworkerset.sigs.k8s.io/"
	leaderWorkerName   = leaderWorkerPrefix + "name"
)

// leaderWorkerParts reads a LeaderWorkerSet: a StatefulSet of the leaders, and one of the workers of each leader.
func leaderWorkerParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[struct {
		Replicas *int32 `json:"replicas"`
		Group    struct {
			Size   *int32      `json:"size"`
			Leader rawTemplate `json:"leaderTemplate"`
			Worker rawTemplate `json:"workerTemplate"`
			Claims claims      `json:"volumeClaimTemplates"`
		} `json:"leaderWorkerTemplate"`
	}](c)
	if err != nil {
		return nil, err
	}
	if c.Annotations[leaderWorkerPrefix+"exclusive-topology"]+c.Annotations[leaderWorkerPrefix+"subgroup-exclusive-topology"] != "" {
		return nil, undecided("an exclusive topology") // which adds an affinity to the pods
	}
	worker := template{"spec.leaderWorkerTemplate.workerTemplate", spec.Group.Worker.RawMessage}
	leader := worker
	if len(spec.Group.Leader.RawMessage) > 0 {
		leader = template{"spec.leaderWorkerTemplate.leaderTemplate", spec.Group.Leader.RawMessage}
	}
	groups, size := orOne(spec.Replicas), orOne(spec.Group.Size)
	if err := tooMany("spec.replicas", groups); err != nil {
		return nil, err
	}
	if total := int64(groups) * int64(size); total > maximumPods {
		return nil, field.TooMany(field.NewPath("spec.leaderWorkerTemplate.size"), int(total), maximumPods)
	}
	set := func(name string, t template, replicas, first int32, labels map[string]string) (controller.CustomPart, error) {
		pods, err := t.read()
		ss := &appsv1.StatefulSet{}
		ss.Name = name
		ss.Spec.Replicas, ss.Spec.Ordinals = &replicas, &appsv1.StatefulSetOrdinals{Start: first}
		ss.Spec.Selector = metav1.SetAsLabelSelector(labels)
		ss.Spec.Template, ss.Spec.VolumeClaimTemplates = *labelled(&pods, labels), spec.Group.Claims
		return controller.CustomPart{Path: t.path, StatefulSet: ss}, err
	}
	first := map[string]string{leaderWorkerName: c.Name, leaderWorkerPrefix + "worker-index": "0"}
	leaders, err := set(c.Name, leader, groups, 0, first)
	parts := []controller.CustomPart{leaders}
	for i := int32(0); i < groups && size > 1 && err == nil; i++ {
		var workers controller.CustomPart
		labels := map[string]string{leaderWorkerName: c.Name, leaderWorkerPrefix + "group-index": indexOf(i)}
		workers, err = set(indexed(c.Name, int(i)), worker, size-1, 1, labels)
		parts = append(parts, workers)
	}
	return parts, err
}
