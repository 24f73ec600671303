package manifest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// queued describes the queue: the object, the pods, their controller and the labels that their controllers add.
func queued(s *kube.Snapshot) []string {
	var out []string
	for _, e := range s.Queue {
		t := s.Cluster.PodTemplates[e.Pods.Pod.GetTemplateIndex()]
		labels := maps.Clone(t.Labels)
		maps.Copy(labels, e.Pods.Pod.Labels)
		line := fmt.Sprintf("%s: %s x%d by %s", e.Origin.Kind, e.Pods.Pod.Name, e.Pods.PodCount(), t.Controller.GetKind())
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if key != "app" && key != "role" && key != "job-name" && !strings.HasSuffix(key, "hash") {
				line += " " + key[strings.LastIndex(key, "/")+1:] + "=" + labels[key]
			}
		}
		out = append(out, line)
	}
	return out
}

const pod = `spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`

var customs = []struct {
	name, text string
	queued     []string
	unread     []string
}{
	{"Rollout", `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: rollouts-demo}
spec:
  replicas: 5
  strategy: {canary: {steps: [{setWeight: 20}, {pause: {}}]}}
  revisionHistoryLimit: 2
  selector: {matchLabels: {app: rollouts-demo}}
  template: {metadata: {labels: {app: rollouts-demo}}, ` + pod + `}
`, []string{"Rollout: rollouts-demo-79d5c68967 x5 by ReplicaSet"}, nil},
	{"CloneSet", `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: sample}
spec:
  replicas: 3
  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 2}
  selector: {matchLabels: {app: sample}}
  template: {metadata: {labels: {app: sample}}, ` + pod + `}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
`, []string{"CloneSet:  x3 by CloneSet"}, nil}, // each pod has claims of its own, so that the pods share no name
	{"StatefulSet of OpenKruise", `
apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata: {name: sample}
spec:
  replicas: 2
  serviceName: fake-service
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 20%}}
  selector: {matchLabels: {app: sample}}
  template: {metadata: {labels: {app: sample}}, ` + pod + `}
`, []string{
		"StatefulSet: sample-0 x1 by StatefulSet pod-name=sample-0", "StatefulSet: sample-1 x1 by StatefulSet pod-name=sample-1",
	}, nil},
	{"LeaderWorkerSet", `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    restartPolicy: RecreateGroupOnPodRestart
    leaderTemplate: {metadata: {labels: {role: leader}}, ` + pod + `}
    workerTemplate: {` + pod + `}
`, []string{
		"LeaderWorkerSet: vllm-0 x1 by StatefulSet pod-index=0 name=vllm worker-index=0 pod-name=vllm-0",
		"LeaderWorkerSet: vllm-1 x1 by StatefulSet pod-index=1 name=vllm worker-index=0 pod-name=vllm-1",
		"LeaderWorkerSet: vllm-0-1 x1 by StatefulSet pod-index=1 group-index=0 name=vllm pod-name=vllm-0-1",
		"LeaderWorkerSet: vllm-0-2 x1 by StatefulSet pod-index=2 group-index=0 name=vllm pod-name=vllm-0-2",
		"LeaderWorkerSet: vllm-1-1 x1 by StatefulSet pod-index=1 group-index=1 name=vllm pod-name=vllm-1-1",
		"LeaderWorkerSet: vllm-1-2 x1 by StatefulSet pod-index=2 group-index=1 name=vllm pod-name=vllm-1-2",
	}, nil},
	{"JobSet", `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: training}
spec:
  failurePolicy: {maxRestarts: 3}
  replicatedJobs:
  - name: driver
    template: {spec: {completionMode: NonIndexed, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
  - name: workers
    replicas: 2
    template: {spec: {parallelism: 2, completions: 2, backoffLimit: 0, template: {spec: {containers: [{name: c, image: i}]}}}}
`, []string{
		"JobSet: training-driver-0 x1 by Job job-name=training-driver-0 job-index=0 jobset-name=training " +
			"replicatedjob-name=driver replicatedjob-replicas=1 restart-attempt=0",
		"JobSet: training-workers-0-0 x1 by Job job-completion-index=0 job-name=training-workers-0 job-index=0 " +
			"jobset-name=training replicatedjob-name=workers replicatedjob-replicas=2 restart-attempt=0",
		"JobSet: training-workers-0-1 x1 by Job job-completion-index=1 job-name=training-workers-0 job-index=0 " +
			"jobset-name=training replicatedjob-name=workers replicatedjob-replicas=2 restart-attempt=0",
		"JobSet: training-workers-1-0 x1 by Job job-completion-index=0 job-name=training-workers-1 job-index=1 " +
			"jobset-name=training replicatedjob-name=workers replicatedjob-replicas=2 restart-attempt=0",
		"JobSet: training-workers-1-1 x1 by Job job-completion-index=1 job-name=training-workers-1 job-index=1 " +
			"jobset-name=training replicatedjob-name=workers replicatedjob-replicas=2 restart-attempt=0",
	}, nil},
	{"Job of Volcano", `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: lm-mpi}
spec:
  minAvailable: 2
  schedulerName: default-scheduler
  plugins: {ssh: [], svc: []}
  tasks:
  - {replicas: 1, name: mpimaster, policies: [{event: TaskCompleted, action: CompleteJob}], template: {` + pod + `}}
  - {replicas: 2, name: mpiworker, template: {` + pod + `}}
`, []string{
		"Job: lm-mpi-mpimaster-0 x1 by Job job-name=lm-mpi queue-name=default task-index=0 task-spec=mpimaster",
		"Job: lm-mpi-mpiworker-0 x1 by Job job-name=lm-mpi queue-name=default task-index=0 task-spec=mpiworker",
		"Job: lm-mpi-mpiworker-1 x1 by Job job-name=lm-mpi queue-name=default task-index=1 task-spec=mpiworker",
	}, nil},
	{"PyTorchJob", `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, restartPolicy: OnFailure, template: {` + pod + `}}
    Worker: {replicas: 2, restartPolicy: OnFailure, template: {spec: {containers: [{name: pytorch, image: i, resources: {limits: {cpu: 20m, memory: 1Gi}}}]}}}
`, []string{
		"PyTorchJob: mnist-master-0 x1 by PyTorchJob job-name=mnist job-role=master operator-name=pytorchjob-controller replica-index=0 replica-type=master",
		"PyTorchJob: mnist-worker-0 x1 by PyTorchJob job-name=mnist operator-name=pytorchjob-controller replica-index=0 replica-type=worker",
		"PyTorchJob: mnist-worker-1 x1 by PyTorchJob job-name=mnist operator-name=pytorchjob-controller replica-index=1 replica-type=worker",
	}, []string{"spec.pytorchReplicaSpecs.Worker.template.spec"}},
	{"TFJob", `
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: dist}
spec:
  tfReplicaSpecs:
    PS: {template: {` + pod + `}}
    Worker: {replicas: 1, template: {` + pod + `}}
`, []string{
		"TFJob: dist-ps-0 x1 by TFJob job-name=dist operator-name=tfjob-controller replica-index=0 replica-type=ps",
		"TFJob: dist-worker-0 x1 by TFJob job-name=dist operator-name=tfjob-controller replica-index=0 replica-type=worker",
	}, nil},
	{"MPIJob", `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {` + pod + `}}
    Worker: {replicas: 1, template: {` + pod + `}}
`, []string{
		"MPIJob: pi-launcher x1 by Job job-name=pi-launcher job-name=pi job-role=launcher operator-name=mpi-operator",
		"MPIJob: pi-worker-0 x1 by MPIJob job-name=pi job-role=worker operator-name=mpi-operator replica-index=0",
	}, nil},
	{"RayCluster", `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  rayVersion: 2.46.0
  enableInTreeAutoscaling: true
  headGroupSpec: {rayStartParams: {dashboard-host: 0.0.0.0}, template: {` + pod + `}}
  workerGroupSpecs:
  - {groupName: small, replicas: 1, minReplicas: 2, maxReplicas: 5, rayStartParams: {}, template: {` + pod + `}}
  - {groupName: slices, replicas: 2, numOfHosts: 4, template: {` + pod + `}}
`, []string{
		"RayCluster: ray-head x1 by RayCluster created-by=kuberay-operator name=kuberay cluster=ray group=headgroup identifier=ray-head is-ray-node=yes node-type=head",
		"RayCluster: ray-small-worker x2 by RayCluster created-by=kuberay-operator name=kuberay cluster=ray group=small identifier=ray-worker is-ray-node=yes node-type=worker",
		"RayCluster: ray-slices-worker x8 by RayCluster created-by=kuberay-operator name=kuberay cluster=ray group=slices identifier=ray-worker is-ray-node=yes node-type=worker",
	}, []string{"spec.headGroupSpec.template.spec"}},
}

