package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestPodGroup(t *testing.T) {
	for _, c := range []struct {
		name, group string
		want        string
	}{
		{"a gang", `{metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 3}}}}`, `{name: default/g, minCount: 3}`},
		{"a priority", `{metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}, priority: 5}}`, `{name: default/g, minCount: 1, priority: 5}`},
		{"a disruption mode", `{metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}, disruptionMode: {all: {}}}}`,
			`{name: default/g, minCount: 1, disruptionMode: POD_GROUP_DISRUPTION_MODE_ALL}`},
		{"the other disruption mode", `{metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}, disruptionMode: {single: {}}}}`,
			`{name: default/g, minCount: 1}`},
		{"the API server's priority", `{metadata: {name: g, uid: u}, spec: {schedulingPolicy: {basic: {}}}}`, `{name: default/g, minCount: 1, priority: 0}`},
		{"each for itself", `{metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}}}`, `{name: default/g, minCount: 1}`},
		{"each for itself, in one domain", `
metadata: {name: g}
spec: {schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: rack}]}}
`, `{name: default/g, minCount: 1, topology: {keys: [rack]}}`},
		{"all extras", `
metadata:
  name: g
  annotations:
    stowage.scheduling/mode: joint
    stowage.scheduling/topology-policy: preferred
    stowage.scheduling/topology-levels: block, topology.kubernetes.io/zone
    stowage.scheduling/max-steps: "1000"
spec: {schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: rack}]}}
`, `
name: default/g
minCount: 2
mode: POD_GROUP_MODE_JOINT
maxSteps: 1000
topology: {keys: [rack, block, topology.kubernetes.io/zone], policy: POD_GROUP_TOPOLOGY_POLICY_PREFERRED}
`},
		{"as many as fit together", `
{metadata: {name: g, annotations: {stowage.scheduling/mode: joint}}, spec: {schedulingPolicy: {basic: {}}}}
`, `{name: default/g, minCount: 1, mode: POD_GROUP_MODE_JOINT}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := convert.PodGroup(unstructuredOf(t, c.group))
			must(t, err)
			diff(t, message(t, &stowagev1.PodGroup{}, c.want), got)
		})
	}
}

func TestPodGroupNamesWhatIsWrongWithIt(t *testing.T) {
	for _, c := range []struct{ group, want string }{
		{`{}`, `spec.schedulingPolicy: Required value: one of basic and gang`},
		{`{spec: {schedulingPolicy: {basic: {}, gang: {minCount: 1}}}}`, `spec.schedulingPolicy: Forbidden: has both basic and gang`},
		{`{spec: {schedulingPolicy: {gang: {}}}}`, `spec.schedulingPolicy.gang.minCount: Invalid value: 0: must be at least 1`},
		{`{metadata: {annotations: {stowage.scheduling/mode: jointly}}, spec: {schedulingPolicy: {basic: {}}}}`,
			`metadata.annotations[stowage.scheduling/mode]: Unsupported value: "jointly": supported values: "", "in-order", "joint"`},
		{`{metadata: {annotations: {stowage.scheduling/max-steps: "0"}}, spec: {schedulingPolicy: {basic: {}}}}`,
			`metadata.annotations[stowage.scheduling/max-steps]: Invalid value: "0": must be a positive number`},
		{`{spec: {schedulingPolicy: {basic: {}}, parentCompositePodGroupName: all}}`,
			`spec.parentCompositePodGroupName: Forbidden: kube-scheduler places the groups of a composite pod group together`},
		{`{metadata: {annotations: {stowage.scheduling/topology-policy: preferred}}, spec: {schedulingPolicy: {basic: {}}}}`,
			`metadata.annotations[stowage.scheduling/topology-policy]: Forbidden: the group has no topology`},
		{`{metadata: {annotations: {stowage.scheduling/topology-levels: rack}}, spec: {schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: rack}]}}}`,
			`metadata.annotations[stowage.scheduling/topology-levels]: Duplicate value: "rack"`},
		{`{spec: {schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: ""}]}}}`,
			`spec.schedulingConstraints.topology[0].key: Invalid value: "": name part must be non-empty`},
		{`{metadata: {annotations: {stowage.scheduling/topology-levels: "a,b,c,d,e,f,g,h,i"}}, spec: {schedulingPolicy: {basic: {}}}}`,
			`metadata.annotations[stowage.scheduling/topology-levels]: Too many: 9: must have at most 8 items`},
	} {
		_, err := convert.PodGroup(unstructuredOf(t, c.group))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestCompositePodGroupsAreRefused(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	err := b.AddCompositePodGroup(parse[metav1.PartialObjectMetadata](t, `{metadata: {name: all}}`))
	const want = "CompositePodGroup default/all: spec: Forbidden: " +
		"kube-scheduler places the groups of a composite pod group together, which is not supported"
	if m, ok := errors.AsType[*kube.Misread](err); !ok || m.Error() != want {
		t.Error(err)
	}
}

const training = `
metadata: {name: training, namespace: ml}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
`

func worker(replicas string) string {
	return `
