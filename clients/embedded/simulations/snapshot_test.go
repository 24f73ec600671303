package simulations_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func schedule(t testing.TB, s *simulate.Snapshot, o simulate.ScheduleOptions, pods ...*corev1.Pod) []string {
	t.Helper()
	results, err := s.Schedule(t.Context(), pods, o)
	must(t, err)
	return nodesOf(results)
}

func shop(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// A reverted transaction undoes the committed transactions inside it.
func TestTransactionsNest(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "1"), node("b", "z", "1")}, nil)
	s.Begin()
	diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod("first", "x", "1")))
	s.Begin()
	diff(t, []string{"b", ""}, schedule(t, s, simulate.ScheduleOptions{}, pod("second", "x", "1"), pod("third", "x", "1")))
	must(t, s.Commit())
	diff(t, 1, s.Open())
	diff(t, "b", s.NodeOf("shop", "second"))
	s.Begin()
	must(t, s.RemoveNode("a"))
	must(t, s.Revert())
	diff(t, "a", s.NodeOf("shop", "first"))
	must(t, s.Revert())
	diff(t, "", s.NodeOf("shop", "first")+s.NodeOf("shop", "second"))
	diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod("first", "x", "1")))
	for _, err := range []error{s.Commit(), s.Revert()} {
		if !errors.Is(err, simulate.ErrNoTransaction) {
			t.Errorf("got %v", err)
		}
	}
}

func TestTransaction(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2")}, nil)
	broken := errors.New("broken")
	run := func(name string, result error) error {
		return s.Transaction(func() error {
			s.Begin() // left open
			diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod(name, "x", "1")))
			return result
		})
	}
	if err := run("lost", broken); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	must(t, run("lost", fmt.Errorf("no: %w", simulate.ErrRevert)))
	must(t, run("kept", nil))
	func() {
		defer func() { diff(t, any("panic"), recover()) }()
		_ = s.Transaction(func() error {
			must(t, s.RemoveNode("a"))
			panic("panic")
		})
	}()
	diff(t, 0, s.Open())
	diff(t, []string{"", "a"}, []string{s.NodeOf("shop", "lost"), s.NodeOf("shop", "kept")})
}

// Forks are independent, also while they are used at the same time.
// TestForkWith places a pod in a fork without NodeResourcesFit, and adopts it: the other profile stays with the fork.
func TestForkWith(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z1", "1")}, nil)
	diff(t, []string{""}, schedule(t, s, simulate.ScheduleOptions{}, pod("large", "x", "2")))
	fork := s.ForkWith(simulate.Options{Profile: &stowagev1.Profile{
		DisabledFilters: []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT},
	}})
	diff(t, []string{"a"}, schedule(t, fork, simulate.ScheduleOptions{FirstFit: true}, pod("large", "x", "2")))
	diff(t, "", s.NodeOf("shop", "large"))
	must(t, s.Adopt(fork))
	diff(t, "a", s.NodeOf("shop", "large"))
	diff(t, []string{""}, schedule(t, s, simulate.ScheduleOptions{FirstFit: true}, pod("other", "x", "2")))
}

func TestForksConcurrently(t *testing.T) {
	var nodes []*corev1.Node
	for i := range 20 {
		nodes = append(nodes, node(fmt.Sprintf("node-%02d", i), fmt.Sprintf("z%d", i%3), "4"))
	}
	s := snapshot(t, dial(t), nodes, []*corev1.Pod{on("node-00", pod("running", "x", "1"))})
	diff(t, []string{"node-01"}, schedule(t, s, simulate.ScheduleOptions{}, pod("before", "x", "1")))
	var alone []string
	for i := range 8 {
		alone = append(alone, strings.Join(life(t, s.Fork(), i), " "))
	}
	forks := make([]*simulate.Snapshot, 8)
	var all sync.WaitGroup
	for i := range forks {
		forks[i] = s.Fork()
		all.Go(func() {
			if got := strings.Join(life(t, forks[i], i), " "); got != alone[i] {
				t.Errorf("fork %d: %s, alone %s", i, got, alone[i])
			}
		})
	}
	all.Wait()
	diff(t, "", s.NodeOf("shop", "pod-3-0"))
	s.Begin()
	must(t, s.Adopt(forks[3]))
	diff(t, forks[3].NodeOf("shop", "pod-3-0"), s.NodeOf("shop", "pod-3-0"))
	must(t, s.Revert())
	diff(t, "", s.NodeOf("shop", "pod-3-0"))
	other := snapshot(t, dial(t), nodes, nil)
	if s.Adopt(other) == nil {
		t.Error("a snapshot of another cluster was adopted")
	}
}

