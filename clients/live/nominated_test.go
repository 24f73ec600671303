package live

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/proto/content/contenttest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func pendingPod(name, uid, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, Status: corev1.PodStatus{NominatedNodeName: node},
	}
}

func boundTo(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName, p.Status.NominatedNodeName = node, ""
	return p
}

func withNodes(names ...string) *model {
	m := newModel(slog.New(slog.DiscardHandler))
	for _, name := range names {
		m.nodeSet(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9")},
		}})
	}
	return m
}

// listedNodes returns the nodes with a message, sorted by name.
func (m *model) listedNodes() (out []*stowagev1.Node) {
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; n.message != nil {
			out = append(out, n.full())
		}
	}
	return out
}

// nominations are the nominated pods in the model's messages, by node.
func (m *model) nominations() map[string][]string {
	out := map[string][]string{}
	for _, n := range m.listedNodes() {
		for _, p := range n.NominatedPods {
			out[n.Name] = append(out[n.Name], p.Name)
		}
		slices.Sort(out[n.Name])
	}
	return out
}

func TestNominationsComeAndGo(t *testing.T) {
	m := withNodes("a", "b")
	pod := pendingPod("p", "p", "a")
	expect := func(what string, want map[string][]string) {
		t.Helper()
		if got := m.nominations(); !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	onA, onB, none := map[string][]string{"a": {"p"}}, map[string][]string{"b": {"p"}}, map[string][]string{}
	assume := func(node string) {
		t.Helper()
		if err := m.assume([]Assumption{{Pod: pod, Node: node}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		m.deciding = false
	}
	m.podSet(pod)
	expect("nominated", onA)
	m.changed = false
	if m.podSet(pod.DeepCopy()); m.changed {
		t.Error("the same nomination again is a change")
	}
	m.podSet(pendingPod("p", "p", "b"))
	expect("nominated elsewhere", onB)
	m.podSet(pendingPod("p", "p", ""))
	expect("not nominated any more", none)
	m.podSet(pendingPod("p", "p", "unknown"))
	expect("nominated to an unknown node", none)
	m.podSet(pod)
	assume("b")
	expect("assumed", none)
	m.podSet(pendingPod("p", "p", "b"))
	expect("a late event", none)
	m.forget(pod.UID)
	m.deciding = false
	expect("forgotten", onB)
	m.podSet(boundTo(pod, "a"))
	expect("bound", none)
	m.podGone(boundTo(pod, "a"))
	expect("gone", none)
	m.podSet(pod)
	done := pod.DeepCopy()
	done.Status.Phase = corev1.PodFailed
	m.podSet(done)
	expect("finished", none)
	m.podSet(pod)
	m.podSet(pendingPod("p", "successor", "a"))
	expect("another with the name", onA)
	m.podGone(pod)
	expect("the one before is gone", onA)
	m.podGone(pendingPod("p", "successor", "a"))
	expect("deleted", none)
	m.nodeGone("a")
	m.nodeGone("b")
	if len(m.nodes)+len(m.nominated)+m.templates.used > 0 {
		t.Errorf("there remain %v, %v, %d templates", m.nodes, m.nominated, m.templates.used)
	}
}

// A nominated pod whose requests cannot be read, or are refused, closes its node for as long as it is nominated.
func TestOddNominatedPodsCloseTheirNodes(t *testing.T) {
	m := withNodes("a", "b")
	odd := pendingPod("odd", "odd", "a")
	odd.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("10E")}
	m.podSet(odd)
	closed := func(what string, names ...string) {
		t.Helper()
		for _, n := range m.listedNodes() {
			if n.Unschedulable != slices.Contains(names, n.Name) {
				t.Errorf("%s: node %s is closed: %t", what, n.Name, n.Unschedulable)
			}
			if reason := m.refusedNodes()[n.Name]; (reason != "") != slices.Contains(names, n.Name) {
				t.Errorf("%s: node %s: %q", what, n.Name, reason)
			}
		}
	}
	closed("nominated", "a")
	if got := m.nominations()["a"]; !slices.Equal(got, []string{"odd"}) {
		t.Errorf("nominated are %v", got)
	}
	if err := m.assume([]Assumption{{Pod: odd, Node: "b"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	closed("assumed", "b")
	m.forget("odd")
	closed("forgotten", "a")
	m.podSet(pendingPod("odd", "odd", ""))
	closed("not nominated any more")

	labelled := pendingPod("odd", "odd", "a")
	labelled.Labels = map[string]string{"statefulset.kubernetes.io/pod-name": "odd"}
	m.podSet(labelled)
	closed("readable")
	m.settle()
	if !m.refusePod("a", 0, true, "is odd") {
		t.Fatal("nothing was left out")
	}
	closed("refused", "a")
	if got := m.listedNodes()[0].NominatedPods; len(got) != 1 || len(got[0].Labels) > 0 {
		t.Errorf("nominated are %v", got)
	}
	m.settle()
	m.podSet(labelled.DeepCopy())
	closed("the same again", "a")
	if !m.refusePod("a", 0, true, "is odd still") {
		t.Fatal("nothing was left out")
	}
	if closed("refused again", "a"); len(m.nominations()) > 0 {
		t.Errorf("nominated are %v", m.nominations())
	}
	m.podGone(labelled)
	closed("gone")

	m.podSet(pendingPod("plain", "plain", "b"))
	if !m.refuseTemplate(m.nominated["plain"].counted.template, "spec.containers[0].requests", "is odd") {
		t.Fatal("nothing was left out")
	}
	closed("a refused template", "b")
}

// Differences lead from one state to the other, whatever happens to nominated pods.
func TestDifferencesOfNominatedPods(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	m, rng := withNodes(names...), rand.New(rand.NewPCG(3, 7))
	last := map[types.UID]*corev1.Pod{}
	var before *stowagev1.Cluster
	var of *base
	begin := func() {
		m.renumber()
		before = &stowagev1.Cluster{PodTemplates: slices.Clone(m.templates.list), Nodes: m.listedNodes()}
		of = &base{templates: len(m.templates.list)}
		m.settle()
	}
	begin()
	nominated := 0
	for step := range 3000 {
		name := fmt.Sprint("p", rng.IntN(8))
		node := names[rng.IntN(len(names))]
		pod := last[types.UID(name)]
		switch what := rng.IntN(9); {
		case what < 3 && (pod == nil || pod.Spec.NodeName == ""):
			pod = pendingPod(name, name, node)
			pod.Labels = map[string]string{"app": fmt.Sprint(rng.IntN(3))}
			if rng.IntN(3) == 0 {
				pod.Labels["statefulset.kubernetes.io/pod-name"] = name
			}
			if rng.IntN(5) == 0 {
				pod.Status.NominatedNodeName = ""
			}
			m.podSet(pod)
			last[pod.UID] = pod
		case pod == nil:
		case what == 3:
			_ = m.assume([]Assumption{{Pod: pod, Node: node}}, time.Now())
		case what == 4:
			m.forget(pod.UID)
		case what == 5:
			pod = boundTo(pod, node)
			m.podSet(pod)
			last[pod.UID] = pod
		case what == 6:
			m.podGone(pod)
			delete(last, pod.UID)
		case what == 7 && rng.IntN(4) == 0:
			m.nodeGone(node)
		case what == 8:
			begin()
		}
		if m.deciding = false; rng.IntN(9) == 0 {
			m.nodeSet(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		}
		want := map[string][]string{}
		for uid, p := range last {
			_, known := m.pods[uid]
			if n := m.nodes[p.Status.NominatedNodeName]; p.Spec.NodeName == "" && !known && n != nil && n.message != nil {
				want[p.Status.NominatedNodeName] = append(want[p.Status.NominatedNodeName], p.Name)
				nominated++
			}
		}
		for _, list := range want {
			slices.Sort(list)
		}
		if got := m.nominations(); !maps.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("step %d: nominated are %v, want %v", step, got, want)
		}
		d := m.delta(of)
		if d == nil {
			d = &stowagev1.ClusterDelta{}
		}
		after, ok := contenttest.Apply(before, proto.CloneOf(d))
		if !ok {
			t.Fatalf("step %d: %v does not apply to %v", step, d, before)
		}
		forms := func(nodes []*stowagev1.Node) map[string]string {
			out := map[string]string{}
			for _, n := range nodes {
				form, err := content.Append(nil, n)
				if err != nil {
					t.Fatal(err)
				}
				out[n.Name] = string(form)
			}
			return out
		}
		if got, want := forms(after.Nodes), forms(m.listedNodes()); !maps.Equal(got, want) {
			t.Fatalf("step %d: %v leads to %v, want %v", step, d, after.Nodes, m.listedNodes())
		}
		if len(after.PodTemplates) != len(m.templates.list) {
			t.Fatalf("step %d: %d templates, want %d", step, len(after.PodTemplates), len(m.templates.list))
		}
	}
	if nominated < 1000 {
		t.Errorf("only %d nominations", nominated)
	}
}

// A nominated pod that is assumed elsewhere is on no list of its node, which may be unknown.
func TestRenumberWithAHiddenNomination(t *testing.T) {
	m := withNodes("b")
	other := pendingPod("other", "other", "")
	other.Labels = map[string]string{"app": "other"}
	m.podSet(boundTo(other, "b"))
	pod := pendingPod("p", "p", "gone")
	m.podSet(pod)
	if err := m.assume([]Assumption{{Pod: pod, Node: "b"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	m.podGone(boundTo(other, "b")) // its template is not used any more
	m.renumber()
	if got := m.nodes["b"].full(); len(m.templates.list) != 1 || len(got.PodCounts)+len(got.Pods) != 1 {
		t.Errorf("%d templates, the node is %v", len(m.templates.list), got)
	}
}

// A nomination of the caller counts until an event shows it; events without it are older. One that is withdrawn is forgotten.
func TestNominationsOfTheCallerCountAtOnce(t *testing.T) {
	m := withNodes("a", "b")
	pod := pendingPod("p", "p", "")
	expect := func(what string, want ...string) {
		t.Helper()
		if got := m.nominations()["a"]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	m.podSet(pod)
	m.hold(pod, "a")
	expect("nominated", "p")
	m.podSet(pod.DeepCopy())
	expect("an event from before", "p")
	m.podSet(pendingPod("p", "p", "a"))
	expect("the event", "p")
	m.podSet(pod)
	expect("an event after it")
	m.hold(pod, "a")
	m.release(pod)
	expect("withdrawn")
	m.hold(pod, "a")
	m.podSet(boundTo(pod, "b"))
	expect("bound elsewhere")
	m.hold(pod, "a")
	expect("nominated too late")
	m.podGone(boundTo(pod, "b"))
	m.hold(pod, "a")
	m.podGone(pod)
	expect("deleted")
	m.hold(pod, "a")
	m.podSet(pendingPod("p", "successor", "a"))
	expect("another with the name", "p")
	if len(m.held) != 0 {
		t.Errorf("%d nominations are held", len(m.held))
	}
}