func TestCustomWorkloads(t *testing.T) {
	for _, c := range customs {
		s := read(t, strings.NewReader(c.text))
		if d := cmp.Diff(c.queued, queued(s)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
		var unread []string
		for _, u := range s.Unread {
			unread = append(unread, u.Field)
		}
		if d := cmp.Diff(c.unread, unread); d != "" {
			t.Errorf("%s: unread (-want +got)\n%s", c.name, d)
		}
	}
}

func TestCustomWorkloadsWithAGeneratedName(t *testing.T) {
	one := strings.Replace(customs[9].text, "metadata: {name: ray}", "metadata: {generateName: ray-}", 1)
	want := []string{"RayCluster ray-* ray-*-head", "RayCluster ray-*2 ray-*-head"}
	var got []string
	for _, e := range read(t, strings.NewReader(one+"---\n"+one)).Queue {
		if strings.HasSuffix(e.Pods.Pod.Name, "-head") {
			got = append(got, e.Origin.Kind+" "+e.Origin.Name+" "+e.Pods.Pod.Name)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The pods of a custom resource of a cluster are objects of their own, and none are made for it.
func TestCustomWorkloadsOfAClusterHaveTheirPods(t *testing.T) {
	for _, c := range customs {
		state := strings.Replace(c.text, "metadata: {", "metadata: {uid: u, ", 1)
		s := read(t, strings.NewReader(state))
		if len(s.Queue) != 0 || len(s.Existing) != 1 || len(s.Incomplete) != 1 {
			t.Errorf("%s: %d pods, existing %v, without pods %v", c.name, len(s.Queue), s.Existing, s.Incomplete)
		}
		owned := "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, ownerReferences: [{apiVersion: v1, kind: X, name: x, uid: u}]}, spec: {nodeName: a, containers: [{name: c, image: i}]}}"
		s = read(t, strings.NewReader(state+"---\n"+owned))
		if len(s.Incomplete) != 0 {
			t.Errorf("%s: without pods %v", c.name, s.Incomplete)
		}
		r := manifest.NewReader(kube.Options{})
		again := strings.Replace(c.text, "name: c,", "name: other,", 1)
		for i, text := range []string{state, c.text, again} {
			if err := r.Read(fmt.Sprint(i), strings.NewReader(text)); err != nil {
				t.Fatal(c.name, err)
			}
		}
		if s, err := r.Snapshot(); err != nil || len(s.Queue) != 0 {
			t.Error(c.name, err, s.Queue)
		} else if changed := strings.Contains(c.text, "name: c,"); changed != (len(s.Undecided) == 1) || changed != (len(r.Notices()) == 1) {
			t.Errorf("%s: undecided %v, notices %v", c.name, s.Undecided, r.Notices())
		}
	}
}

func TestCustomWorkloadsWithoutPods(t *testing.T) {
	for _, text := range []string{
		strings.Replace(customs[4].text, "spec:", "spec:\n  suspend: true", 1),
		strings.Replace(customs[6].text, "spec:", "spec:\n  runPolicy: {suspend: true}", 1),
		strings.Replace(customs[9].text, "spec:", "spec:\n  suspend: true", 1),
		customs[4].text + "status: {conditions: [{type: Completed, status: 'True'}]}\n",
		customs[5].text + "status: {state: {phase: Aborted}}\n",
	} {
		if s := read(t, strings.NewReader(text)); len(s.Queue) != 0 {
			t.Errorf("%s\nhas %d pods", text, len(s.Queue))
		}
	}
	// A Rollout is complete once it has rolled out, and runs.
	text := strings.Replace(customs[0].text, "metadata: {", "metadata: {uid: u, ", 1) + "status: {conditions: [{type: Completed, status: 'True'}]}\n"
	if s := read(t, strings.NewReader(text)); len(s.Incomplete) != 1 {
		t.Error(s.Incomplete)
	}
}

func TestTemplatesOfCustomWorkloadsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Rollout\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: r}\nspec: {template: {spec: {contaners: []}}}"://
		`input: document 1: Rollout r: spec.template: unknown field "spec.contaners"`,
		"kind: Rollout\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: r}\nspec: {}":                                                                   `Rollout r: spec.template: Required value`,
		"kind: JobSet\napiVersion: jobset.x-k8s.io/v1alpha2\nmetadata: {name: j}\nspec: {replicatedJobs: [{name: a, template: {spec: {paralelism: 1}}}]}":  `JobSet j: spec.replicatedJobs[0].template: unknown field "spec.paralelism"`,
		"kind: JobSet\napiVersion: jobset.x-k8s.io/v1alpha2\nmetadata: {name: j}\nspec: {replicatedJobs: [{name: a, replicas: 2000000000}]}":               `JobSet j: spec.replicatedJobs[0].template: Required value`,
		"kind: JobSet\napiVersion: jobset.x-k8s.io/v1alpha2\nmetadata: {name: j}\nspec: {replicatedJobs: [{name: a, replicas: 2000000000, template: {}}]}": `JobSet j: spec.replicatedJobs[0].replicas: Too many`,
		"kind: RayCluster\napiVersion: ray.io/v1\nmetadata: {name: r}\nspec: {headGroupSpec: {template: {spec: {}}}, workerGroupSpecs: [{replicas: -1}]}":  `RayCluster r: spec.workerGroupSpecs[0]`,
		"kind: Rollout\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: r}\nspec: {replicas: many}":                                                     `Rollout r: spec: replicas: must be an integer, is a string`,
	} {
		err := manifest.NewReader(kube.Options{}).Read("input", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// Notices name unknown parts: a template elsewhere, an affinity that the controller adds, pods that are created one by one.
func TestCustomWorkloadsThatAreNotRead(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	if err := r.Read("input", strings.NewReader(`
{kind: Rollout, apiVersion: argoproj.io/v1alpha1, metadata: {name: a}, spec: {replicas: 2, workloadRef: {kind: Deployment, name: d}}}
---
{kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, metadata: {name: a, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}},
  spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}]}}
---
{kind: Kafka, apiVersion: kafka.strimzi.io/v1beta2, metadata: {name: a}, spec: {kafka: {replicas: 3}}}
---
{kind: Elasticsearch, apiVersion: elasticsearch.k8s.elastic.co/v1, metadata: {name: a}, spec: {nodeSets: [{name: default, count: 3}]}}
---
{kind: Service, apiVersion: serving.knative.dev/v1, metadata: {name: a}, spec: {template: {spec: {containers: [{image: i}]}}}}
---
{kind: Workflow, apiVersion: argoproj.io/v1alpha1, metadata: {generateName: a-}, spec: {entrypoint: e, templates: [{name: e, container: {image: i}}]}}
---
{kind: TrainJob, apiVersion: trainer.kubeflow.org/v1alpha1, metadata: {name: a}, spec: {runtimeRef: {name: torch}}}
---
{kind: Cluster, apiVersion: postgresql.cnpg.io/v1, metadata: {name: a}, spec: {instances: 3}}
---
{kind: Application, apiVersion: argoproj.io/v1alpha1, metadata: {name: a}, spec: {project: default}}
---
{kind: Rollout, apiVersion: argoproj.io/v2, metadata: {name: a}, spec: {template: {spec: {containers: [{name: c, image: i}]}}}}
`)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{
		"1 Cluster", "1 Elasticsearch", "1 JobSet with an exclusive topology", "1 Kafka", "1 Rollout", "1 Rollout with a workloadRef", "1 Service.serving.knative.dev", "1 TrainJob", "1 Workflow",
	}, r.SkippedWorkloads()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if s := r.Skipped(); !slices.Contains(s, "1 Application") {
		t.Error(s)
	}
}

// TestRayJobsByTheirSubmission: what submits a job is a pod, a container of the head or nothing.
func TestRayJobsByTheirSubmission(t *testing.T) {
	const cluster = "rayClusterSpec: {headGroupSpec: {template: {" + pod + "}}}"
	for spec, want := range map[string]string{
		cluster:                                                          "a pod that submits the job",
		"submissionMode: K8sJobMode, " + cluster:                         "a pod that submits the job",
		"submissionMode: SidecarMode, " + cluster:                        "a container that submits the job to the head",
		"submissionMode: HTTPMode, " + cluster:                           "",
		"submissionMode: InteractiveMode, " + cluster:                    "",
		"clusterSelector: {ray.io/cluster: c}":                           "not read",
		"submissionMode: HTTPMode, clusterSelector: {ray.io/cluster: c}": "nothing",
	} {
		r := manifest.NewReader(kube.Options{})
		text := "kind: RayJob\napiVersion: ray.io/v1\nmetadata: {name: r}\nspec: {" + spec + "}"
		if err := r.Read("input", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		s, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, u := range s.Unread {
			got += u.GetConsequence()
		}
		switch {
		case len(r.SkippedWorkloads()) > 0:
			got = "not read"
		case len(s.Queue) == 0:
			got = "nothing"
		}
		if got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}
