package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
)

// settled is how long schedulers have to see what is there before a pod preempts: pods, nodes and budgets come to them in streams
// of their own, and kube-scheduler does not report what it has seen. On a busy machine that may be too short: see confirmed.
const settled = 500 * time.Millisecond

// confirmed returns what is wrong with a situation. If something is, the situation is made once more: the first time, a
// scheduler may not have seen all of it.
func confirmed(t *testing.T, situation func() []string) []string {
	t.Helper()
	wrong := situation()
	if len(wrong) == 0 {
		return nil
	}
	for _, text := range wrong {
		t.Logf("once more, because: %s", text)
	}
	return situation()
}

// repeats is E2E_RUNS, or another number.
func repeats(otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("E2E_RUNS")); err == nil {
		return n
	}
	return otherwise
}

// evicted is what became of a step in which a pod preempts.
type evicted struct {
	Victims  []string          // pods that are gone
	On       map[string]string // the node of each pod that was to be placed
	Says     map[string]string // of each pod that preempted: the note of the event, whole
	Preempts map[string]string // of each victim: the note of its event, with the name of the pod instead of the UID
}

// TestPreemptionScenarios takes every example in which kube-scheduler evicts pods through every scheduler. The victims must
// be the case's, and everything the same as with plain kube-scheduler: also the text of the events, whole.
func TestPreemptionScenarios(t *testing.T) {
	c := start(t)
	for _, s := range schedulers {
		s.start(t, c)
	}
	cases, err := scenarios.Load("../../clients/examples")
	must(t, err)
	for i := range cases {
		k := &cases[i]
		for j := range k.Steps {
			step := &k.Steps[j]
			want, expects := victimsOf(t, k, step)
			if !expects {
				continue
			}
			t.Run(k.Name()+": "+step.Name, func(t *testing.T) {
				for _, text := range confirmed(t, func() []string { return preemptWithEach(t, c, k, step, want) }) {
					t.Error(text)
				}
			})
		}
	}
}

// preemptWithEach takes a step through every scheduler, and returns in what they differ from the case and from kube-scheduler.
func preemptWithEach(t *testing.T, c *stack.Stack, k *scenarios.Case, step *scenarios.Step, want []string) (wrong []string) {
	t.Helper()
	var reference evicted
	for _, s := range schedulers {
		if s.pods == stack.ExtenderPods && strings.HasPrefix(k.Name(), "31-") {
			continue // the spread is left to Stowage, so that kube-scheduler finds no victims
		}
		got := preemptIn(t, c, k, step, s.pods)
		if s.pods == stack.PlainPods {
			reference = got
			if !slices.Equal(got.Victims, want) {
				wrong = append(wrong, fmt.Sprintf("kube-scheduler evicts %q, and the case says %q", got.Victims, want))
			}
		} else if d := gocmp.Diff(reference, got); d != "" {
			wrong = append(wrong, fmt.Sprintf("plain kube-scheduler (-) and %s (+) differ:\n%s", s.name, d))
		}
	}
	return wrong
}

// victimsOf are the victims of a step that do not terminate already. In a cluster the first pod of 32-priority-order is placed
// before the second is created, and is evicted then.
func victimsOf(t *testing.T, k *scenarios.Case, step *scenarios.Step) (victims []string, expects bool) {
	t.Helper()
	if k.Name() == "32-priority-order" && step == &k.Steps[0] {
		return []string{"low"}, true
	}
	if !preempts(step) {
		return nil, false
	}
	var p *scenarios.Preemption
	if step.Filter != nil {
		p = step.Filter.Preemption
	}
	for _, w := range step.Place {
		if p == nil {
			p = w.Preemption
		}
	}
	victims = slices.Sorted(slices.Values(p.Victims))
	for _, file := range step.Files {
		for _, u := range read(t, k, file) {
			if i := slices.Index(victims, u.GetName()); i >= 0 && u.GetDeletionTimestamp() != nil {
				victims = slices.Delete(victims, i, i+1)
			}
		}
	}
	return victims, true
}