metadata: {name: worker, namespace: ml}
spec: {replicas: ` + replicas + `, template: {spec: {schedulingGroup: {podGroupName: training}, containers: [{name: c}]}}}
`
}

// TestGroupsOfPodsOnNodes: the cluster has its groups, and the pods on nodes name them.
func TestGroupsOfPodsOnNodes(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t,
		`{metadata: {name: runs}, spec: {nodeName: a, schedulingGroup: {podGroupName: g}, containers: [{name: c}]}}`)))
	must(t, b.AddPodGroup(unstructuredOf(t,
		`{metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}, disruptionMode: {all: {}}}}`)))
	s := build(t, b)
	diff(t, []*stowagev1.PodGroup{{
		Name: "default/g", MinCount: new(uint32(1)), DisruptionMode: stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_ALL,
	}}, s.Cluster.PodGroups)
	if got := s.Cluster.PodTemplates[0].GetSpec().GetSchedulingGroup(); got != "g" || len(s.PodGroups) > 0 {
		t.Errorf("the pod is in group %q, the queue has %v", got, s.PodGroups)
	}
}

// TestUnreadFieldsOfGroupsOnNodes: where pods on nodes return to depends on fields of their groups, too, and which pods are
// preempted on the composite group.
func TestUnreadFieldsOfGroupsOnNodes(t *testing.T) {
	for _, c := range []struct {
		spec, unread string
		misread      bool
	}{
		{`parentCompositePodGroupName: all`, "PodGroup default/g spec.parentCompositePodGroupName", true},
		{`resourceClaims: [{name: gpu}]`, "PodGroup default/g spec.resourceClaims[0]", false},
	} {
		b := kube.NewBuilder(kube.Options{})
		must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
		must(t, b.AddPod(parse[corev1.Pod](t,
			`{metadata: {name: runs}, spec: {nodeName: a, schedulingGroup: {podGroupName: g}, containers: [{name: c}]}}`)))
		must(t, b.AddPodGroup(unstructuredOf(t, `{metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}, `+c.spec+`}}`)))
		s := build(t, b)
		diff(t, []string{c.unread}, told(s.Cluster.Nodes[0].Pods[0].Unread))
		if c.misread != (len(s.Misreads) == 1 && !s.Misreads[0].OwnPods) {
			t.Errorf("%s: misreads %v", c.spec, s.Misreads)
		}
	}
}

func TestPodsThatNameAGroupAreInIt(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: alone, namespace: ml}}`)))
	must(t, b.AddDeployment(parse[appsv1.Deployment](t, worker("2"))))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: head, namespace: ml}, spec: {schedulingGroup: {podGroupName: training}}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: loose, namespace: ml}, spec: {schedulingGroup: {podGroupName: loose}}}`)))
	b.From("groups.yaml: PodGroup training")
	must(t, b.AddPodGroup(unstructuredOf(t, training)))
	must(t, b.AddPodGroup(unstructuredOf(t, `{metadata: {name: loose, namespace: ml}, spec: {schedulingPolicy: {basic: {}}}}`)))
	must(t, b.AddPodGroup(unstructuredOf(t, `{metadata: {name: unused}, spec: {}}`)))
	s := build(t, b)
	r := s.PlaceRequest()
	loose := &stowagev1.PodGroup{Name: "ml/loose", MinCount: new(uint32(1))}
	diff(t, []*stowagev1.PodGroup{loose, {Name: "ml/training", MinCount: new(uint32(3))}}, s.Cluster.PodGroups)
	var groups []string
	for _, e := range r.Queue {
		groups = append(groups, e.PodGroup)
	}
	diff(t, []string{"", "ml/training", "ml/training", "ml/loose"}, groups)
	at, field, ok := s.Locate(r, "context.cluster.pod_groups[1].min_count")
	if at != "groups.yaml: PodGroup training" || field != "spec.schedulingPolicy.gang.minCount" || !ok {
		t.Error(at, field, ok)
	}

	s.PlaceRestJointly(0, 7)
	r = s.PlaceRequest()
	diff(t, []*stowagev1.PodGroup{
		{Name: kube.RestGroup, Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT, MaxSteps: new(uint32(7))},
	}, r.PodGroups)
	if r.Queue[0].PodGroup != kube.RestGroup || r.Queue[1].PodGroup != "ml/training" || r.Queue[3].PodGroup != "ml/loose" {
		t.Error(r.Queue)
	}
}

func TestJobsMakeTheirGroup(t *testing.T) {
	for _, c := range []struct{ scheduling, want string }{
		{`{schedulingPolicy: {gang: {}}}`, `{name: default/j-pgt-0, minCount: 3}`},
		{`{schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: rack}]}}`, `{name: default/j-pgt-0, minCount: 2, topology: {keys: [rack]}}`},
		{`{schedulingPolicy: {basic: {}}}`, `{name: default/j-pgt-0, minCount: 1}`},
		{`{schedulingPolicy: {gang: {minCount: 4}}}`, `spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 4: must be 1 to 3, the number of pods`},
	} {
		b := kube.NewBuilder(kube.Options{})
		err := b.AddJob(parse[batchv1.Job](t, `{metadata: {name: j}, spec: {parallelism: 3, scheduling: `+c.scheduling+`, template: {spec: {containers: [{name: c}]}}}}`))
		if err != nil {
			if err.Error() != "Job default/j: "+c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			diff(t, []string{"Job default/j: 3: not understood: " + c.want}, waiting(build(t, b)))
			continue
		}
		s := build(t, b)
		diff(t, []*stowagev1.PodGroup{message(t, &stowagev1.PodGroup{}, c.want)}, s.Cluster.PodGroups)
		if s.Queue[0].Pods.PodGroup != "default/j-pgt-0" || s.Queue[0].Pods.PodCount() != 3 {
			t.Error(s.Queue)
		}
	}
}

func TestWorkloadTemplatesStandForWhatPodGroupsLeaveOut(t *testing.T) {
	for _, c := range []struct{ ref, want string }{
		{`{workloadName: w, templateName: workers}`, ""},
		{`{workloadName: w, templateName: gone}`, `PodGroup ml/training: spec.workloadRef.templateName: Not found: "gone"`},
		{`{workloadName: gone, templateName: workers}`, `PodGroup ml/training: spec.workloadRef.workloadName: Not found: "gone"`},
	} {
		b := kube.NewBuilder(kube.Options{})
		must(t, b.AddDeployment(parse[appsv1.Deployment](t, worker("4"))))
		must(t, b.AddPodGroup(unstructuredOf(t, `{metadata: {name: training, namespace: ml}, spec: {workloadRef: `+c.ref+`}}`)))
		must(t, b.AddWorkload(unstructuredOf(t, `
