package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Pending pods with a nominated node are in the queue, and are nominated pods of the node.
func TestNominatedPods(t *testing.T) {
	for _, countPods := range []bool{false, true} {
		b := kube.NewBuilder(kube.Options{CountPods: countPods})
		pod := func(text string) { must(t, b.AddPod(parse[corev1.Pod](t, text))) }
		pod(`{metadata: {name: high, uid: u, labels: {app: web}}, spec: {priority: 4, nodeSelector: {a: b}}, status: {nominatedNodeName: a}}`)
		pod(`{metadata: {name: class}, spec: {priorityClassName: seven}, status: {nominatedNodeName: a}}`)
		pod(`{metadata: {name: ends, uid: u, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {nominatedNodeName: b}}`)
		pod(`{metadata: {name: "web-0", uid: u, labels: {statefulset.kubernetes.io/pod-name: web-0}}, status: {nominatedNodeName: b}}`)
		pod(`{metadata: {name: lost, uid: u}, status: {nominatedNodeName: gone}}`)
		pod(`{metadata: {name: done, uid: u}, status: {nominatedNodeName: a, phase: Failed}}`)
		pod(`{metadata: {name: bound, uid: u}, spec: {nodeName: b}, status: {nominatedNodeName: a}}`)
		pod(`{metadata: {generateName: unnamed-}, status: {nominatedNodeName: a}}`)
		pod(`{metadata: {name: large}, spec: {containers: [{name: c, resources: {requests: {cpu: 5}}}]}, status: {nominatedNodeName: a}}`)
		must(t, b.AddPriorityClass(parse[schedulingv1.PriorityClass](t, `{metadata: {name: seven}, value: 7}`)))
		must(t, b.AddLimitRange(parse[corev1.LimitRange](t, `{metadata: {name: l}, spec: {limits: [{type: Container, max: {cpu: 1}}]}}`)))
		for _, name := range []string{"a", "b"} {
			must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: `+name+`}, status: {allocatable: {pods: 9}}}`)))
		}
		s := build(t, b)
		type nominee struct {
			name        string
			priority    int32
			terminating bool
			selects     bool
		}
		var got [2][]nominee
		for i, n := range s.Cluster.Nodes {
			for _, p := range n.NominatedPods {
				spec := s.Cluster.PodTemplates[p.GetTemplateIndex()].Spec
				got[i] = append(got[i], nominee{p.Name, spec.Priority, p.Terminating, spec.NodeSelector != nil})
				if p.NominatedNodeName != "" {
					t.Errorf("%s names its node", p.Name)
				}
			}
			if n.Unschedulable {
				t.Errorf("node %s is closed", n.Name)
			}
		}
		want := [2][]nominee{{{"high", 4, false, true}, {"class", 7, false, false}}, {{"ends", 0, true, false}, {"web-0", 0, false, false}}}
		if len(got[0]) != 2 || len(got[1]) != 2 || got[0][0] != want[0][0] || got[0][1] != want[0][1] || got[1][0] != want[1][0] || got[1][1] != want[1][1] {
			t.Errorf("nominated are %v, want %v", got, want)
		}
		asked := map[string]string{}
		for _, e := range s.Queue {
			asked[e.Pods.Pod.Name] = e.Pods.Pod.NominatedNodeName
		}
		diff(t, map[string]string{"high": "a", "class": "a", "web-0": "b", "lost": "gone", "": "a"}, asked)
	}
}

// A nominated pod counts with what it occupies, whatever else of it does not convert. If that is not known, its node rejects pods.
func TestOddNominatedPods(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}, status: {allocatable: {pods: 9}}}`)))
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: b}, status: {allocatable: {pods: 9}}}`)))
	for _, text := range []string{
		`{metadata: {name: maybe}, spec: {tolerations: [{operator: Maybe}]}, status: {nominatedNodeName: a}}`,
		`{metadata: {name: huge}, spec: {containers: [{name: c, resources: {requests: {memory: 10E}}}]}, status: {nominatedNodeName: b}}`,
		`{metadata: {name: lost}, spec: {containers: [{name: c, resources: {requests: {memory: 10E}}}]}, status: {nominatedNodeName: gone}}`,
	} {
		if err := b.AddPod(parse[corev1.Pod](t, text)); err == nil {
			t.Errorf("%s converts", text)
		}
	}
	s := build(t, b)
	diff(t, []*stowagev1.Node{
		message(t, &stowagev1.Node{}, `{name: a, allocatable: {pods: 9}, nominatedPods: [{name: maybe, templateIndex: 0}]}`),
		message(t, &stowagev1.Node{}, `{name: b, unschedulable: true, allocatable: {}, nominatedPods: [{name: huge, templateIndex: 1}]}`),
	}, s.Cluster.Nodes)
	if len(s.Misreads) != 3 || !s.Misreads[0].OwnPods || s.Misreads[1].OwnPods || !s.Misreads[2].OwnPods {
		t.Errorf("misreads %v", s.Misreads)
	}
}

// What the server rejects of a nominated pod is left out, and its node rejects pods.
func TestRefusedNominatedPods(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}, status: {allocatable: {pods: 9}}}`)))
	b.From("web.yaml")
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: web-0, labels: {statefulset.kubernetes.io/pod-name: web-0}}, status: {nominatedNodeName: a}}`)))
	s := build(t, b)
	at, field, ok := s.Locate(&stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: s.Cluster},
	}}, `context.cluster.nodes[0].nominated_pods[0].labels["statefulset.kubernetes.io/pod-name"]`)
	if at != "web.yaml" || field != "metadata.labels[statefulset.kubernetes.io/pod-name]" || !ok {
		t.Errorf("%s: %s, %t", at, field, ok)
	}
	violation := []kube.Violation{{Field: `context.cluster.nodes[0].nominated_pods[0].labels["k"]`, Description: "is odd"}}
	for _, want := range []string{
		`{name: a, unschedulable: true, allocatable: {}, nominatedPods: [{name: web-0, templateIndex: 0}]}`,
		`{name: a, unschedulable: true, allocatable: {}}`,
	} {
		if !s.Refuse(violation) {
			t.Error("nothing was left out")
		}
		diff(t, message(t, &stowagev1.Node{}, want), s.Cluster.Nodes[0])
	}
	if s.Refuse(violation) {
		t.Error("a pod that is gone was left out")
	}
}