// preemptIn creates the objects of a step, the pods that are to be placed last, and waits until every pod is on a node, or
// says that it evicts nothing.
func preemptIn(t *testing.T, c *stack.Stack, k *scenarios.Case, step *scenarios.Step, schedulerName string) evicted {
	t.Helper()
	deleteAll(t, c)
	var all []*unstructured.Unstructured
	for _, file := range step.Files {
		all = append(all, read(t, k, file)...)
	}
	pending := map[string]bool{}
	isPending := func(u *unstructured.Unstructured) bool {
		node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName")
		return u.GetKind() == "Pod" && node == ""
	}
	for _, u := range all {
		if u.GetKind() == "Node" || u.GetKind() == "PriorityClass" {
			must(t, c.Create(t.Context(), u))
		}
		if u.GetKind() == "PriorityClass" {
			admitted(t, c, u.GetName())
		}
	}
	var budgets []*unstructured.Unstructured
	there := map[string]bool{}
	for _, u := range all {
		switch {
		case u.GetKind() == "PodDisruptionBudget":
			budgets = append(budgets, u)
		case u.GetKind() == "Pod" && !isPending(u):
			runs(t, c, u)
			there[u.GetName()] = true
		}
	}
	for _, u := range budgets {
		budgeted(t, c, u)
	}
	time.Sleep(settled)
	for _, u := range all {
		if !isPending(u) {
			continue
		}
		must(t, assign(u, schedulerName))
		classed(t, c, u)
		must(t, c.Create(t.Context(), u))
		pending[u.GetName()] = true
		there[u.GetName()] = true
		if k.Name() == "32-priority-order" && len(pending) == 1 {
			bound(t, c, u.GetName())
		}
	}
	got := evicted{On: map[string]string{}, Says: map[string]string{}, Preempts: map[string]string{}}
	eventually(t, patience, func() error {
		clear(got.On)
		clear(got.Says)
		clear(got.Preempts)
		got.Victims = nil
		pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		uids := map[types.UID]string{}
		left := maps.Clone(there)
		for i := range pods.Items {
			p := &pods.Items[i]
			uids[p.UID] = p.Name
			switch {
			case p.DeletionTimestamp != nil && len(p.Finalizers) == 0:
				return fmt.Errorf("%s terminates", p.Name)
			case p.DeletionTimestamp == nil || !preempted(p):
				delete(left, p.Name)
			}
			if pending[p.Name] {
				if p.Spec.NodeName == "" && (k.Name() != "31-preemption-in-vain" || p.Status.NominatedNodeName == "") {
					return fmt.Errorf("%s has no node: %+v", p.Name, condition(p))
				}
				got.On[p.Name] = p.Spec.NodeName + p.Status.NominatedNodeName
			}
		}
		got.Victims = slices.Sorted(maps.Keys(left))
		events, err := c.Client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		slices.SortFunc(events.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
		for _, e := range events.Items {
			switch name := uids[e.Regarding.UID]; {
			case got.Says[name] != "": // the first one counts
			case e.Reason == "FailedScheduling" && name != "" && strings.Contains(e.Note, "found a potential placement"):
				got.Says[name] = e.Note
			case e.Reason == "Preempted":
				for uid, name := range uids { // kube-scheduler's event has no other reference to the pod
					if pending[name] && strings.Contains(e.Note, string(uid)) {
						got.Preempts[e.Regarding.Name] = strings.ReplaceAll(e.Note, string(uid), name)
					}
				}
			}
		}
		if len(got.Victims) == 0 || len(got.Says) == 0 || len(got.Preempts) < len(got.Victims) {
			return fmt.Errorf("victims %q, %q, %q", got.Victims, got.Says, got.Preempts)
		}
		return nil
	})
	release(t, c)
	return got
}

// preempted reports whether a pod says that it was evicted for another.
func preempted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// held keeps a pod that is deleted until the test lets it go.
const held = "stowage.example/held"

// runs creates a pod on its node with the start time of its manifest, and deletes it if it terminates there.
func runs(t *testing.T, c *stack.Stack, u *unstructured.Unstructured) {
	t.Helper()
	started, _, _ := unstructured.NestedString(u.Object, "status", "startTime")
	terminates := u.GetDeletionTimestamp() != nil
	must(t, assign(u, "nobody"))
	classed(t, c, u)
	u.SetDeletionTimestamp(nil)
	if terminates {
		u.SetFinalizers([]string{held})
	}
	must(t, c.Create(t.Context(), u))
	pods := c.Client.CoreV1().Pods("default")
	if started != "" {
		_, err := pods.Patch(t.Context(), u.GetName(), types.MergePatchType,
			fmt.Appendf(nil, `{"status":{"startTime":%q}}`, started), metav1.PatchOptions{}, "status")
		must(t, err)
	}
	eventually(t, patience, func() error {
		if p := get(t, c, u.GetName()); p.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("%s does not run", p.Name)
		}
		return nil
	})
	if terminates {
		must(t, pods.Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}))
	}
}

