package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// maximumPods bounds how many pods of one custom resource become queue entries one by one, as kube does for a StatefulSet.
const maximumPods = 10_000

// rawTemplate keeps the text of a template. It hides a decoded field of the same name.
type rawTemplate struct{ json.RawMessage }

func indexOf(i int32) string { return strconv.Itoa(int(i)) }

func indexed(name string, i int) string { return name + "-" + strconv.Itoa(i) }

// tooMany refuses negative numbers of pods, and numbers beyond maximumPods.
func tooMany(path string, n int32) error {
	switch {
	case n < 0:
		return field.Invalid(field.NewPath(path), n, "must not be negative")
	case n > maximumPods:
		return field.TooMany(field.NewPath(path), int(n), maximumPods)
	}
	return nil
}

// labelled returns a template with additional labels.
func labelled(t *corev1.PodTemplateSpec, labels map[string]string) *corev1.PodTemplateSpec {
	out := t.DeepCopy()
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	maps.Copy(out.Labels, labels)
	return out
}

const (
	jobSetPrefix    = "jobset.sigs.k8s.io/"
	jobSetName      = jobSetPrefix + "jobset-name"
	jobSetExclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology"
)

// jobSetParts reads a JobSet: a number of Jobs for each template.
func jobSetParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[struct {
		ReplicatedJobs []struct {
			Name     string          `json:"name"`
			Replicas *int32          `json:"replicas"`
			Template json.RawMessage `json:"template"`
		} `json:"replicatedJobs"`
	}](c)
	if err != nil {
		return nil, err
	}
	var out []controller.CustomPart
	total := int64(0)
	for i, r := range spec.ReplicatedJobs {
		path := fmt.Sprintf("spec.replicatedJobs[%d]", i)
		var job batchv1.JobTemplateSpec
		if len(r.Template) == 0 {
			return nil, field.Required(field.NewPath(path+".template"), "")
		}
		if err := decode(r.Template, &job); err != nil {
			return nil, fmt.Errorf("%s.template: %w", path, err)
		}
		if c.Annotations[jobSetExclusive]+job.Annotations[jobSetExclusive] != "" {
			return nil, undecided("an exclusive topology") // which adds an affinity to the pods
		}
		if job.Spec.CompletionMode == nil {
			job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		}
		n := orOne(r.Replicas)
		if err := tooMany(path+".replicas", n); err != nil {
			return nil, err
		}
		if total += int64(n) * entries(&job.Spec); total > maximumPods {
			return nil, field.TooMany(field.NewPath(path+".replicas"), int(total), maximumPods)
		}
		for k := range n {
			j := &batchv1.Job{Spec: *job.Spec.DeepCopy()}
			j.Name = indexed(c.Name+"-"+r.Name, int(k))
			j.Spec.Template = *labelled(&job.Spec.Template, map[string]string{
				jobSetName: c.Name, jobSetPrefix + "replicatedjob-name": r.Name, jobSetPrefix + "replicatedjob-replicas": indexOf(n),
				jobSetPrefix + "job-index": indexOf(k), jobSetPrefix + "restart-attempt": "0",
			})
			out = append(out, controller.CustomPart{Path: path + ".template.spec", Job: j})
		}
	}
	return out, nil
}

// entries is the number of queue entries of a Job.
func entries(s *batchv1.JobSpec) int64 {
	n := orOne(s.Parallelism)
	if *s.CompletionMode != batchv1.IndexedCompletion {
		return 1
	}
	if s.Completions != nil {
		n = min(n, *s.Completions)
	}
	return int64(max(n, 1))
}