func life(t testing.TB, s *simulate.Snapshot, id int) (out []string) {
	for i := range 12 {
		p := pod(fmt.Sprintf("pod-%d-%d", id, i), "y", fmt.Sprintf("%dm", 300+100*id))
		if i%3 == 0 {
			apart(p)
		}
		s.Begin()
		results, err := s.Schedule(t.Context(), []*corev1.Pod{p}, simulate.ScheduleOptions{})
		if err != nil {
			t.Error(err)
			return out
		}
		if i%4 == 3 {
			err = s.Revert()
		} else {
			err = s.Commit()
		}
		if i == 6 {
			err = errors.Join(err, s.AddNode(node(fmt.Sprintf("new-%d", id), "z9", "8")), s.RemoveNode(results[0].Node), s.Settle())
		}
		if err != nil {
			t.Error(err)
		}
		out = append(out, results[0].Node)
	}
	return out
}

func TestFeasible(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "1"), node("b", "z", "2"), node("c", "z", "4")},
		[]*corev1.Pod{on("c", pod("there", "x", "1"))})
	f, err := s.Feasible(t.Context(), pod("", "x", "1500m"), nil)
	must(t, err)
	diff(t, []string{"b", "c"}, f.Nodes)
	diff(t, []simulate.Rejection{
		{Plugin: "NodeResourcesFit", Unresolvable: true, Reasons: []string{"Insufficient cpu"}, Nodes: []string{"a"}},
	}, f.Why.Rejections)
	if r := f.Why.Rejection("a"); r == nil || f.Why.Rejection("b") != nil {
		t.Errorf("a is rejected by %v, b by %v", r, f.Why.Rejection("b"))
	}
	some, err := s.Nodes("c", "a")
	must(t, err)
	diff(t, 2, some.Len())
	must(t, s.RemoveNode("b")) // c has another index now
	f, err = s.Feasible(t.Context(), apart(pod("", "x", "1500m")), some)
	must(t, err)
	diff(t, 0, len(f.Nodes))
	diff(t, "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules.", f.Why.Message)
	must(t, s.RemoveNode("a"))
	if _, err := s.Feasible(t.Context(), pod("", "x", "1"), some); err == nil || err.Error() != `there is no node "a"` {
		t.Errorf("got %v", err)
	}
	volume := pod("", "x", "1")
	claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}
	volume.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}}
	f, err = s.Feasible(t.Context(), volume, nil)
	must(t, err)
	diff(t, 1, len(f.Doubts))
}

func TestTemplate(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z1", "4"), node("b", "z2", "2"), node("c", "z3", "1")},
		[]*corev1.Pod{on("c", pod("web-1", "web", "1"))})
	template := &corev1.PodTemplateSpec{Spec: pod("", "", "1").Spec}
	template.GenerateName, template.Namespace = "web-", "shop"
	tried, err := s.ScheduleTemplate(t.Context(), template, 100, simulate.ScheduleOptions{DryRun: true})
	must(t, err)
	diff(t, "", s.NodeOf("shop", "web-0"))
	results, err := s.ScheduleTemplate(t.Context(), template, 100, simulate.ScheduleOptions{})
	must(t, err)
	diff(t, nodesOf(tried), nodesOf(results))
	diff(t, []string{"a", "a", "b", "a", "a", "b", ""}[6:], nodesOf(results)[6:])
	diff(t, "web-2", results[1].Pod.Name)
	diff(t, results[1].Node, s.NodeOf("shop", "web-2"))
	diff(t, 7, len(results))
	diff(t, "0/3 nodes are available: 3 Insufficient cpu.", results[6].Why.Message)
	results, err = s.ScheduleTemplate(t.Context(), template, 0, simulate.ScheduleOptions{})
	must(t, err)
	diff(t, 0, len(results))
	// They are pods like any other.
	must(t, s.Settle())
	_, err = s.Evict(shop("web-0"), shop("web-4"))
	must(t, err)
	results, err = s.ScheduleTemplate(t.Context(), template, 2, simulate.ScheduleOptions{})
	must(t, err)
	diff(t, []string{"web-0", "web-4"}, []string{results[0].Pod.Name, results[1].Pod.Name})
}

