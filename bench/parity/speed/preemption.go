package speed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const preemptMethod = stowagev1.PlacementService_Preempt_FullMethodName

// preemption has both find the victims of a pod on nodes that are full of pods with lower priorities. kube-scheduler
// evaluates every node, as Stowage does; by default it would stop at a tenth.
func (r *run) preemption(nodes int) error {
	cluster := full(nodes)
	messages, err := stream(cluster)
	if err != nil {
		return err
	}
	target, err := r.stowage.target(messages)
	if err != nil {
		return err
	}
	objects, err := kubernetes(cluster)
	if err != nil {
		return err
	}
	keys := []string{"preempt-plain", "preempt-constrained"}
	for _, key := range keys {
		objects.Queue = append(objects.Queue, scenario.Pending{Pod: preemptor(key), Count: 1})
	}
	for i := range kubePreempting {
		objects.Queue = append(objects.Queue, scenario.Pending{Pod: preemptingPod(i), Count: 1})
	}
	kube, err := oracle.NewWith(objects, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return err
	}
	defer kube.Close()
	for i, key := range keys {
		if err := r.preempt(key, target, kube, kube.Queue[i]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := r.beyond(target, kube.Queue[0]); err != nil {
		return fmt.Errorf("beyond kube-scheduler: %w", err)
	}
	return r.preemptingQueue(target, kube, kube.Queue[len(keys):])
}

// preempt compares the candidates of a pod, and times the calls.
func (r *run) preempt(key string, target *target, scheduler *oracle.Scheduler, pod *corev1.Pod) error {
	want, err := scheduler.Preempt(pod)
	if err != nil {
		return err
	}
	pending, err := convert.PendingPod(pod)
	if err != nil {
		return err
	}
	request := &stowagev1.PreemptRequest{Pod: pending, IncludeCandidates: true, Context: target.context()}
	answer, err := r.ask(request)
	if err != nil {
		return err
	}
	if err := samePreemption(want, answer.Preemption); err != nil {
		return fmt.Errorf("Stowage decides otherwise than kube-scheduler: %w", err)
	}
	request.IncludeCandidates = false
	call := r.preempting("preempt by address", request)
	// Which of several best nodes kube-scheduler takes is chance.
	theirs := always("kube-scheduler", func() ([]byte, error) {
		_, err := scheduler.Nominate(pod)
		return nil, err
	})
	t, err := measurement{turns: min(3, r.Turns)}.of(theirs, call)
	if err != nil {
		return err
	}
	f := r.at(key)
	f.Value, f.Wall, f.Processor = ratio(t[0].wall, t[1].wall), t[1].wall, ratio(t[0].cpu, t[1].cpu)
	return nil
}

// preempting is calls of Preempt, each about a template that was not seen before.
func (r *run) preempting(name string, request *stowagev1.PreemptRequest) *subject {
	return &subject{name: name, prepare: func(int) (call, error) {
		request.Pod.GetTemplate().Labels["trial"] = fmt.Sprint(r.trial())
		encoded, err := proto.Marshal(request)
		return func() ([]byte, error) {
			return r.stowage.client.Call(context.Background(), preemptMethod, encoded)
		}, err
	}}
}

func (r *run) ask(request *stowagev1.PreemptRequest) (*stowagev1.PreemptResponse, error) {
	encoded, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	out := &stowagev1.PreemptResponse{}
	answer, err := r.stowage.client.Call(context.Background(), preemptMethod, encoded)
	return out, errors.Join(err, proto.Unmarshal(answer, out))
}

// samePreemption compares all candidates with their victims.
func samePreemption(want *oracle.Preemption, got *stowagev1.Preemption) error {
	if want == nil || len(want.Candidates) == 0 || len(want.Candidates) != len(got.GetCandidates()) {
		return fmt.Errorf("%d candidates", len(got.GetCandidates()))
	}
	for i, c := range want.Candidates {
		other := got.Candidates[i]
		if c.Node != other.NodeIndex || c.Violations != int(other.PdbViolations) || !sameVictims(c.Victims, other.Victims) {
			return fmt.Errorf("node %d: %v", c.Node, other)
		}
	}
	if !slices.Equal(want.Best, got.BestNodes.GetIndexes()) {
		return fmt.Errorf("the best nodes are %v, not %v", got.BestNodes.GetIndexes(), want.Best)
	}
	return nil
}

func sameVictims(want []oracle.Victim, got []*stowagev1.PodReference) bool {
	return slices.EqualFunc(want, got, func(a oracle.Victim, b *stowagev1.PodReference) bool { return a.Name == b.Name })
}

// preemptorMillis is what a preemptor asks for: some of a node's pods together.
const preemptorMillis = 2000

func preemptor(key string) *corev1.Pod {
	pod := queuePod(1, 100, false)
	pod.Name = key
	pod.Spec.Priority = new(int32(1000))
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(preemptorMillis, resource.DecimalSI)
	if pod.Spec.TopologySpreadConstraints = nil; key == "preempt-plain" {
		return pod
	}
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		TopologyKey: corev1.LabelTopologyZone, MaxSkew: 50, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
	}}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "app-005"}},
			Namespaces: []string{"apps"},
		}},
	}}
	return pod
}

// full is a cluster without room: each pod has a name, a priority below the preemptor's and a start time, and some are
// selected by budgets.
func full(nodes int) *stowagev1.Cluster {
	c := newCluster(nodes)
	for i, t := range c.PodTemplates {
		t.Spec.Priority = int32(i % 5 * 10)
		if i%10 == 0 {
			c.PodDisruptionBudgets = append(c.PodDisruptionBudgets, &stowagev1.PodDisruptionBudget{
				Namespace: t.Namespace, Name: fmt.Sprint("budget-", i), DisruptionsAllowed: int32(i / 10 % 3),
				Selector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": t.Labels["app"]}},
			})
		}
	}
	rng := rand.New(rand.NewPCG(3, uint64(nodes)))
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, n := range c.Nodes {
		millis := int64(100)
		for at, group := range n.PodCounts {
			millis += *c.PodTemplates[group.TemplateIndex].Spec.Containers[0].Requests.CpuMillis * int64(group.Count)
			start := first.Add(time.Duration(rng.IntN(10_000)*64+at) * time.Second) // no two of a node are equal
			n.Pods = append(n.Pods, &stowagev1.Pod{
				Name:      fmt.Sprintf("pod-%d-%d", i, at),
				Source:    &stowagev1.Pod_TemplateIndex{TemplateIndex: group.TemplateIndex},
				StartTime: timestamppb.New(start),
			})
		}
		n.PodCounts, n.Allocatable.CpuMillis = nil, &millis
	}
	return c
}
