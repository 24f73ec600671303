package extender

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
)

func attributeKey(k string) attribute.Key { return attribute.Key(k) }

const (
	refusedByAntiAffinity = "node(s) didn't match pod anti-affinity rules"
	refusedByAffinity     = "node(s) didn't match pod affinity rules"
)

func TestFilter(t *testing.T) {
	web := on(apart(makePod("web-1", "web"), corev1.LabelTopologyZone), "a")
	big := makePod("big", "big")
	big.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
	huge := makePod("huge", "big")
	huge.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("40")
	wrong := makePod("wrong", "wrong")
	wrong.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("-1")
	long := corev1.ResourceName(corev1.ResourceHugePagesPrefix + strings.Repeat("x", 400)) // than the server accepts
	odd := makePod("odd", "odd")
	odd.Spec.Containers[0].Resources.Requests[long] = resource.MustParse("1")
	nominated := makePod("nominated", "p")
	nominated.Status.NominatedNodeName = "b"
	none := extenderv1.FailedNodesMap{}
	for _, c := range []struct {
		name          string
		pod           *corev1.Pod
		candidates    bool // Options.PreemptionCandidates
		nodes         []string
		want          []string
		failed, never extenderv1.FailedNodesMap
		err           string
	}{
		{"all", makePod("p", "p"), false, []string{"a", "b", "c"}, []string{"a", "b", "c"}, none, none, ""},
		{"a pod with a nominated node", nominated, false, []string{"a", "b", "c"}, []string{"a", "b", "c"}, none, none, ""},
		{"some of the nodes", makePod("p", "p"), false, []string{"c", "b"}, []string{"b", "c"}, none, none, ""},
		{"no node", makePod("p", "p"), false, []string{}, []string{}, none, none, ""},
		{"anti-affinity", apart(makePod("web-2", "web"), corev1.LabelTopologyZone), false, []string{"a", "b", "c"}, []string{"b", "c"},
			none, extenderv1.FailedNodesMap{"a": refusedByAntiAffinity}, ""},
		{"anti-affinity, which eviction mends", apart(makePod("web-2", "web"), corev1.LabelTopologyZone), true, []string{"a", "b", "c"},
			[]string{"b", "c"}, extenderv1.FailedNodesMap{"a": refusedByAntiAffinity}, none, ""},
		{"affinity, which it does not", together(makePod("p", "p"), "web", corev1.LabelTopologyZone), true, []string{"a", "b", "c"},
			[]string{"a"}, none, extenderv1.FailedNodesMap{"b": refusedByAffinity, "c": refusedByAffinity}, ""},
		{"nothing is feasible", apart(makePod("web-2", "web"), corev1.LabelTopologyZone), false, []string{"a"}, []string{}, none,
			extenderv1.FailedNodesMap{"a": refusedByAntiAffinity}, ""},
		{
			"resources, which eviction mends", big, true, []string{"a", "b"}, []string{"b"},
			extenderv1.FailedNodesMap{"a": "Insufficient cpu"}, none, "",
		},
		{"resources, which it does not", huge, true, []string{"a", "b"}, []string{}, none,
			extenderv1.FailedNodesMap{"a": "Insufficient cpu", "b": "Insufficient cpu"}, ""},
		{"a node that is not known yet", makePod("p", "p"), true, []string{"a", "new"}, []string{"a"}, none,
			extenderv1.FailedNodesMap{"new": "node(s) were not known to Stowage yet"}, ""},
		{"a node that is refused", makePod("p", "p"), true, []string{"a", "negative"}, []string{"a"}, none,
			extenderv1.FailedNodesMap{"negative": "node(s) were refused by Stowage"}, ""},
		{"a pod that does not convert", wrong, false, []string{"a"}, []string{}, nil, nil,
			`cannot convert the pod: spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must not be negative`},
		{"a pod that is refused", odd, false, []string{"a"}, []string{}, nil, nil,
			`Stowage rejects the request: spec.containers[0].requests.scalars["` + string(long[:64]) +
				`"...]: has a name of 410 bytes, at most 317 are allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			negative := makeNode("negative", "z4")
			negative.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("-1")
			w := start(t, Options{PreemptionCandidates: c.candidates}, makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z3"),
				negative, web)
			want := extenderv1.ExtenderFilterResult{
				NodeNames: &c.want, FailedNodes: c.failed, FailedAndUnresolvableNodes: c.never, Error: c.err,
			}
			w.options.AllReasons = true
			if diff := cmp.Diff(want, w.filter(c.pod, c.nodes...)); diff != "" {
				t.Errorf("with all reasons: %s", diff)
			}
			w.options.AllReasons = false
			if len(c.want) > 0 {
				want.FailedNodes, want.FailedAndUnresolvableNodes = none, none
			}
			if diff := cmp.Diff(want, w.filter(c.pod, c.nodes...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodesInsteadOfNames(t *testing.T) {
	log := &buffer{}
	w := start(t, Options{Log: slog.New(slog.NewTextHandler(log, nil))}, makeNode("a", "z1"))
	nodes := &corev1.NodeList{Items: []corev1.Node{*makeNode("a", "z1")}}
	for _, args := range []*extenderv1.ExtenderArgs{{Pod: makePod("p", "p"), Nodes: nodes}, {Pod: makePod("p", "p")}} {
		got, code := call[extenderv1.ExtenderFilterResult](w, "filter", args)
		if code != http.StatusOK || !strings.Contains(got.Error, "nodeCacheCapable: true") {
			t.Errorf("filter answers %d with %+v", code, got)
		}
		if _, code := call[extenderv1.HostPriorityList](w, "prioritize", args); code != http.StatusInternalServerError {
			t.Errorf("prioritize answers %d", code)
		}
	}
	victims := map[string]*extenderv1.Victims{"a": {Pods: []*corev1.Pod{makePod("v", "v")}}}
	if _, code := call[extenderv1.ExtenderPreemptionResult](w, "preempt", &extenderv1.ExtenderPreemptionArgs{
		Pod: makePod("p", "p"), NodeNameToVictims: victims,
	}); code != http.StatusInternalServerError {
		t.Errorf("preempt answers %d", code)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "nodeCacheCapable: true") {
		t.Errorf("the log does not say so: %s", log.String())
	}
}

func TestBadRequests(t *testing.T) {
	w := start(t, Options{}, makeNode("a", "z1"))
	for _, verb := range []string{"filter", "prioritize", "bind", "preempt"} {
		if code, _ := w.post(verb, []byte(`{"Pod":`)); code != http.StatusBadRequest {
			t.Errorf("%s of half a request answers %d", verb, code)
		}
		if code, _ := w.post(verb, bytes.Repeat([]byte(" "), 17<<20)); code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s of a large request answers %d", verb, code)
		}
		r, err := http.Get(w.http.URL + "/" + verb)
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET of %s answers %d", verb, r.StatusCode)
		}
	}
	if got := w.filter(nil, "a"); got.Error != errNoPod.Error() {
		t.Errorf("without a pod: %q", got.Error)
	}
	nullPod := []byte(`{"NodeNameToMetaVictims":{"a":{"Pods":[null]}},"Pod":{"metadata":{"uid":"x"}}}`)
	if code, _ := w.post("preempt", nullPod); code != http.StatusInternalServerError {
		t.Errorf("a victim that is null: %d", code)
	}
}

func TestNothingIsDecidedBeforeEverythingIsRead(t *testing.T) {
	w := startUnread(t, Options{}, live.Options{}, nil, makeNode("a", "z1"))
	if w.Ready() {
		t.Error("ready")
	}
	if got := w.filter(makePod("p", "p"), "a"); !strings.Contains(got.Error, "stowage-extender is starting") ||
		len(*got.NodeNames) > 0 {
		t.Errorf("filter: %+v", got)
	}
	if got := w.bindTo(makePod("p", "p"), "a"); !strings.Contains(got, "stowage-extender is starting") {
		t.Errorf("bind: %s", got)
	}
	nodes := []string{"a"}
	if _, code := call[extenderv1.HostPriorityList](w, "prioritize",
		&extenderv1.ExtenderArgs{Pod: makePod("p", "p"), NodeNames: &nodes}); code != http.StatusInternalServerError {
		t.Errorf("prioritize answers %d", code)
	}
	if _, code := call[extenderv1.ExtenderPreemptionResult](w, "preempt", &extenderv1.ExtenderPreemptionArgs{Pod: makePod("p", "p"),
		NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{
			"a": {Pods: []*extenderv1.MetaPod{{UID: "x"}}},
		}}); code != http.StatusInternalServerError {
		t.Errorf("preempt answers %d", code)
	}
}

func TestPrioritize(t *testing.T) {
	preferred := makePod("p", "web")
	preferred.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}}},
	}}
	preferred.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	for _, c := range []struct {
		name    string
		r       Range
		plugins []string
		want    map[string]int64
	}{
		// Anti-affinity: -200, -100 and 0 become 0, 50 and 100. Spread: 2, 1 and 0 pods times ln 5, rounded, are 3, 2 and 0,
		// which become 0, 33 and 100. The weights are 2 and 2.
		{"rescaled", Rescaled, nil, map[string]int64{"a": 0, "b": 4, "c": 10}},
		{"exact", Exact, nil, map[string]int64{"a": 0, "b": 166, "c": 400}},
		{"one plugin", Exact, []string{"InterPodAffinity"}, map[string]int64{"a": 0, "b": 100, "c": 200}},
	} {
		t.Run(c.name, func(t *testing.T) {
			scores, err := NewScores(c.r, c.plugins, nil)
			if err != nil {
				t.Fatal(err)
			}
			w := start(t, Options{Scores: scores}, makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z3"),
				on(makePod("web-1", "web"), "a"), on(makePod("web-2", "web"), "a"), on(makePod("web-3", "web"), "b"))
			w.filter(preferred, "a", "b", "c")
			if diff := cmp.Diff(c.want, w.prioritize(preferred, "a", "b", "c")); diff != "" {
				t.Error(diff)
			}
			if evaluated, shared := w.count("stowage.extender.evaluations", "by", "stowage"),
				w.count("stowage.extender.evaluations", "by", "shared"); evaluated != 1 || shared != 1 {
				t.Errorf("evaluated %d times, shared %d times", evaluated, shared)
			}
			// For other nodes, or without a filter before, scores are computed again.
			if got := w.prioritize(preferred, "b", "a"); got["b"] <= got["a"] {
				t.Errorf("of two: %v", got)
			}
			if got := w.prioritize(makePod("other", "other"), "a", "b"); len(got) != 2 {
				t.Errorf("of another pod: %v", got)
			}
			if evaluated := w.count("stowage.extender.evaluations", "by", "stowage"); evaluated != 3 {
				t.Errorf("evaluated %d times", evaluated)
			}
		})
	}
	if _, err := NewScores(Exact, []string{"Guess"}, nil); err == nil {
		t.Error("a plugin that there is not")
	}
}

func TestFilterDecidesAlone(t *testing.T) {
	web1, web2, web3 := apart(makePod("web-1", "web"), corev1.LabelTopologyZone),
		apart(makePod("web-2", "web"), corev1.LabelTopologyZone), apart(makePod("web-3", "web"), corev1.LabelTopologyZone)
	w := start(t, Options{Decide: AtFilter}, makeNode("a", "z1"), makeNode("b", "z2"), web1, web2, web3)
	first, second := *w.filter(web1, "a", "b").NodeNames, *w.filter(web2, "a", "b").NodeNames
	if len(first) != 1 || len(second) != 1 || first[0] == second[0] {
		t.Fatalf("%v and %v", first, second)
	}
	if got := w.filter(web3, "a", "b"); len(*got.NodeNames) != 0 || len(got.FailedAndUnresolvableNodes) != 2 {
		t.Errorf("the third: %+v", got)
	}
	// kube-scheduler filters again, so it did not bind.
	if got := *w.filter(web2, "a", "b").NodeNames; !slices.Equal(got, second) {
		t.Errorf("the second again: %v", got)
	}
	// A configuration may have bindVerb nevertheless. A bind to another node is refused if a rule excludes it.
	if err := w.bindTo(web1, first[0]); err != "" {
		t.Error(err)
	}
	if err := w.bindTo(web2, first[0]); !strings.Contains(err, refusedByAntiAffinity) {
		t.Errorf("bound in violation: %q", err)
	}
	if err := w.bindTo(web2, second[0]); err != "" {
		t.Error(err)
	}
	w.api.events.Wait()
}

func TestPreempt(t *testing.T) {
	full := func(name, app, node string) *corev1.Pod {
		p := on(makePod(name, app), node)
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
		return p
	}
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z3"),
		full("victim-a", "batch", "a"), full("victim-b", "batch", "b"), full("victim-c", "batch", "c"),
		on(makePod("web-b", "web"), "b"))
	big := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
	big.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	victims := func(uids ...string) *extenderv1.MetaVictims {
		v := &extenderv1.MetaVictims{NumPDBViolations: 1}
		for _, uid := range uids {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: uid})
		}
		return v
	}
	ask := func(in map[string]*extenderv1.MetaVictims) []string {
		t.Helper()
		got, code := call[extenderv1.ExtenderPreemptionResult](w, "preempt", &extenderv1.ExtenderPreemptionArgs{
			Pod: big, NodeNameToMetaVictims: in,
		})
		if code != http.StatusOK || got.NodeNameToMetaVictims == nil {
			t.Fatalf("preempt answers %d with %+v", code, got)
		}
		for node, v := range got.NodeNameToMetaVictims {
			if diff := cmp.Diff(in[node], v); diff != "" {
				t.Error(diff)
			}
		}
		return slices.Sorted(maps.Keys(got.NodeNameToMetaVictims))
	}
	if got := w.filter(big, "a", "b", "c"); len(*got.NodeNames) != 0 {
		t.Fatalf("there is room: %+v", got)
	}
	// On b, web-b would still be in the way; c's victim is another node's; a node without victims is an error to kube-scheduler.
	if got := ask(map[string]*extenderv1.MetaVictims{
		"a": victims("pod-victim-a"), "b": victims("pod-victim-b"), "c": victims("pod-victim-a"), "gone": victims("pod-victim-a"),
	}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("kept %v", got)
	}
	if got := ask(map[string]*extenderv1.MetaVictims{
		"b": victims("pod-victim-b", "pod-web-b", "unknown"), "c": victims(),
	}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("kept %v", got)
	}
	if got := ask(map[string]*extenderv1.MetaVictims{}); len(got) != 0 {
		t.Errorf("kept %v of nothing", got)
	}
}

// TestPreemptNamesBoundVictims: with pods that are decided at filter, and that their binding has not reached. kube-scheduler
// fails the attempt if it does not have a victim on the node.
func TestPreemptNamesBoundVictims(t *testing.T) {
	of := func(name, cpu string, priority int32) *corev1.Pod {
		p := makePod(name, name)
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		p.Spec.Priority = &priority
		return p
	}
	runs := func(p *corev1.Pod, node string) *corev1.Pod {
		p = on(p, node)
		p.Status.StartTime = new(metav1.Unix(1, 0))
		return p
	}
	decided := of("decided", "2", 1)
	w := read(t, startUnread(t, Options{OwnVictims: true, Decide: AtFilter}, live.Options{StartTimes: true}, nil,
		makeNode("a", "za"), makeNode("b", "zb"), runs(of("a-0", "2", 2), "a"),
		runs(of("b-0", "2", 2), "b"), runs(of("b-1", "2", 3), "b"), decided))
	if got := w.filter(decided, "a"); !slices.Equal(*got.NodeNames, []string{"a"}) {
		t.Fatalf("filter answers %v", *got.NodeNames)
	}
	victims := func(names ...string) *extenderv1.MetaVictims {
		v := &extenderv1.MetaVictims{}
		for _, name := range names {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: "pod-" + name})
		}
		return v
	}
	ask := func(what string, pod *corev1.Pod, sent, want map[string]*extenderv1.MetaVictims) {
		t.Helper()
		got, code := call[extenderv1.ExtenderPreemptionResult](w, "preempt", &extenderv1.ExtenderPreemptionArgs{
			Pod: pod, NodeNameToMetaVictims: sent,
		})
		if diff := cmp.Diff(want, got.NodeNameToMetaVictims); code != http.StatusOK || diff != "" {
			t.Errorf("%s: preempt answers %d (-want +got):\n%s", what, code, diff)
		}
	}
	preemptor := of("preemptor", "2", 10)
	ask("a victim that is not sent", preemptor, map[string]*extenderv1.MetaVictims{"a": victims("a-0"), "b": victims("b-0")},
		map[string]*extenderv1.MetaVictims{"b": victims("b-0")})
	ask("a victim that is sent", preemptor, map[string]*extenderv1.MetaVictims{"a": victims("decided"), "b": victims("b-0")},
		map[string]*extenderv1.MetaVictims{"a": victims("decided"), "b": victims("b-0")})
	// The decision about the preemptor itself was not bound, and takes no room.
	late := runs(of("late", "2", 1), "a")
	w.create(late)
	eventually(t, "late is on a", func() bool { node, _ := w.cluster.NodeOf("pod-late"); return node == "a" })
	decided.Spec.Priority = new(int32(10))
	ask("the preemptor was decided", decided, map[string]*extenderv1.MetaVictims{"a": victims("late")},
		map[string]*extenderv1.MetaVictims{"a": victims("late")})
}

// TestPreemptWithOwnVictims: without InterPodAffinity, kube-scheduler selects other victims.
func TestPreemptWithOwnVictims(t *testing.T) {
	uses := func(cpu string, p *corev1.Pod) *corev1.Pod {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		return p
	}
	runs := func(name, app, node, cpu string, started int64) *corev1.Pod {
		p := on(uses(cpu, makePod(name, app)), node)
		p.Status.StartTime = new(metav1.Unix(started, 0))
		return p
	}
	precious := runs("precious", "web", "e", "1", 1)
	precious.Spec.Priority = new(int32(20))
	w := read(t, startUnread(t, Options{OwnVictims: true}, live.Options{StartTimes: true}, nil,
		makeNode("a", "za"), makeNode("b", "zb"), makeNode("d", "zd"), makeNode("e", "ze"), makeNode("f", "zf"),
		runs("batch-a", "batch", "a", "3", 1),
		runs("batch-b", "batch", "b", "3", 1), runs("web-b", "web", "b", "100m", 2),
		runs("web-d", "web", "d", "2", 1), runs("batch-d", "batch", "d", "2", 2),
		precious, runs("batch-e", "batch", "e", "3", 2),
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}))
	preemptor := uses("2", apart(makePod("web-1", "web"), corev1.LabelTopologyZone))
	preemptor.Spec.Priority = new(int32(10))
	of := func(violations int64, names ...string) *extenderv1.MetaVictims {
		v := &extenderv1.MetaVictims{NumPDBViolations: violations}
		for _, name := range names {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: "pod-" + name})
		}
		return v
	}
	sent := map[string]*extenderv1.MetaVictims{
		"a": of(0, "batch-a"), "b": of(0, "batch-b"), "d": of(0, "batch-d"), "e": of(0, "batch-e"), "gone": of(0, "batch-a"),
	}
	ask := func(name string, pod *corev1.Pod, sent, want map[string]*extenderv1.MetaVictims) {
		t.Helper()
		got, code := call[extenderv1.ExtenderPreemptionResult](w, "preempt", &extenderv1.ExtenderPreemptionArgs{
			Pod: pod, NodeNameToMetaVictims: sent,
		})
		if diff := cmp.Diff(want, got.NodeNameToMetaVictims); code != http.StatusOK || diff != "" {
			t.Errorf("%s: preempt answers %d (-want +got):\n%s", name, code, diff)
		}
	}
	// On b, web-b has to go as well; on d, web-d instead of batch-d; precious stays, so that e is no candidate.
	ask("all rules", preemptor, sent, map[string]*extenderv1.MetaVictims{
		"a": of(0, "batch-a"), "b": of(1, "batch-b", "web-b"), "d": of(1, "web-d"),
	})
	// Only nodes that were sent, and with victims.
	ask("one node", preemptor, map[string]*extenderv1.MetaVictims{"d": of(0, "batch-d"), "a": of(0)},
		map[string]*extenderv1.MetaVictims{"d": of(1, "web-d")})
	ask("no node", preemptor, map[string]*extenderv1.MetaVictims{}, map[string]*extenderv1.MetaVictims{})
	// Stowage takes the pod on f at once: kube-scheduler knows why it does not.
	ask("a feasible node", preemptor, map[string]*extenderv1.MetaVictims{"d": of(0, "batch-d"), "f": of(0, "x")},
		map[string]*extenderv1.MetaVictims{"f": of(0, "x")})
	// kube-scheduler's plugins for resource claims have agreed to its victims alone.
	devices := preemptor.DeepCopy()
	devices.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r", ResourceClaimName: new("r")}}
	ask("devices", devices, sent, map[string]*extenderv1.MetaVictims{"a": of(0, "batch-a")})
	// Of a claim that no event has shown, kube-scheduler's plugins know more.
	volumes := preemptor.DeepCopy()
	volumes.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	ask("volumes", volumes, sent, map[string]*extenderv1.MetaVictims{"a": of(0, "batch-a")})
	// The same without the option.
	w.options.OwnVictims = false
	ask("kube-scheduler's", preemptor, sent, map[string]*extenderv1.MetaVictims{"a": of(0, "batch-a")})
}