func TestFirstFit(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2"), node("b", "z", "8")}, nil)
	diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{DryRun: true}, pod("p", "x", "1")))
	o := simulate.ScheduleOptions{FirstFit: true}
	diff(t, []string{"a", "a", "b"}, schedule(t, s, o, pod("p", "x", "1"), pod("q", "x", "1"), pod("r", "x", "1")))
}

func priority(p *corev1.Pod, priority int32) *corev1.Pod {
	p.Spec.Priority = &priority
	return p
}

func TestPreemption(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2"), node("b", "z", "2")}, []*corev1.Pod{
		on("a", priority(pod("high", "x", "1500m"), 9)),
		on("b", priority(pod("low", "x", "1"), 1)), on("b", priority(pod("lower", "x", "1"), 0)),
	})
	p := priority(pod("p", "x", "1"), 5)
	found, err := s.Preemption(t.Context(), p, nil)
	must(t, err)
	diff(t, "b", found.Node)
	diff(t, 1, len(found.Victims))
	diff(t, "lower", found.Victims[0].Name)
	s.Begin()
	evicted, err := s.Evict(shop(found.Victims[0].Name))
	must(t, err)
	diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{}, p))
	must(t, s.Restore(evicted)) // without checking for room
	diff(t, "lower", evicted.Pods()[0].Name)
	diff(t, 3, len(s.PodsOn("b")))
	if err := s.Restore(evicted); err == nil || err.Error() != "pod shop/lower is already on node b" {
		t.Errorf("got %v", err)
	}
	must(t, s.Revert())
	diff(t, 2, len(s.PodsOn("b")))
	// A pod that was scheduled is a victim as well.
	must(t, s.RemoveNode("b"))
	diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod("small", "x", "500m")))
	found, err = s.Preemption(t.Context(), priority(pod("p", "x", "500m"), 5), nil)
	must(t, err)
	diff(t, "small", found.Victims[0].Name)
	found, err = s.Preemption(t.Context(), priority(pod("p", "x", "2"), 5), nil)
	must(t, err)
	diff(t, "", found.Node)
	found, err = s.Preemption(t.Context(), pod("p", "x", "0"), nil)
	must(t, err)
	diff(t, []string{"a"}, found.Feasible)
}

func TestGroup(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2"), node("b", "z", "1")}, nil)
	member := func(name string) *corev1.Pod {
		p := pod(name, "x", "1")
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("gang")}
		return p
	}
	group := func(least int32) *schedulingv1beta1.PodGroup {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gang"}}
		g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: least}
		return g
	}
	four := []*corev1.Pod{member("0"), member("1"), member("2"), member("3")}
	result, err := s.ScheduleGroup(t.Context(), group(4), four, simulate.ScheduleOptions{})
	must(t, err)
	diff(t, []string{"", "", "", ""}, nodesOf(result.Results))
	if result.Placed || result.Message == "" {
		t.Errorf("got %+v", result)
	}
	result, err = s.ScheduleGroup(t.Context(), group(5), four, simulate.ScheduleOptions{})
	must(t, err)
	diff(t, kube.TooFewMembers, result.Message)
	result, err = s.ScheduleGroup(t.Context(), group(2), four[:2], simulate.ScheduleOptions{})
	must(t, err)
	diff(t, true, result.Placed)
	// Pods with nodes count towards the minimum.
	result, err = s.ScheduleGroup(t.Context(), group(3), four[2:], simulate.ScheduleOptions{})
	must(t, err)
	diff(t, true, result.Placed)
	got := nodesOf(result.Results)
	slices.Sort(got)
	diff(t, "", got[0])
	if _, err := s.ScheduleGroup(t.Context(), group(1), []*corev1.Pod{pod("p", "x", "1")}, simulate.ScheduleOptions{}); err == nil {
		t.Error("a pod of no group was scheduled in one")
	}
}

