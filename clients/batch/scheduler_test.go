package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage-scheduler/stowage/clients/batch"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestPodsAreBoundAndTheRestSaysWhyItWaits(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "2"), pod("one"), pod("two"), priority(pod("urgent"), 10))
	w.bound("urgent")
	waiting := "two"
	eventually(t, func() error {
		for _, name := range []string{"one", "two"} {
			if w.pod(name).Spec.NodeName == "" {
				waiting = name
			}
		}
		if len(w.pod(waiting).Status.Conditions) == 0 {
			return errors.New("no pod waits")
		}
		return nil
	})
	w.waits(waiting, "0/1 nodes are available: 1 Insufficient cpu.")
	event := ""
	for !strings.Contains(event, "FailedScheduling") {
		event = <-w.events.Events
	}
	if want := "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: " +
		"1 No preemption victims found for incoming pod."; event != want {
		t.Errorf("event %q, want %q", event, want)
	}
	// Another node is a reason to try again.
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("b", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := w.bound(waiting); got[0] != "b" {
		t.Error(got)
	}
}

func TestPodsAreScheduledByTheProfile(t *testing.T) {
	onB := &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{{MatchFields: []*stowagev1.NodeSelectorRequirement{{
		Key: "metadata.name", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{"b"},
	}}}}}
	profile := &stowagev1.Profile{AddedAffinity: &stowagev1.NodeAffinity{Required: onB}}
	w := start(t, batch.Options{Profile: profile}, node("a", "8"), node("b", "2"), pod("p"))
	if got := w.bound("p"); got[0] != "b" {
		t.Error(got)
	}
}

func TestAProfileWithoutPreemption(t *testing.T) {
	w := start(t, batch.Options{NoPreemption: true}, node("a", "500m"), pod("p"))
	event := ""
	for !strings.Contains(event, "FailedScheduling") {
		event = <-w.events.Events
	}
	if want := "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."; event != want {
		t.Errorf("event %q, want %q", event, want)
	}
}

func TestOnlyItsOwnPodsAreScheduled(t *testing.T) {
	foreign := pod("foreign")
	foreign.Spec.SchedulerName = "default-scheduler"
	gated := pod("gated")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
	w := start(t, batch.Options{}, node("a", "8"), foreign, gated, pod("own"))
	w.bound("own")
	for _, name := range []string{"foreign", "gated"} {
		if p := w.pod(name); p.Spec.NodeName != "" || len(p.Status.Conditions) > 0 {
			t.Errorf("%s: %q %v", name, p.Spec.NodeName, p.Status.Conditions)
		}
	}
}

func TestAGroupIsBoundAsAWholeOrNotAtAll(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "2"))
	w.create(member(pod("g-1"), "3"))
	w.waits("g-1", "pod group g has 1 of at least 3 pods")
	w.because("g-1", corev1.PodReasonSchedulingGated)
	w.create(member(pod("g-2"), "3"), member(pod("g-3"), "3"), member(pod("g-4"), "3"))
	for _, name := range []string{"g-1", "g-2", "g-3", "g-4"} {
		w.waits(name, "Insufficient cpu")
		w.because(name, corev1.PodReasonUnschedulable)
	}
	w.create(pod("single"))
	w.bound("single")
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("b", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Three of the four fit now, which is enough; one bound earlier counts for the fourth.
	eventually(t, func() error {
		n := 0
		for i := range 4 {
			if w.pod(fmt.Sprintf("g-%d", i+1)).Spec.NodeName != "" {
				n++
			}
		}
		if n != 3 {
			return fmt.Errorf("%d pods of the group are bound", n)
		}
		return nil
	})
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("c", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound("g-1", "g-2", "g-3", "g-4")
}

// As when a Job replaces a pod that failed after the others were done. The informer brings none that has ended.
func TestMembersThatSucceededCountForTheirGroup(t *testing.T) {
	ended := func(name string, phase corev1.PodPhase) *corev1.Pod {
		p := member(pod(name), "3")
		p.Spec.NodeName, p.Status.Phase = "a", phase
		return p
	}
	w := start(t, batch.Options{}, node("a", "2"), ended("g-1", corev1.PodSucceeded), ended("g-2", corev1.PodFailed))
	w.create(member(pod("g-3"), "3"))
	w.waits("g-3", "pod group g has 2 of at least 3 pods")
	w.create(member(pod("g-4"), "3"))
	w.bound("g-3", "g-4")
}

func TestAPodThatCannotBeDecidedDoesNotStopTheOthers(t *testing.T) {
	claims := pod("claims")
	claims.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r", ResourceClaimName: new("r")}}
	refused := pod("refused")
	refused.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{MaxSkew: 0, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule},
	}
	minimum := member(pod("minimum"), "many")
	grouped := pod("grouped")
	grouped.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &grouped.Name}
	w := start(t, batch.Options{}, node("a", "8"), claims, refused, minimum, grouped, pod("good"))
	w.bound("good")
	w.waits("claims", "because it allocates no devices")
	w.waits("refused", "spec.topology_spread_constraints[0].max_skew: is 0")
	w.waits("minimum", `Invalid value: "many"`)
	w.waits("grouped", `waiting for pods's pod group "grouped" to appear in scheduling queue`)
	for _, name := range []string{"claims", "refused", "minimum"} {
		w.because(name, corev1.PodReasonSchedulerError)
	}
}