// volcanoParts reads a Volcano Job. Volcano places its pods unless they name another scheduler.
func volcanoParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[struct {
		SchedulerName string `json:"schedulerName"`
		Queue         string `json:"queue"`
		Volumes       []any  `json:"volumes"`
		Tasks         []struct {
			Name     string      `json:"name"`
			Replicas *int32      `json:"replicas"`
			Template rawTemplate `json:"template"`
		} `json:"tasks"`
	}](c)
	if err != nil {
		return nil, err
	}
	var out []controller.CustomPart
	for i, task := range spec.Tasks {
		if task.Replicas == nil {
			return nil, undecided("a task without replicas")
		}
		t := template{fmt.Sprintf("spec.tasks[%d].template", i), task.Template.RawMessage}
		pods, err := t.read()
		if err != nil {
			return nil, err
		}
		if pods.Spec.SchedulerName == "" {
			pods.Spec.SchedulerName = or(spec.SchedulerName, "volcano")
		}
		name := or(task.Name, fmt.Sprintf("default%d", i))
		adds := ""
		if len(spec.Volumes) > 0 {
			adds = "the controller adds the volumes of spec.volumes, and kube-scheduler only takes a node that can use them"
		}
		out = append(out, controller.CustomPart{Path: t.path, Adds: adds, Pods: &controller.CustomPods{
			Template: pods, Name: c.Name + "-" + name, Indexed: true, Replicas: *task.Replicas, Labels: map[string]string{
				"volcano.sh/job-name": c.Name, "volcano.sh/queue-name": or(spec.Queue, "default"), "volcano.sh/task-spec": name,
			},
			IndexLabel: "volcano.sh/task-index",
		}})
	}
	return out, nil
}

const (
	trainingPrefix = "training.kubeflow.org/"
	trainingName   = trainingPrefix + "job-name"
)

// replicaSpecs are the roles of a training job.
type replicaSpecs map[string]struct {
	Replicas *int32      `json:"replicas"`
	Template rawTemplate `json:"template"`
}

// trainingParts returns a reader of Kubeflow's training jobs. specs names the field with the roles.
func trainingParts(specs string) func(*custom) ([]controller.CustomPart, error) {
	return func(c *custom) ([]controller.CustomPart, error) {
		spec, err := specOf[map[string]json.RawMessage](c)
		if err != nil {
			return nil, err
		}
		var roles replicaSpecs
		if err := lenient(spec[specs], &roles); err != nil {
			return nil, fmt.Errorf("spec.%s: %w", specs, err)
		}
		var out []controller.CustomPart
		for _, role := range slices.Sorted(maps.Keys(roles)) {
			t := template{fmt.Sprintf("spec.%s.%s.template", specs, role), roles[role].Template.RawMessage}
			pods, err := t.read()
			if err != nil {
				return nil, err
			}
			lower := strings.ToLower(role)
			labels := map[string]string{
				trainingName: c.Name, trainingPrefix + "operator-name": strings.ToLower(c.Kind) + "-controller",
				trainingPrefix + "replica-type": lower,
			}
			if role == "Master" || role == "Chief" {
				labels[trainingPrefix+"job-role"] = "master"
			}
			out = append(out, controller.CustomPart{Path: t.path, Pods: &controller.CustomPods{
				Template: pods, Name: c.Name + "-" + lower, Indexed: true, Replicas: orOne(roles[role].Replicas), Labels: labels,
				IndexLabel: trainingPrefix + "replica-index",
			}})
		}
		return out, nil
	}
}

// pyTorchParts reads a PyTorchJob. Its workers wait for the master in an init container.
func pyTorchParts(c *custom) ([]controller.CustomPart, error) {
	out, err := trainingParts("pytorchReplicaSpecs")(c)
	for i := range out {
		if strings.Contains(out[i].Path, ".Worker.") && len(out) > 1 {
			out[i].Initial = requests("50m", "10Mi")
		}
	}
	return out, err
}

// mpiParts reads an MPIJob. The launcher of v2beta1 is a Job.
func mpiParts(c *custom) ([]controller.CustomPart, error) {
	out, err := trainingParts("mpiReplicaSpecs")(c)
	for i := range out {
		p := out[i].Pods
		switch launcher := strings.Contains(out[i].Path, ".Launcher."); {
		case launcher && c.APIVersion == "kubeflow.org/v2beta1":
			j := &batchv1.Job{}
			j.Name = p.Name
			j.Spec.Template = *labelled(&p.Template, map[string]string{
				trainingName: c.Name, trainingPrefix + "job-role": "launcher", trainingPrefix + "operator-name": "mpi-operator",
			})
			out[i] = controller.CustomPart{Path: strings.TrimSuffix(out[i].Path, ".template"), Job: j}
		case c.APIVersion == "kubeflow.org/v2beta1":
			p.Labels = map[string]string{
				trainingName: c.Name, trainingPrefix + "job-role": "worker", trainingPrefix + "operator-name": "mpi-operator",
			}
		case launcher:
			p.Indexed, p.IndexLabel = false, ""
		}
	}
	return out, err
}

func requests(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