// An evicted pod is the same pod in every state: where its template is unknown, and where another one has its index.
func TestRestoreElsewhere(t *testing.T) {
	client := dial(t)
	small, large := on("a", pod("small", "small", "1")), on("a", pod("large", "large", "6"))
	empty := func() *simulate.Snapshot { return snapshot(t, client, []*corev1.Node{node("a", "z", "10")}, nil) }
	evict := func(s *simulate.Snapshot) *simulate.Evicted {
		must(t, s.AddPods(small))
		e, err := s.Evict(shop("small"))
		must(t, err)
		return e
	}
	reverted := func() (*simulate.Snapshot, *simulate.Evicted) {
		s := empty()
		s.Begin()
		e := evict(s)
		must(t, s.Revert())
		return s, e
	}
	for what, start := range map[string]func() (*simulate.Snapshot, *simulate.Evicted){
		"after a revert": reverted,
		"in a fork": func() (*simulate.Snapshot, *simulate.Evicted) {
			s := empty()
			fork := s.Fork()
			return fork, evict(s)
		},
		"in another snapshot": func() (*simulate.Snapshot, *simulate.Evicted) { return empty(), evict(empty()) },
		"after it became a cluster of its own": func() (*simulate.Snapshot, *simulate.Evicted) {
			s, e := reverted()
			must(t, s.AddPods(on("a", pod("other", "other", "0"))))
			must(t, s.Settle())
			return s, e
		},
	} {
		for _, add := range [][]*corev1.Pod{nil, {large}} {
			s, evicted := start()
			free := 9
			if add != nil {
				must(t, s.AddPods(add...))
				free = 3
			}
			must(t, s.Restore(evicted))
			o := simulate.ScheduleOptions{DryRun: true}
			got := schedule(t, s, o, pod("p", "p", fmt.Sprint(free+1)), pod("q", "q", fmt.Sprint(free)))
			if want := []string{"", "a"}; !slices.Equal(got, want) {
				t.Errorf("%s, beside %d pods: %q, want %q: %d cpu should be free", what, len(add), got, want, free)
			}
		}
	}
}