// release lets go of pods that terminate.
func release(t *testing.T, c *stack.Stack) {
	t.Helper()
	pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, p := range pods.Items {
		if len(p.Finalizers) > 0 {
			_, err := c.Client.CoreV1().Pods("default").Patch(t.Context(), p.Name, types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if !apierrors.IsNotFound(err) {
				must(t, err)
			}
		}
	}
}

// classed gives a pod with a priority the class that the API server demands.
func classed(t *testing.T, c *stack.Stack, u *unstructured.Unstructured) {
	t.Helper()
	value, found, _ := unstructured.NestedInt64(u.Object, "spec", "priority")
	if !found {
		return
	}
	name := class(t, c, int32(value))
	must(t, unstructured.SetNestedField(u.Object, name, "spec", "priorityClassName"))
}

// class returns a PriorityClass of a value.
func class(t *testing.T, c *stack.Stack, value int32) string {
	t.Helper()
	name := fmt.Sprintf("priority-%d", value)
	_, err := c.Client.SchedulingV1().PriorityClasses().Create(t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	admitted(t, c, name)
	return name
}

// admitted waits until the API server admits pods of a class, which it learns of as others do.
func admitted(t *testing.T, c *stack.Stack, class string) {
	t.Helper()
	p := sized("of-a-class", "1", "nobody")
	p.Spec.PriorityClassName = class
	eventually(t, patience, func() error {
		_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// budgeted creates a PodDisruptionBudget, and waits until the disruption controller allows what its manifest says. The
// controller counts no maxUnavailable of pods without a controller.
func budgeted(t *testing.T, c *stack.Stack, u *unstructured.Unstructured) {
	t.Helper()
	allowed, _, _ := unstructured.NestedInt64(u.Object, "status", "disruptionsAllowed")
	expected, _, _ := unstructured.NestedInt64(u.Object, "status", "expectedPods")
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "spec", "maxUnavailable")
	must(t, unstructured.SetNestedField(u.Object, expected-allowed, "spec", "minAvailable"))
	must(t, c.Create(t.Context(), u))
	allows(t, c, u.GetName(), int32(allowed))
}

func allows(t *testing.T, c *stack.Stack, name string, allowed int32) {
	t.Helper()
	eventually(t, patience, func() error {
		b, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && (b.Status.ObservedGeneration == 0 || b.Status.DisruptionsAllowed != allowed) {
			err = fmt.Errorf("the budget allows %+v, not %d", b.Status, allowed)
		}
		return err
	})
}

// urgent is a pod of a size with the priority 1000.
func urgent(t *testing.T, s *stack.Stack, name, cpu, schedulerName string) *corev1.Pod {
	t.Helper()
	p := sized(name, cpu, schedulerName)
	p.Spec.PriorityClassName = class(t, s, 1000)
	return p
}

// TestKilledWhileItPreempts kills the leader in the middle of preemptions. Another goes on: every pod gets the node that it
// was nominated to, and no pod is evicted that need not be.
func TestKilledWhileItPreempts(t *testing.T) {
	s := start(t)
	startServer(t, s)
	const nodes, perNode, pods = 8, 4, 5
	for run := range repeats(3) {
		deleteAll(t, s)
		must(t, controlplane.FakeNodes(t.Context(), s.Client, nodes, 2))
		for i := range nodes * perNode {
			p := sized(fmt.Sprintf("low-%02d", i), "8", "nobody")
			p.Spec.NodeName = fmt.Sprintf("node-%05d", i%nodes)
			create(t, s, p)
		}
		// Two writes for a victim and one for a nomination, 15 a second.
		first, _, err := s.NewBatch(t.Context(), fmt.Sprintf("stowage-batch-%d-first", run), "--kube-api-qps=15", "--kube-api-burst=1")
		must(t, err)
		for i := range pods {
			create(t, s, urgent(t, s, fmt.Sprintf("urgent-%d", i), "32", stack.BatchPods))
		}
		gone := func() int {
			list, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			must(t, err)
			n := nodes * perNode
			for _, p := range list.Items {
				if strings.HasPrefix(p.Name, "low") && p.DeletionTimestamp == nil {
					n--
				}
			}
			return n
		}
		eventually(t, patience, func() error {
			if n := gone(); n <= run%7 {
				return fmt.Errorf("%d victims", n)
			}
			return nil
		})
		first.Kill()
		at := gone()
		nominated := map[string]string{}
		for i := range pods {
			if p := get(t, s, fmt.Sprintf("urgent-%d", i)); p.Status.NominatedNodeName != "" {
				nominated[p.Name] = p.Status.NominatedNodeName
			}
		}
		second, _, err := s.NewBatch(t.Context(), fmt.Sprintf("stowage-batch-%d-second", run))
		must(t, err)
		for i := range pods {
			name := fmt.Sprintf("urgent-%d", i)
			bound(t, s, name)
			if want := nominated[name]; want != "" && get(t, s, name).Spec.NodeName != want {
				t.Errorf("%s is on %s, and was nominated to %s", name, get(t, s, name).Spec.NodeName, want)
			}
		}
		if n := gone(); n != pods*perNode {
			t.Errorf("%d pods are evicted, want %d", n, pods*perNode)
		}
		if at == pods*perNode {
			t.Error("all victims were evicted before the leader was killed")
		}
		t.Logf("run %d: killed with %d victims evicted and %d pods nominated", run+1, at, len(nominated))
		second.Stop()
	}
}

// TestBudgetsHold has a pod preempt where two of three nodes have pods of a budget that is used up, and expects that the pod
// takes the third, whichever it is.
func TestBudgetsHold(t *testing.T) {
	s := start(t)
	for _, k := range schedulers {
		k.start(t, s)
	}
	runs, violations := repeats(6), 0
	for run := range runs {
		k := schedulers[run%len(schedulers)]
		wrong := confirmed(t, func() []string { return preemptBesideBudget(t, s, k, run/len(schedulers)%3) })
		for _, text := range wrong {
			t.Errorf("run %d: %s", run+1, text)
		}
		if len(wrong) > 0 {
			violations++
		}
	}
	if violations > 0 {
		t.Errorf("violations in %d of %d runs", violations, runs)
	}
}

// preemptBesideBudget has a pod preempt where all nodes but one have pods of a budget that is used up. It returns the evictions
// that violate it, with all events.
func preemptBesideBudget(t *testing.T, s *stack.Stack, k scheduler, free int) (wrong []string) {
	t.Helper()
	deleteAll(t, s)
	_, err := s.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 3, 3))
	for i := range 3 {
		p := sized(fmt.Sprintf("low-%d", i), "32", "nobody")
		p.Spec.NodeName = fmt.Sprintf("node-%05d", i)
		p.Labels["app"] = "web"
		if i == free {
			p.Labels["app"] = "report"
		}
		create(t, s, p)
	}
	eventually(t, patience, func() error {
		b, err := s.Client.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && b.Status.CurrentHealthy != 2 {
			err = fmt.Errorf("%d pods of the budget run", b.Status.CurrentHealthy)
		}
		return err
	})
	time.Sleep(settled)
	create(t, s, urgent(t, s, "urgent", "32", k.pods))
	bound(t, s, "urgent")
	web, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	must(t, err)
	left := slices.DeleteFunc(web.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	n := 2 - len(left)
	if n <= 0 {
		return nil
	}
	text := fmt.Sprintf("%s evicts %d pods of a budget that is used up", k.name, n)
	events, err := s.Client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, e := range events.Items {
		text += fmt.Sprintf("\n%s %s: %s", e.Regarding.Name, e.Reason, e.Note)
	}
	return []string{text}
}

// TestAGroupIsNotStarved keeps the nodes full of small pods that come and go, each replaced when it ends. A group of four, each
// as large as half of a node, is placed.
func TestAGroupIsNotStarved(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartBatch(t.Context()))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 2, 2))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var made atomic.Int32
	churn := make(chan error, 1)
	go func() { churn <- comeAndGo(ctx, s, &made) }()
	eventually(t, patience, func() error {
		if n := made.Load(); n < 60 {
			return fmt.Errorf("%d small pods", n)
		}
		return nil
	})
	begin, before := time.Now(), made.Load()
	var names []string
	for i := range 4 {
		p := urgent(t, s, fmt.Sprintf("training-%d", i), "16", stack.BatchPods)
		p.Labels[batch.GroupNameLabel], p.Labels[batch.MinAvailableLabel] = "training", "4"
		create(t, s, p)
		names = append(names, p.Name)
	}
	bound(t, s, names...)
	t.Logf("placed after %.1f s, while %d small pods were created", time.Since(begin).Seconds(), made.Load()-before)
	if metric(t, s.BatchMetrics, "stowage_batch_preemptions_total", `result="evicted"`) == "0" {
		t.Error("it has evicted no pod: the nodes were not full")
	}
	stop()
	if err := <-churn; err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
		t.Error(err)
	}
}

