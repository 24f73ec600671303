package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/apply"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

const (
	podTemplate = `template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	jobTemplate = `template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}`
	edited      = `template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {d: s}, containers: [{name: c, image: i}]}}`
	selectsPods = `selector: {matchLabels: {a: b}}`
	owned       = `labels: {a: b}, ownerReferences: [{apiVersion: v1, kind: StatefulSet, name: w, uid: u, controller: true}]`
	// pods are two that are pending, one of them since its node is gone, and one on a node.
	pods = "{apiVersion: v1, kind: Pod, metadata: {name: w-4, uid: w4, " + owned + "}, spec: {nodeName: a}}\n---\n" +
		"{apiVersion: v1, kind: Pod, metadata: {name: w-5, uid: w5, " + owned + "}}\n---\n" +
		"{apiVersion: v1, kind: Pod, metadata: {name: w-6, uid: w6, " + owned + "}, spec: {nodeName: gone}}"
)

// TestChangesOfWorkloads applies a manifest to a workload of a cluster. "state" and "change" are the specs, "more" is further
// objects of the cluster.
func TestChangesOfWorkloads(t *testing.T) {
	for _, c := range []struct {
		name, kind, state, status, change, more string
		want                                    []string
	}{
		{name: "nothing", kind: "apps/v1 Deployment", state: "replicas: 2, " + podTemplate, change: "replicas: 2, " + podTemplate},
		{
			name: "the default number of replicas is 1", kind: "apps/v1 Deployment", state: "replicas: 1, " + selectsPods + ", " + podTemplate,
			change: podTemplate,
		},
		{
			name: "more replicas", kind: "apps/v1 Deployment", state: "replicas: 2, " + selectsPods + ", " + podTemplate,
			change: "replicas: 5, " + podTemplate, want: []string{"3 pods w"},
		},
		{
			name: "of the revision that the pods have", kind: "apps/v1 Deployment", state: "replicas: 1, " + selectsPods + ", " + podTemplate,
			change: "replicas: 2",
			more:   "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, labels: {a: b, pod-template-hash: abc}}, spec: {nodeName: a}}",
			want:   []string{"1 pods w of revision abc"},
		},
		{
			name: "of several revisions", kind: "apps/v1 Deployment", state: "replicas: 1, " + selectsPods + ", " + podTemplate,
			change: "replicas: 2",
			more: "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, labels: {a: b, pod-template-hash: abc}}, spec: {nodeName: a}}\n---\n" +
				"{apiVersion: v1, kind: Pod, metadata: {name: q, uid: q, labels: {a: b, pod-template-hash: old}}, spec: {nodeName: a}}",
			want: []string{"1 more replicas are not placed"},
		},
		{
			name: "an edited template", kind: "apps/v1 Deployment", state: "replicas: 2, " + podTemplate, change: "replicas: 3, " + edited,
			want: []string{"its template changes"},
		},
		{
			name: "a rollout that is paused", kind: "apps/v1 Deployment", state: "paused: true, replicas: 2, " + podTemplate, change: edited,
		},
		{
			name: "fewer replicas", kind: "apps/v1 Deployment", state: "replicas: 3, " + selectsPods + ", " + podTemplate, change: "replicas: 1",
			more: pods, want: []string{"1 pods w-5", "1 pods w-6", "of 3 replicas 1 remain"},
		},
		{
			name: "none", kind: "apps/v1 Deployment", state: "replicas: 3, " + selectsPods + ", " + podTemplate, change: "replicas: 0",
			more: strings.ReplaceAll(pods, "kind: StatefulSet", "kind: ReplicaSet"),
		},
		{
			name: "fewer ordinals", kind: "apps/v1 StatefulSet", state: "ordinals: {start: 4}, replicas: 3, " + podTemplate, change: "replicas: 2",
			more: pods, want: []string{"1 pods w-5"},
		},
		{
			name: "a Job that stops with its pods", kind: "batch/v1 Job", state: "parallelism: 3, " + jobTemplate, change: "suspend: true",
			more: pods,
		},
		{
			name: "further ordinals", kind: "apps/v1 StatefulSet", state: "ordinals: {start: 5}, replicas: 1, " + podTemplate, change: "replicas: 3",
			want: []string{"1 pods w-6", "1 pods w-7"},
		},
		{
			name: "pods that are replaced by hand", kind: "apps/v1 StatefulSet",
			state: "updateStrategy: {type: OnDelete}, replicas: 1, " + podTemplate, change: "replicas: 2, " + edited, want: []string{"1 pods w-1 on d=s"},
		},
		{
			name: "an edited set", kind: "apps/v1 StatefulSet", state: podTemplate, change: edited, want: []string{"its template changes"},
		},
		{
			name: "an edited daemon", kind: "apps/v1 DaemonSet", state: podTemplate, change: edited, want: []string{"its template changes"},
		},
		{name: "a daemon", kind: "apps/v1 DaemonSet", state: podTemplate, change: podTemplate},
		{
			name: "a ReplicaSet of its own does not replace its pods", kind: "apps/v1 ReplicaSet", state: "replicas: 1, " + podTemplate,
			change: "replicas: 2, " + edited, want: []string{"1 pods w on d=s"},
		},
		{
			name: "a controller", kind: "v1 ReplicationController", state: "replicas: 1, " + podTemplate, change: "replicas: 2",
			want: []string{"1 pods w"},
		},
		{
			name: "a Job that may run more pods", kind: "batch/v1 Job", state: "parallelism: 2, completions: 9, " + jobTemplate,
			status: "succeeded: 5", change: "parallelism: 8", want: []string{"2 pods w"},
		},
		{
			name: "a Job that begins", kind: "batch/v1 Job", state: "suspend: true, completionMode: Indexed, parallelism: 2, completions: 2, " + jobTemplate,
			change: "suspend: false", want: []string{"1 pods w-0", "1 pods w-1"},
		},
		{
			name: "an indexed Job that runs", kind: "batch/v1 Job", state: "completionMode: Indexed, parallelism: 1, completions: 3, " + jobTemplate,
			change: "parallelism: 2", want: []string{"1 more pods are not placed"},
		},
		{
			name: "a Job with fewer pods", kind: "batch/v1 Job", state: "parallelism: 2, " + jobTemplate, change: "parallelism: 1",
			want: []string{"of 2 replicas 1 remain"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(c.kind, " ")
			if strings.HasPrefix(apiVersion, "apps/") && !strings.Contains(c.state, selectsPods) {
				c.state = selectsPods + ", " + c.state
			}
			head := "{apiVersion: " + apiVersion + ", kind: " + kind
			state := fmt.Sprintf("%s, metadata: {name: w, uid: u}, spec: {%s}, status: {%s}}", head, c.state, c.status)
			if c.more != "" {
				state += "\n---\n" + c.more
			}
			state += "\n---\n{apiVersion: v1, kind: Node, metadata: {name: a}}"
			change := fmt.Sprintf("%s, metadata: {name: w}, spec: {%s}}", head, c.change)
			for _, files := range [][]string{{state, change}, {change, state}, {state, change, change}} {
				if diff := cmp.Diff(c.want, queueOf(t, files...), matchPrefix); diff != "" {
					t.Errorf("%d files (-want +got)\n%s", len(files), diff)
				}
			}
		})
	}
}

// matchPrefix compares texts. One may be the beginning of the other.
var matchPrefix = cmp.Comparer(func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) })

// queueOf reads files, and lists the pods to place and what is not decided.
func queueOf(t *testing.T, files ...string) (out []string) {
	t.Helper()
	r := manifest.NewReader(kube.Options{})
	r.Apply = apply.Manifest
	for i, text := range files {
		if err := r.Read(fmt.Sprint(i), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Misreads {
		out = append(out, m.Error())
	}
	for _, e := range s.Queue {
		pod := e.Pods.Pod
		line := fmt.Sprintf("%d pods %s", e.Pods.PodCount(), pod.Name)
		template := s.Cluster.PodTemplates[pod.GetTemplateIndex()]
		if hash := template.Labels["pod-template-hash"]; hash == "abc" {
			line += " of revision " + hash
		}
		for key, value := range template.GetSpec().GetNodeSelector() {
			line += " on " + key + "=" + value
		}
		out = append(out, line)
	}
	for _, u := range s.Undecided {
		out = append(out, u.Message)
	}
	return out
}

// TestObjectsOfOneIdentity reads the pods of a node that three files state.
func TestObjectsOfOneIdentity(t *testing.T) {
	const (
		live = `{apiVersion: v1, kind: Node, metadata: {name: a, uid: u, labels: {zone: x, own: z}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"metadata":{"labels":{"zone":"x"}}}'}}, status: {allocatable: {pods: 9}}}`
		mine = `{apiVersion: v1, kind: Node, metadata: {name: a, labels: {disk: ssd}}, status: {allocatable: {pods: 1}}}`
		next = `{apiVersion: v1, kind: Node, metadata: {name: a, labels: {cpu: fast}}}`
	)
	for _, c := range []struct {
		name    string
		files   []string
		labels  map[string]string
		pods    int64
		notices []string
	}{
		{"a field that was applied before is removed, others stay", []string{live, mine}, map[string]string{"own": "z", "disk": "ssd"}, 9, []string{
			"1: document 1: Node a: its status is ignored, as by kubectl apply", "1: document 1: Node a changes 0: document 1: Node a",
		}},
		{"in any order", []string{mine, live}, map[string]string{"own": "z", "disk": "ssd"}, 9, []string{
			"0: document 1: Node a: its status is ignored, as by kubectl apply", "0: document 1: Node a changes 1: document 1: Node a",
		}},
		{"one after the other", []string{live, mine, next}, map[string]string{"own": "z", "cpu": "fast"}, 9, []string{
			"1: document 1: Node a: its status is ignored, as by kubectl apply", "1: document 1: Node a changes 0: document 1: Node a",
			"2: document 1: Node a changes 1: document 1: Node a",
		}},
		{"manifests alone", []string{mine, next}, map[string]string{"cpu": "fast"}, 0, []string{
			"1: document 1: Node a replaces 0: document 1: Node a",
		}},
		{"the same manifest", []string{mine, mine}, map[string]string{"disk": "ssd"}, 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := manifest.NewReader(kube.Options{})
			r.Apply = apply.Manifest
			for i, text := range c.files {
				if err := r.Read(fmt.Sprint(i), strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
			}
			s, err := r.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			n := s.Cluster.Nodes[0]
			labels, allocatable := n.Labels, n.Allocatable
			if n.ClassIndex != nil {
				labels, allocatable = s.Cluster.NodeClasses[*n.ClassIndex].Labels, s.Cluster.NodeClasses[*n.ClassIndex].Allocatable
			}
			if diff := cmp.Diff(c.labels, labels); diff != "" {
				t.Errorf("labels (-want +got)\n%s", diff)
			}
			if got := allocatable.GetPods(); got != c.pods {
				t.Errorf("%d pods, want %d", got, c.pods)
			}
			if diff := cmp.Diff(c.notices, r.Notices()); diff != "" {
				t.Errorf("notices (-want +got)\n%s", diff)
			}
		})
	}
}