// inPodGroup makes a pod a member of the PodGroup g.
func inPodGroup(p *corev1.Pod) *corev1.Pod {
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("g")}
	return p
}

// A PodGroup is placed once its pods exist, in the domain of its running pods.
func TestAPodGroupIsPlacedWhereItsPodsRun(t *testing.T) {
	a, b := node("a", "8"), node("b", "8")
	a.Labels, b.Labels = map[string]string{"rack": "1"}, map[string]string{"rack": "2"}
	runs := inPodGroup(pod("runs"))
	runs.Spec.NodeName = "b"
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3}
	group.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}}}
	w := start(t, batch.Options{}, a, b, group, runs, inPodGroup(pod("first")))
	w.waits("first", "waiting for minCount pods from a gang to appear in scheduling queue")
	w.create(inPodGroup(pod("second")))
	w.bound("first", "second")
	for _, name := range []string{"first", "second"} {
		if on := w.pod(name).Spec.NodeName; on != "b" {
			t.Errorf("%s is on %s", name, on)
		}
	}
}

// A node may go before its pods: they count towards the minimum, and their domain is unknown.
func TestAPodGroupWithAPodWhoseNodeIsGone(t *testing.T) {
	for name, levels := range map[string][]schedulingv1beta1.TopologyConstraint{"anywhere": nil, "in a rack": {{Key: "rack"}}} {
		t.Run(name, func(t *testing.T) {
			a := node("a", "8")
			a.Labels = map[string]string{"rack": "1"}
			runs, astray := inPodGroup(pod("runs")), inPodGroup(pod("astray"))
			runs.Spec.NodeName, astray.Spec.NodeName = "a", "gone"
			group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}}
			group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 4}
			group.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: levels}
			w := start(t, batch.Options{}, a, group, runs, astray, inPodGroup(pod("first")))
			w.waits("first", "waiting for minCount pods from a gang to appear in scheduling queue")
			w.create(inPodGroup(pod("second")))
			if levels != nil {
				w.waits("first", `getting node for pod default/astray: nodeinfo not found for node name "gone"`)
				w.because("first", corev1.PodReasonSchedulerError)
				w.leaves("astray")
				w.waits("first", "waiting for minCount pods from a gang to appear in scheduling queue")
				w.create(inPodGroup(pod("third")))
			}
			w.bound("first", "second")
		})
	}
}

// An autoscaler would add nodes for a pod that is Unschedulable, where the pod waits for a device.
func TestAPodThatWaitsForADeviceIsLeftAlone(t *testing.T) {
	gpu, other := pod("gpu"), pod("other")
	gpu.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	other.Spec.Containers[0].Resources.Requests["example.com/other"] = resource.MustParse("1")
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpus", UID: "gpus"},
		Spec:       resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/gpu")},
	}
	w := start(t, batch.Options{}, node("a", "8"), class, gpu, other, pod("good"))
	w.bound("good")
	w.waits("gpu", "devices of the DeviceClass gpus")
	w.because("gpu", corev1.PodReasonSchedulerError)
	w.waits("other", "Insufficient example.com/other")
	w.because("other", corev1.PodReasonUnschedulable)
}

// A call may fail because of one pod without naming it. The other pods are placed nevertheless.
func TestAPodThatACallFailsForDoesNotStopTheOthers(t *testing.T) {
	odd := priority(pod("odd"), 10)
	odd.Spec.Containers[0].Image = "not text: \xff"
	strange := pod("strange")
	strange.Spec.NodeSelector = map[string]string{"strange": "true"}
	w := start(t, batch.Options{}, node("a", "8"))
	var calls atomic.Int32
	w.mutex.Lock()
	w.everyPlace = func(_ context.Context, r *stowagev1.PlaceRequest) error {
		calls.Add(1)
		for _, p := range r.Queue {
			if p.Pod.GetTemplate().GetSpec().GetNodeSelector()["strange"] != "" {
				return status.Error(codes.Internal, "something went wrong")
			}
		}
		return nil
	}
	w.mutex.Unlock()
	w.create(pod("good-1"), odd, pod("good-2"), strange, pod("good-3"))
	w.bound("good-1", "good-2", "good-3")
	w.waits("odd", "invalid UTF-8")
	w.waits("strange", "something went wrong")
	w.because("strange", corev1.PodReasonSchedulerError)
}

