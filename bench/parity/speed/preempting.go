package speed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// A queue in which each pod preempts: its length, the number of its templates, whose pods come in turns, and with how many of its
// first pods kube-scheduler is timed.
const (
	preemptingPods      = 1000
	preemptingTemplates = 10
	kubePreempting      = 10
)

// preemptingPod is the i-th pod of the queue.
func preemptingPod(i int) *corev1.Pod {
	pod := preemptor("preempt-plain")
	pod.Name = fmt.Sprint("preempting-", i)
	millis := int64(preemptorMillis + 50*(i%preemptingTemplates))
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(millis, resource.DecimalSI)
	return pod
}

// preemptingQueue has Stowage place a queue as kube-scheduler's, in which each pod preempts, and kube-scheduler the first pods of
// it. kube-scheduler attempts each pod twice: it finds the victims, and once they have left, it filters the node that the pod is
// nominated to. Only the first attempt is timed, and that each pod is then on its node.
func (r *run) preemptingQueue(target *target, scheduler *oracle.Scheduler, pods []*corev1.Pod) error {
	request := &stowagev1.PlaceRequest{QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER, Context: target.context()}
	for i := range preemptingPods {
		pod, err := convert.PendingPod(preemptingPod(i))
		if err != nil {
			return err
		}
		request.Queue = append(request.Queue, &stowagev1.PendingPods{Pod: pod})
	}
	call := &subject{name: "a queue that preempts, by address", prepare: func(int) (call, error) {
		trial := fmt.Sprint(r.trial()) // new templates
		for _, entry := range request.Queue {
			entry.Pod.GetTemplate().Labels["trial"] = trial
		}
		encoded, err := proto.Marshal(request)
		return func() ([]byte, error) {
			return r.stowage.client.Call(context.Background(), stowagev1.PlacementService_Place_FullMethodName, encoded)
		}, err
	}}
	t, err := measurement{turns: min(3, r.Turns)}.of(call)
	if err != nil {
		return err
	}
	var answer stowagev1.PlaceResponse
	if err := proto.Unmarshal(call.want, &answer); err != nil {
		return err
	}
	for i, p := range answer.Placements {
		if p.UnplacedCount > 0 {
			return fmt.Errorf("pod %d has no node: %s", i, p.Message)
		}
	}
	if len(answer.Evictions) < preemptingPods {
		return fmt.Errorf("%d evictions", len(answer.Evictions))
	}
	var took timing
	for i, pod := range pods {
		victims, err := samePreempting(scheduler, pod, i, answer.Evictions[i])
		if err != nil {
			return fmt.Errorf("pod %d: %w", i, err)
		}
		start, cpu := time.Now(), loopback.CPUTime()
		if _, err := scheduler.Nominate(pod); err != nil {
			return err
		}
		took.wall += time.Since(start)
		took.cpu += loopback.CPUTime() - cpu
		if err := scheduler.Evict(victims); err != nil {
			return err
		}
		if _, _, err := scheduler.Assume(pod, answer.Evictions[i].GetNodeIndex()); err != nil {
			return err
		}
	}
	scale := float64(preemptingPods) / float64(len(pods))
	f := r.at("queue-preempts")
	f.Value, f.Wall, f.Processor = ratio(took.wall, t[0].wall)*scale, t[0].wall, ratio(took.cpu, t[0].cpu)*scale
	return nil
}

// samePreempting compares an eviction with what kube-scheduler finds for the pod, and returns the victims.
func samePreempting(scheduler *oracle.Scheduler, pod *corev1.Pod, entry int, got *stowagev1.Eviction) ([]oracle.Victim, error) {
	want, err := scheduler.Preempt(pod)
	if err != nil || want == nil {
		return nil, errors.Join(err, errors.New("kube-scheduler finds no victims"))
	}
	i := slices.IndexFunc(want.Candidates, func(c oracle.Candidate) bool { return c.Node == got.GetNodeIndex() })
	if int(got.QueueIndex) != entry || i < 0 || want.Best[0] != got.GetNodeIndex() || !sameVictims(want.Candidates[i].Victims, got.Victims) {
		return nil, fmt.Errorf("Stowage evicts otherwise than kube-scheduler, whose best are %v: %v", want.Best, got)
	}
	return want.Candidates[i].Victims, nil
}

// beyond times what kube-scheduler does not look for, against the plain call for the same pod.
func (r *run) beyond(target *target, pod *corev1.Pod) error {
	pending, err := convert.PendingPod(pod)
	if err != nil {
		return err
	}
	of := func(name string, request *stowagev1.PreemptRequest) *subject {
		request.Context, request.Pod = target.context(), proto.CloneOf(pending)
		return r.preempting(name, request)
	}
	t, err := measurement{turns: min(3, r.Turns)}.of(
		of("preempt", &stowagev1.PreemptRequest{}),
		of("safe preemption", &stowagev1.PreemptRequest{Safe: &stowagev1.SafePreemptionOptions{}}),
		of("preemption across nodes", &stowagev1.PreemptRequest{AcrossNodes: &stowagev1.AcrossNodesOptions{}}),
	)
	if err != nil {
		return err
	}
	r.setRatio("preempt-safe", t[1], t[0])
	r.setRatio("preempt-across", t[2], t[0])
	return nil
}