metadata: {name: w, namespace: ml}
spec: {podGroupTemplates: [{name: workers, schedulingPolicy: {gang: {minCount: 4}}, schedulingConstraints: {topology: [{key: rack}]}}]}
`)))
		s := build(t, b)
		if c.want != "" {
			if len(s.Misreads) != 1 || s.Misreads[0].Error() != c.want {
				t.Errorf("got %v, want %s", s.Misreads, c.want)
			}
			diff(t, []string{`Deployment ml/worker: 4: waiting for pods's pod group "training" to appear in scheduling queue`}, waiting(s))
			continue
		}
		diff(t, []*stowagev1.PodGroup{{Name: "ml/training", MinCount: new(uint32(4)), Topology: &stowagev1.PodGroupTopology{Keys: []string{"rack"}}}}, s.Cluster.PodGroups)
	}
}

// TestPodsWaitForTheirGroup gives kube-scheduler's reasons: such pods are not in its queue, and the others are.
func TestPodsWaitForTheirGroup(t *testing.T) {
	const absent = `Deployment ml/worker: 2: waiting for pods's pod group "training" to appear in scheduling queue`
	for _, c := range []struct {
		name, group, want, misread string
	}{
		{"missing", ``, absent, ""},
		{"too few pods", training, "Deployment ml/worker: 2: waiting for minCount pods from a gang to appear in scheduling queue", ""},
		{"no policy", `{metadata: {name: training, namespace: ml}}`, absent, `group.yaml: spec.schedulingPolicy: Required value: one of basic and gang`},
	} {
		b := kube.NewBuilder(kube.Options{})
		b.From("web.yaml")
		must(t, b.AddDeployment(parse[appsv1.Deployment](t, worker("2"))))
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: other}}`)))
		if c.group != "" {
			b.From("group.yaml")
			must(t, b.AddPodGroup(unstructuredOf(t, c.group)))
		}
		s := build(t, b)
		diff(t, []string{c.want}, waiting(s))
		if len(s.Queue) != 1 || s.Queue[0].Origin.Name != "other" || len(s.PodGroups) > 0 {
			t.Errorf("%s: the queue is %v, of groups %v", c.name, s.Queue, s.PodGroups)
		}
		var misread string
		for _, m := range s.Misreads {
			misread += m.Error()
			if !m.OwnPods {
				t.Errorf("%s: %v concerns the cluster", c.name, m)
			}
		}
		diff(t, c.misread, misread)
	}
}

func waiting(s *kube.Snapshot) []string {
	var out []string
	for _, e := range s.Waiting {
		out = append(out, fmt.Sprintf("%s: %d: %s", e.Origin, e.Pods.PodCount(), e.Message))
	}
	return out
}

func told(fields []*stowagev1.UnreadField) []string {
	var out []string
	for _, u := range fields {
		out = append(out, u.Object+" "+u.Field)
	}
	return out
}

// TestGroupsOfACluster holds what kube-scheduler does with groups some of whose pods are running or not there yet.
func TestGroupsOfACluster(t *testing.T) {
	group := func(name, policy string) metav1.Object {
		return unstructuredOf(t, `{metadata: {name: `+name+`, uid: `+name+`}, spec: `+policy+`}`)
	}
	pod := func(name, group, node string) *corev1.Pod {
		return parse[corev1.Pod](t, `{metadata: {name: `+name+`, uid: `+name+`}, spec: {nodeName: "`+node+`", schedulingGroup: {podGroupName: `+group+`}}}`)
	}
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddPodGroup(group("waits", `{schedulingPolicy: {gang: {minCount: 3}}}`)))
	must(t, b.AddPod(pod("w1", "waits", "")), b.AddPod(pod("w2", "waits", "")))
	must(t, b.AddPodGroup(group("grows", `{schedulingPolicy: {gang: {minCount: 3}}, schedulingConstraints: {topology: [{key: rack}]}}`)))
	must(t, b.AddPod(pod("g1", "grows", "a")), b.AddPod(pod("g2", "grows", "")), b.AddPod(pod("g3", "grows", "")))
	must(t, b.AddPod(pod("r1", "gone", "a")))
	s := build(t, b)
	diff(t, []*stowagev1.PodGroup{{
		Name: "default/grows", MinCount: new(uint32(3)), Topology: &stowagev1.PodGroupTopology{Keys: []string{"rack"}}, Priority: new(int32(0)),
	}, {
		Name: "default/waits", MinCount: new(uint32(3)), Priority: new(int32(0)),
	}}, s.Cluster.PodGroups)
	var names []string
	for _, e := range s.Queue {
		names = append(names, e.Origin.Name)
	}
	diff(t, []string{"g2", "g3"}, names)
	diff(t, []string{
		"Pod default/w1: 1: waiting for minCount pods from a gang to appear in scheduling queue",
		"Pod default/w2: 1: waiting for minCount pods from a gang to appear in scheduling queue",
	}, waiting(s))
	if len(s.Unread) > 0 {
		t.Error(s.Unread)
	}
}