// A nominated pod keeps its room until it is scheduled.
func TestNominated(t *testing.T) {
	nominated := priority(pod("nominated", "x", "2"), 5)
	nominated.Status.NominatedNodeName = "a"
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2"), node("b", "z", "2")}, []*corev1.Pod{nominated})
	o := simulate.ScheduleOptions{DryRun: true}
	diff(t, []string{"b", ""}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
	s.Begin()
	elsewhere := nominated.DeepCopy()
	elsewhere.Status.NominatedNodeName = "b"
	diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{}, elsewhere))
	diff(t, []string{"a", ""}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
	must(t, s.Revert())
	diff(t, []string{"b", ""}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
	diff(t, []string{"a", "b"}, schedule(t, s, o, nominated, pod("p", "x", "2")))
}

// No pod is nominated to a node that is gone, nor to another one of its name. The nominated pod can still be scheduled.
func TestNominatedToANodeThatComesBack(t *testing.T) {
	nominated := priority(pod("nominated", "x", "2"), 5)
	nominated.Status.NominatedNodeName = "a"
	o := simulate.ScheduleOptions{DryRun: true}
	for _, settled := range []bool{false, true} {
		s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2"), node("b", "z", "2")}, []*corev1.Pod{nominated})
		settle := func() {
			if settled {
				must(t, s.Settle())
			}
		}
		s.Begin()
		must(t, s.RemoveNode("a"))
		settle()
		diff(t, []string{"b", ""}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
		must(t, s.AddNode(node("a", "z", "2")))
		settle()
		diff(t, []string{"b", "a"}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
		must(t, s.AddPods(on("b", nominated)))
		diff(t, []string{"a", ""}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
		must(t, s.Revert())
		diff(t, []string{"b", ""}, schedule(t, s, o, pod("p", "x", "2"), pod("q", "x", "2")))
	}
}

func TestRefusals(t *testing.T) {
	s := snapshot(t, dial(t), []*corev1.Node{node("a", "z", "2")}, []*corev1.Pod{on("a", pod("there", "x", "1"))})
	broken := pod("broken", "x", "1")
	broken.Spec.Tolerations = []corev1.Toleration{{Operator: "Maybe"}}
	cases := []struct {
		what, want string
		err        error
	}{
		{"a namesake", "pod shop/there: is already on node a", s.AddPods(on("a", pod("there", "x", "1")))},
		{"no node", `pod shop/p: spec.nodeName: there is no node ""`, s.AddPods(pod("p", "x", "1"))},
		{"no name", "pod shop/: metadata.name: is empty", s.AddPods(on("a", pod("", "x", "1")))},
		{"a second node", `node "a" already exists`, s.AddNode(node("a", "z", "1"))},
		{"a nameless node", "metadata.name: is empty", s.AddNode(node("", "z", "1"))},
		{"an unknown node", `there is no node "b"`, s.RemoveNode("b")},
	}
	add := func(what, want string, err error) {
		cases = append(cases, struct {
			what, want string
			err        error
		}{what, want, err})
	}
	_, err := s.Evict(shop("there"), shop("there"))
	add("twice", "pod shop/there is on no node", err)
	_, err = s.Schedule(t.Context(), []*corev1.Pod{pod("p", "x", "1"), pod("p", "x", "1")}, simulate.ScheduleOptions{})
	add("twins", "pod shop/p: duplicate name", err)
	_, err = s.Schedule(t.Context(), []*corev1.Pod{pod("p", "x", "1"), broken}, simulate.ScheduleOptions{})
	add("a toleration", `pod shop/broken: spec.tolerations[0].operator: Unsupported value: "Maybe": `+
		`supported values: "", "Equal", "Exists", "Gt", "Lt"`, err)
	_, err = s.Nodes("a", "b")
	add("nodes", `there is no node "b"`, err)
	for _, c := range cases {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.what, c.err, c.want)
		}
	}
	diff(t, "a", s.NodeOf("shop", "there"))
	diff(t, 0, s.Changes())
	// What only the server refuses stays until it is reverted.
	s.Begin()
	odd := on("a", pod("odd", "x", "1"))
	odd.Labels["app"] = strings.Repeat("x", 99)
	must(t, s.AddPods(odd))
	_, err = s.Feasible(t.Context(), pod("p", "x", "1"), nil)
	if d := stowage.Details(err); len(d.Violations) != 1 || !strings.Contains(d.Violations[0].Field, "labels") {
		t.Errorf("got %v", err)
	}
	must(t, s.Revert())
	_, err = s.Feasible(t.Context(), pod("p", "x", "1"), nil)
	must(t, err)
	counted := kube.NewBuilder(kube.Options{CountPods: true})
	must(t, counted.AddNode(node("a", "z", "1")))
	must(t, counted.AddPod(on("a", pod("p", "x", "1"))))
	cluster, err := counted.Build()
	must(t, err)
	if _, err := simulate.New(t.Context(), dial(t), cluster, simulate.Options{}); !errors.Is(err, kube.ErrCounted) {
		t.Errorf("got %v", err)
	}
}

// Objects that the server refuses cost only themselves.
func TestObjectsThatTheServerRefuses(t *testing.T) {
	odd := node("odd", "z", "2")
	odd.Labels["x"] = strings.Repeat("x", 99)
	cluster := objects(t, []*corev1.Node{odd, node("a", "z", "2")}, nil)
	s, err := simulate.New(t.Context(), dial(t), cluster, simulate.Options{})
	must(t, err)
	if len(cluster.Misreads) == 0 || cluster.Misreads[0].At != "Node odd" {
		t.Errorf("misread are %v", cluster.Misreads)
	}
	diff(t, []string{"a", ""}, schedule(t, s, simulate.ScheduleOptions{}, pod("p", "x", "2"), pod("q", "x", "2")))
}

// A server that restarts gets what it needs again, also of a snapshot with a history, and also if the client has used many
// others.
func TestForgetfulServer(t *testing.T) {
	server := servertest.Start(t)
	client, err := stowage.Dial([]string{server.Address})
	must(t, err)
	defer client.Close()
	s := snapshot(t, client, []*corev1.Node{node("a", "z", "2"), node("b", "z", "2")}, nil)
	diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod("p", "x", "2")))
	must(t, s.Settle())
	diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{DryRun: true}, pod("q", "x", "2")))
	for i := range stowage.RememberedSnapshots + 1 {
		snapshot(t, client, []*corev1.Node{node(fmt.Sprint("other-", i), "z", "2")}, nil)
	}
	server.Stop()
	server.Resume()
	diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{}, pod("q", "x", "2")))
}