// Jobs whose pods do not change a node's score come one by one or together.
func TestEqualPodsSpread(t *testing.T) {
	var objects []runtime.Object
	for i := range 12 {
		objects = append(objects, node(fmt.Sprint("n", i), "8"))
	}
	w := start(t, batch.Options{TieBreak: stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS}, objects...)
	on := map[string]int{}
	for round, together := range []int{1, 1, 2, 8, 12} {
		var pods []*corev1.Pod
		var names []string
		for i := range together {
			p := pod(fmt.Sprint("job-", round, "-", i))
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("0"), corev1.ResourceMemory: resource.MustParse("0"),
			}
			pods, names = append(pods, p), append(names, p.Name)
		}
		w.create(pods...)
		for _, n := range w.bound(names...) {
			on[n]++
		}
	}
	for n, pods := range on {
		if len(on) != 12 || pods != 2 {
			t.Fatalf("%d pods on %s: %v", pods, n, on)
		}
	}
}

// If every call fails, not every pod gets a call of its own.
func TestACallThatFailsForAllIsNotMadeForEach(t *testing.T) {
	const pods = 200
	w := start(t, batch.Options{}, node("a", "8"))
	created := make(chan struct{})
	var sizes []uint32
	w.mutex.Lock()
	w.everyPlace = func(_ context.Context, r *stowagev1.PlaceRequest) error {
		<-created
		size := uint32(0)
		for _, p := range r.Queue {
			size += p.GetCount()
		}
		w.mutex.Lock()
		defer w.mutex.Unlock()
		sizes = append(sizes, size)
		return status.Error(codes.Internal, "out of order")
	}
	w.mutex.Unlock()
	for i := range pods {
		w.create(pod(fmt.Sprintf("p-%d", i)))
	}
	eventually(t, func() error {
		known, err := w.cluster.Informers().CoreV1().Pods().Lister().List(labels.Everything())
		if err == nil && len(known) < pods {
			err = fmt.Errorf("%d pods are known", len(known))
		}
		return err
	})
	close(created)
	for i := range pods {
		w.waits(fmt.Sprintf("p-%d", i), "out of order")
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	large := func(size uint32) bool { return size > pods/2 }
	first := slices.IndexFunc(sizes, large)
	if next := slices.IndexFunc(sizes[first+1:], large); first < 0 || next < 0 || next > 50 {
		t.Errorf("the calls are about %v pods", sizes)
	}
}

// A pod that another scheduler binds while it is being placed is left to that one, and the others of its batch are placed.
func TestAPodThatIsBoundElsewhereMeanwhileStopsNoOther(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "8"))
	first := member(pod("g-1"), "2")
	w.create(first)
	w.waits("g-1", "pod group g has 1 of at least 2 pods")
	w.mutex.Lock()
	w.beforePlace = func() {
		err := apiServer{w.api, w}.CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{
			ObjectMeta: first.ObjectMeta, Target: corev1.ObjectReference{Name: "a"},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
		w.decided(first)
	}
	w.mutex.Unlock()
	w.create(member(pod("g-2"), "2"))
	w.bound("g-1", "g-2")
	if conditions := w.pod("g-2").Status.Conditions; len(conditions) > 0 {
		t.Error(conditions)
	}
}

// A busy server says nothing about a pod: the pods stay pending without an error, and are placed when it is busy no more.
func TestABusyServerIsNotAPodsFault(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "64"))
	busy, err := status.New(codes.ResourceExhausted, "busy").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	w.mutex.Lock()
	w.everyPlace = func(context.Context, *stowagev1.PlaceRequest) error {
		if calls.Add(1) <= 8 { // the client itself calls four times
			return busy.Err()
		}
		return nil
	}
	w.mutex.Unlock()
	names := []string{"a-1", "a-2", "a-3", "a-4"}
	for _, name := range names {
		w.create(pod(name))
	}
	w.bound(names...)
	if calls.Load() <= 8 {
		t.Error("the server was never busy")
	}
	for _, name := range names {
		if conditions := w.pod(name).Status.Conditions; len(conditions) > 0 {
			t.Errorf("%s was said to be at fault: %v", name, conditions)
		}
	}
}