func TestPodsThatExistKeepTheirSpec(t *testing.T) {
	const live = `{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {schedulingGates: [{name: g}], containers: [{name: c, image: i}], tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}, {key: own}]}}`
	for spec, want := range map[string]string{
		"containers: [{name: c, image: j}], tolerations: [{key: own}, {key: more}]": "",
		"containers: [{name: c, image: i}], tolerations: [{key: more}]":             "spec.tolerations: Forbidden",
		"containers: [{name: c, image: i}], nodeSelector: {a: b}":                   "spec: Forbidden",
		"containers: [{name: d, image: i}]":                                         "spec: Forbidden",
	} {
		r := manifest.NewReader(kube.Options{})
		r.Apply = apply.Manifest
		if err := r.Read("cluster", strings.NewReader(live)); err != nil {
			t.Fatal(err)
		}
		err := r.Read("change", strings.NewReader("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {"+spec+"}}"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

func TestAnnotationsThatAreNoManifestAreErrors(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	r.Apply = apply.Manifest
	if err := r.Read("cluster", strings.NewReader(`{apiVersion: v1, kind: Service, metadata: {name: s, uid: u, annotations: {kubectl.kubernetes.io/last-applied-configuration: "[1"}}}`)); err != nil {
		t.Fatal(err)
	}
	err := r.Read("change", strings.NewReader(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {a: b}}}`))
	if err == nil || !strings.Contains(err.Error(), "change: document 1: Service s: cannot be applied: ") {
		t.Error(err)
	}
}

func TestWithoutApplyAManifestOfAnObjectOfAClusterIsAnError(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	if err := r.Read("cluster", strings.NewReader(`{apiVersion: v1, kind: Node, metadata: {name: a, uid: u}}`)); err != nil {
		t.Fatal(err)
	}
	err := r.Read("change", strings.NewReader(`{apiVersion: v1, kind: Node, metadata: {name: a}}`))
	if err == nil || !strings.Contains(err.Error(), "change: document 1: Node a: metadata.name: Duplicate value") {
		t.Error(err)
	}
}

// FuzzMerge applies a manifest to an object of a cluster, with another one that was applied last, and expects no panic.
func FuzzMerge(f *testing.F) {
	for _, kind := range []string{"apps/v1 Deployment", "apps/v1 StatefulSet", "v1 Pod", "v1 Node", "batch/v1 Job"} {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		f.Add(apiVersion, kind, "replicas: 1, "+podTemplate, `{"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c"}]}}}}`, "replicas: 3, "+edited)
		f.Add(apiVersion, kind, "containers: [{name: c, image: i}]", `{"spec":[1]}`, "containers: [{name: c, image: i}], tolerations: [{key: k}]")
		f.Add(apiVersion, kind, "", "[]", "taints: [{key: k, effect: NoSchedule}]")
	}
	f.Fuzz(func(_ *testing.T, apiVersion, kind, state, last, change string) {
		r := manifest.NewReader(kube.Options{})
		r.Apply = apply.Manifest
		if err := r.Read("cluster", strings.NewReader(fmt.Sprintf(
			"{apiVersion: %s, kind: %s, metadata: {name: w, uid: u, annotations: {kubectl.kubernetes.io/last-applied-configuration: %q}}, spec: {%s}}",
			apiVersion, kind, last, state))); err != nil {
			return
		}
		if err := r.Read("change", strings.NewReader(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: w}, spec: {%s}}", apiVersion, kind, change))); err != nil {
			return
		}
		if _, err := r.Snapshot(); err != nil {
			return // text that is not UTF-8
		}
	})
}