// comeAndGo creates small pods, and deletes the oldest that run.
func comeAndGo(ctx context.Context, s *stack.Stack, made *atomic.Int32) error {
	pods := s.Client.CoreV1().Pods("default")
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for ctx.Err() == nil {
		p := sized(fmt.Sprintf("small-%05d", made.Add(1)), "2", stack.BatchPods)
		if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
		list, err := pods.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		var running, waiting []string
		for _, p := range list.Items {
			switch {
			case !strings.HasPrefix(p.Name, "small"):
			case p.Spec.NodeName != "":
				running = append(running, p.Name)
			default:
				waiting = append(waiting, p.Name)
			}
		}
		slices.Sort(running)
		if len(waiting) > 10 && len(running) > 0 {
			if err := pods.Delete(ctx, running[0], now); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if len(waiting) > 20 {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// TestNominatedByKubeScheduler has kube-scheduler preempt for a pod whose victim takes its time, while the batch scheduler has
// low pods that would fit once the victim is gone. They must never be there together with the urgent one.
func TestNominatedByKubeScheduler(t *testing.T) {
	s := start(t)
	schedulers[0].start(t, s)
	schedulers[2].start(t, s)
	for run := range repeats(5) {
		deleteAll(t, s)
		must(t, controlplane.FakeNodes(t.Context(), s.Client, 1, 1))
		victim := sized("victim", "30", "nobody")
		victim.Spec.NodeName, victim.Finalizers = "node-00000", []string{held}
		create(t, s, victim)
		create(t, s, urgent(t, s, "urgent", "32", stack.PlainPods))
		eventually(t, patience, func() error {
			if on := get(t, s, "urgent").Status.NominatedNodeName; on == "" {
				return errors.New("it is not nominated")
			}
			return nil
		})
		for i := range 10 {
			create(t, s, sized(fmt.Sprintf("low-%d", i), "1", stack.BatchPods))
		}
		waits(t, s, "low-9", "Insufficient cpu")
		release(t, s)
		bound(t, s, "urgent")
		for i := range 10 {
			if on := get(t, s, fmt.Sprintf("low-%d", i)).Spec.NodeName; on != "" {
				t.Errorf("run %d: low-%d is on %s beside the urgent pod", run, i, on)
			}
		}
	}
}
