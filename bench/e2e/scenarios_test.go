package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
)

// later has the expectations of steps in which a scheduler places more pods than the case says: a case is about a single
// request, and a scheduler tries again after another pod has been bound.
var later = map[string]map[string]scenarios.Place{
	"11-affinity-and-the-order-of-the-queue: the dependent first": {
		"pod-affinity-5": {Placed: new(5), Unplaced: new(0), Spread: new("5/0")},
		"pod-affinity-6": {Placed: new(1), Unplaced: new(0)},
	},
	"34-until-the-dependency-is-there: each pod is tried once": {
		"web":   {Placed: new(3), Unplaced: new(0)},
		"cache": {Placed: new(1), Unplaced: new(0)},
	},
}

// apart are the cases that these tests cannot have, with the reason.
var apart = map[string]string{
	"31-preemption-in-vain": "the API server rejects priorities without a class",
	"32-priority-order":     "the first pod is placed before the second is created",
	"33-another-scheduler":  "the tests give every pod the scheduler that they are about",

	"36-victims-with-another-node": "the owners of its pods do not exist, and no scheduler evicts so",
	"37-victims-on-several-nodes":  "no scheduler evicts so",
	"39-a-shop-in-two-zones":       "the owners of its pods do not exist",
}

// outcome is what became of a workload's pods.
type outcome struct {
	Placed, Unplaced int
	Spread           string   // pods per domain of the case's topology key, most first, without empty domains
	Message          string   // of the pods that were not placed
	Whole            string   // Message with what it leaves out
	nodes            []string // of the pods that were
}

// TestScenarios takes every example through every scheduler, as Deployments and pods that are created through the API,
// and expects what its case says, and of every scheduler the same as of plain kube-scheduler.
func TestScenarios(t *testing.T) {
	c := start(t)
	for _, s := range schedulers {
		s.start(t, c)
	}
	cases, err := scenarios.Load(filepath.Join("..", "..", "clients", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		if apart[cases[i].Name()] != "" {
			continue
		}
		for j := range cases[i].Steps {
			k, step := &cases[i], &cases[i].Steps[j]
			if step.Profile != nil || step.Joint || len(step.Groups) > 0 {
				continue // not what kube-scheduler does with its default profile
			}
			if preempts(step) || step.Evictions != nil && len(*step.Evictions) > 0 {
				continue // the victims go, and the pods are tried again, where a case is about a single request
			}
			name := k.Name() + ": " + step.Name
			t.Run(name, func(t *testing.T) {
				want := expected(name, step)
				reference := map[string]outcome{}
				for _, s := range schedulers {
					if why := cmp.Or(leftAlone[k.Name()], leftAlone[name]); s.pods == stack.BatchPods && why != "" {
						createLeftAlone(t, c, k, step, why)
						continue
					}
					var got map[string]outcome
					for again := true; again; {
						deleteAll(t, c)
						for _, file := range step.Files {
							createAndSettle(t, c, read(t, k, file), s.pods)
						}
						eventually(t, patience, func() error {
							var err error
							if got, err = outcomes(t.Context(), c, s.pods, k.TopologyKey); err != nil {
								return err
							}
							if again, err = early(t.Context(), c, got); err == nil && !again {
								err = want(got)
							}
							return err
						})
					}
					if s.pods == stack.PlainPods {
						reference = got
						continue
					}
					if d := gocmp.Diff(reference, got, gocmp.FilterPath(func(p gocmp.Path) bool {
						last := p.Last().String()
						return last == ".nodes" || last == ".Whole" && s.pods == stack.ExtenderPods
					}, gocmp.Ignore())); d != "" {
						t.Errorf("plain kube-scheduler (-) and %s (+) differ:\n%s", s.name, d)
					}
				}
			})
		}
	}
}

// early reports whether a scheduler looked at pods before it knew all nodes: no new node wakes a pod that it cannot help.
func early(ctx context.Context, c *stack.Stack, got map[string]outcome) (bool, error) {
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, o := range got {
		var knew int
		if _, err := fmt.Sscanf(o.Message, "0/%d nodes", &knew); err == nil && knew < len(nodes.Items) {
			return true, nil
		}
	}
	return false, nil
}

// preempts reports whether a step expects that kube-scheduler evicts pods.
func preempts(s *scenarios.Step) bool {
	evicts := func(p *scenarios.Preemption) bool { return p != nil && len(p.Victims) > 0 }
	for _, p := range s.Place {
		if evicts(p.Preemption) {
			return true
		}
	}
	return s.Filter != nil && evicts(s.Filter.Preemption)
}

// read reads a file of a case.
func read(t *testing.T, k *scenarios.Case, file string) []*unstructured.Unstructured {
	t.Helper()
	all, err := stack.Read(filepath.Join(k.Dir, file))
	must(t, err)
	return all
}

// createAndSettle creates objects and waits until the scheduler has looked at every pod that they are or make.
func createAndSettle(t *testing.T, c *stack.Stack, all []*unstructured.Unstructured, schedulerName string) {
	t.Helper()
	pods := 0
	for _, u := range all {
		if err := assign(u, schedulerName); err != nil {
			t.Fatal(err)
		}
		asApplied(u)
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
		switch u.GetKind() {
		case "PriorityClass":
			admitted(t, c, u.GetName())
		case "ResourceClaim":
			allocate(t, c, u)
		}
		pods += podsOf(u.Object, u.GetKind())
	}
	for _, u := range all {
		if u.GetKind() == "PersistentVolumeClaim" {
			settleClaim(t, c, u)
		}
	}
	if pods == 0 {
		return
	}
	eventually(t, patience, func() error {
		list, err := c.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		created := map[string]bool{}
		for _, u := range all {
			created[u.GetName()] = true
		}
		seen := 0
		for i := range list.Items {
			p := &list.Items[i]
			if created[workload(p)] && (p.Spec.NodeName != "" || condition(p) != nil) {
				seen++
			}
		}
		if seen < pods {
			return fmt.Errorf("%d of %d pods have been looked at", seen, pods)
		}
		return nil
	})
}

// podsOf is how many pods an object is or makes.
func podsOf(object map[string]any, kind string) int {
	switch kind {
	case "Pod":
		return 1
	case "Deployment", "StatefulSet", "ReplicaSet":
		return number(object, "replicas")
	case "Job":
		return number(object, "parallelism")
	}
	return 0
}

// number is a number in an object's spec, 1 by default.
func number(object map[string]any, name string) int {
	if n, ok, _ := unstructured.NestedInt64(object, "spec", name); ok {
		return int(n)
	}
	return 1
}

// outcomes is what became of a scheduler's pods, by workload.
func outcomes(ctx context.Context, c *stack.Stack, schedulerName, topologyKey string) (map[string]outcome, error) {
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	domains := map[string]string{}
	for _, n := range nodes.Items {
		domains[n.Name] = n.Labels[topologyKey]
	}
	pods, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.schedulerName=" + schedulerName})
	if err != nil {
		return nil, err
	}
	events, err := c.Client.EventsV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	failed := map[string]string{} // the notes about each pod, by its UID
	for _, e := range events.Items {
		if e.Reason == "FailedScheduling" {
			failed[string(e.Regarding.UID)] += e.Note + "\n"
		}
	}
	out, counts := map[string]outcome{}, map[string]map[string]int{}
	for i := range pods.Items {
		p := &pods.Items[i]
		name := workload(p)
		w := out[name]
		if counts[name] == nil {
			counts[name] = map[string]int{}
		}
		switch on, said := p.Spec.NodeName, condition(p); {
		case on != "":
			w.Placed++
			w.nodes = append(w.nodes, on)
			counts[name][domains[on]]++
		case said == nil || said.Status != corev1.ConditionFalse || said.Reason != corev1.PodReasonUnschedulable:
			return nil, fmt.Errorf("%s is neither bound nor unschedulable: %v", p.Name, said)
		case !strings.Contains(failed[string(p.UID)], said.Message):
			return nil, fmt.Errorf("%s waits with %q, and of its events none says so: %q", p.Name, said.Message, failed[string(p.UID)])
		default:
			w.Unplaced++
			w.Message, w.Whole = reason(said.Message), said.Message
		}
		out[name] = w
	}
	for name, w := range out {
		w.Spread = spread(counts[name])
		out[name] = w
	}
	return out, nil
}

// reason is a scheduler's message without what plugins add to it that have no say in where a pod fits: preemption and
// resource claims. A case has it only where it is about preemption. Beside an extender, kube-scheduler says something else about preemption, as it does not evict pods because
// of the extender's rejections.
func reason(message string) string {
	for _, addition := range []string{" no new claims to deallocate,", " preemption:"} {
		message, _, _ = strings.Cut(message, addition)
	}
	return message
}

// spread is pods per domain, most first.
func spread(domains map[string]int) string {
	var out []string
	for _, n := range slices.SortedFunc(maps.Values(domains), func(a, b int) int { return cmp.Compare(b, a) }) {
		if n > 0 {
			out = append(out, fmt.Sprint(n))
		}
	}
	return strings.Join(out, "/")
}

// expected is what a step expects of its outcomes. Which of several equal domains or nodes it is does not matter.
func expected(name string, s *scenarios.Step) func(map[string]outcome) error {
	switch {
	case s.Filter != nil:
		return func(got map[string]outcome) error {
			return oneOf(got, s.Filter.Pod, s.Filter.Feasible, s.Filter.Message)
		}
	case s.Score != nil:
		return func(got map[string]outcome) error { return oneOf(got, s.Score.Pod, &s.Score.Best, nil) }
	}
	want := s.Place
	if l, ok := later[name]; ok {
		want = l
	}
	return func(got map[string]outcome) error {
		for workload, w := range want {
			g, ok := got[workload]
			domains := spread(w.Domains)
			if w.Spread != nil {
				domains = strings.TrimRight(*w.Spread, "/0")
			}
			switch {
			case !ok:
				return fmt.Errorf("there are no pods of %s", workload)
			case w.Placed != nil && *w.Placed != g.Placed, w.Unplaced != nil && *w.Unplaced != g.Unplaced,
				domains != "" && domains != g.Spread, w.Message != nil && reason(*w.Message) != g.Message:
				return fmt.Errorf("%s: %+v, want %d placed, %d unplaced, spread %q, message %q",
					workload, g, value(w.Placed), value(w.Unplaced), domains, value(w.Message))
			}
		}
		return nil
	}
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// oneOf expects of one pod to be on one of some nodes, or to wait if there are none.
func oneOf(got map[string]outcome, pod string, nodes *[]string, message *string) error {
	for name, g := range got {
		if pod != "" && name != pod {
			continue
		}
		switch {
		case nodes != nil && len(*nodes) > 0 && (g.Placed != 1 || !slices.Contains(*nodes, g.nodes[0])):
			return fmt.Errorf("%s: %+v on %v, want one of %v", name, g, g.nodes, *nodes)
		case nodes != nil && len(*nodes) == 0 && g.Unplaced == 0:
			return fmt.Errorf("%s: %+v on %v, want it to wait", name, g, g.nodes)
		case value(message) != "" && reason(*message) != g.Message:
			return fmt.Errorf("%s: %q, want %q", name, g.Message, *message)
		}
		return nil
	}
	return fmt.Errorf("there is no pod %q", pod)
}
