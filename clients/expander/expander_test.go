package expander

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
)

func prices(t testing.TB, text string) *Prices {
	t.Helper()
	p, err := ParsePrices([]byte(text))
	must(t, err)
	return p
}

func TestTheBestOption(t *testing.T) {
	client := dial(t)
	perCore := prices(t, `
prices:
- {nodeGroup: "^spot-", nodeLabels: {node.kubernetes.io/instance-type: c8}, price: 0.1}
- {nodeLabels: {node.kubernetes.io/instance-type: c2}, price: 1}
- {nodeGroup: "^large$", price: 5}
`)
	small, large := node("small", "z1", "2", "8Gi"), node("large", "z1", "8", "32Gi")
	six := pods(6, "1", "1Gi")
	inSmall, inLarge := expansion{"small", 3, small, six}, expansion{"large", 1, large, six}
	for _, c := range []struct {
		what    string
		prices  *Prices
		options []expansion
		want    []string
		why     string
	}{
		{
			"fewest nodes without prices", nil, []expansion{inSmall, inLarge}, []string{"large"},
			"large: places 6 of 6 pods, and uses 1 of 1 new nodes; wastes 53.1 %",
		},
		{"least cost", perCore, []expansion{inSmall, inLarge}, []string{"small"}, "for 3; wastes 37.5 %"},
		{"the first price that matches", perCore, []expansion{inSmall, {"spot-x", 1, large, six}}, []string{"spot-x"}, "for 0.1;"},
		{"no price comes last", perCore, []expansion{{"unknown", 1, large, six}, inSmall}, []string{"small"}, "for 3;"},
		{
			"the most pods, whatever they cost", perCore, []expansion{{"small", 2, small, six}, inLarge}, []string{"large"},
			"places 6 of 6 pods",
		},
		{
			// Cluster Autoscaler counts four, but all in one zone.
			"what the pods' own rules allow", nil,
			[]expansion{{"small", 4, small, pods(4, "1", "1Gi", apart)}, {"large", 2, large, pods(2, "1", "1Gi")}}, []string{"large"},
			"places 2 of 2 pods",
		},
		{
			"least waste", nil,
			[]expansion{{"large", 1, large, six}, {"tight", 1, node("tight", "z1", "6", "6Gi"), six}}, []string{"tight"}, "wastes 0.0 %",
		},
		{"equal options", nil, []expansion{{"a", 1, large, six}, inSmall, {"c", 1, large, six}}, []string{"a", "c"}, "a: places"},
		{
			"an option without a node", nil, []expansion{{"lost", 1, nil, six}, inSmall}, []string{"small"}, "places 6 of 6",
		},
		{
			"an option that the server refuses", nil,
			[]expansion{{"odd", 1, labelled(large, "x", strings.Repeat("x", 99)), six}, inSmall}, []string{"small"}, "places 6 of 6",
		},
		{
			"a pod that does not convert", nil,
			[]expansion{{"small", 3, small, append(pods(1, "1", "1Gi", tolerating("Maybe")), six...)}}, []string{"small"},
			`uses 3 of 3 new nodes; wastes 37.5 %; pod shop/web-a: spec.tolerations[0].operator: Unsupported value: "Maybe"`,
		},
		{
			"why a pod has no node", nil, []expansion{{"small", 1, small, pods(3, "1", "1Gi")}}, []string{"small"},
			"places 2 of 3 pods, and uses 1 of 1 new nodes; wastes 37.5 %; pod shop/web-c: 0/1 nodes are available: 1 Insufficient cpu.",
		},
		{
			"a volume", nil, []expansion{{"small", 1, small, pods(1, "1", "1Gi", claiming)}}, []string{"small"},
			"1 pods have unsupported fields, such as volumes",
		},
		{
			"priorities", nil,
			[]expansion{{"small", 1, small, append(pods(1, "2", "1Gi"), pods(1, "2", "2Gi", important)...)}}, []string{"small"},
			"pod shop/web-a: 0/1 nodes are available: 1 Insufficient cpu.",
		},
		{
			"pods without a creation time are the last ones", nil,
			[]expansion{{"small", 1, small, append(pods(1, "2", "1Gi"), pods(1, "2", "2Gi", created)...)}}, []string{"small"},
			"pod shop/web-a: 0/1 nodes are available: 1 Insufficient cpu.",
		},
	} {
		e, err := New(client, Options{Prices: c.prices, Log: quiet()})
		must(t, err)
		answer, err := e.BestOptions(t.Context(), encoded(t, c.options...))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if d := cmp.Diff(c.want, groups(answer)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
		if !strings.Contains(answer.Options[0].Debug, c.why) {
			t.Errorf("%s: %s", c.what, answer.Options[0].Debug)
		}
	}
}

func labelled(n *corev1.Node, key, value string) *corev1.Node {
	n = n.DeepCopy()
	n.Labels[key] = value
	return n
}

func tolerating(operator corev1.TolerationOperator) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: operator}} }
}

func claiming(p *corev1.Pod) {
	claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}}
}

func important(p *corev1.Pod) {
	p.Name = "important"
	p.Spec.Priority = new(int32(9))
}

func created(p *corev1.Pod) {
	p.Name, p.CreationTimestamp = "created", metav1.Unix(1, 0)
}

// What an option places is what a snapshot with its nodes and no others places.
func TestVerifiedByPlacing(t *testing.T) {
	client := dial(t)
	e, err := New(client, Options{Log: quiet()})
	must(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 30 {
		count := 1 + r.IntN(5)
		template := node("template", "z1", fmt.Sprint(1+r.IntN(8)), "16Gi")
		var queue []*corev1.Pod
		for i := range 1 + r.IntN(12) {
			p := pod(fmt.Sprint("p-", i), fmt.Sprintf("%dm", 200+100*r.IntN(15)), "1Gi")
			if r.IntN(4) == 0 {
				apart(p)
			}
			queue = append(queue, p)
		}
		_, all, err := e.best(t.Context(), encoded(t, expansion{"group", count, template, queue}))
		must(t, err)
		var nodes []*corev1.Node
		for i := range count {
			n := template.DeepCopy()
			n.Name = fmt.Sprint("other-", i)
			n.Labels[corev1.LabelHostname] = n.Name
			nodes = append(nodes, n)
		}
		cluster, err := simulate.Objects(nodes, nil)
		must(t, err)
		s, err := simulate.New(t.Context(), client, cluster, simulate.Options{})
		must(t, err)
		results, err := s.Schedule(t.Context(), queue, simulate.ScheduleOptions{})
		must(t, err)
		placed, used := 0, map[string]bool{}
		for _, r := range results {
			if r.Node != "" {
				placed++
				used[r.Node] = true
			}
		}
		if all[0].placed != placed || all[0].used != len(used) || all[0].total != len(queue) {
			t.Fatalf("round %d: %s; placing gives %d pods on %d nodes", round, all[0], placed, len(used))
		}
	}
}

// Cluster Autoscaler before 1.35 sends messages where there are bytes now: a server that reads bytes gets the same.
func TestOlderReleases(t *testing.T) {
	e, err := New(dial(t), Options{Log: quiet()})
	must(t, err)
	r := encoded(t, expansion{"small", 3, node("small", "z1", "2", "8Gi"), pods(6, "1", "1Gi")})
	r.NodeMap, r.NodeBytesMap = r.NodeBytesMap, nil
	r.Options[0].Pod, r.Options[0].PodBytes = r.Options[0].PodBytes, nil
	answer, err := e.BestOptions(t.Context(), r)
	must(t, err)
	if !strings.Contains(answer.Options[0].Debug, "places 6 of 6 pods") {
		t.Error(answer)
	}
}

// Cluster Autoscaler has the same names and numbers on the wire.
func TestTheWire(t *testing.T) {
	if grpcplugin.Expander_BestOptions_FullMethodName != "/grpcplugin.Expander/BestOptions" {
		t.Error(grpcplugin.Expander_BestOptions_FullMethodName)
	}
	got := map[string]string{}
	messages := grpcplugin.File_grpcplugin_expander_proto.Messages()
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			f := fields.Get(j)
			got[string(f.FullName())] = fmt.Sprint(f.Number(), " ", f.Cardinality(), " ", f.Kind())
		}
	}
	if d := cmp.Diff(map[string]string{
		"grpcplugin.BestOptionsRequest.options":      "1 repeated message",
		"grpcplugin.BestOptionsRequest.nodeMap":      "2 repeated message",
		"grpcplugin.BestOptionsRequest.nodeBytesMap": "3 repeated message",
		"grpcplugin.BestOptionsResponse.options":     "1 repeated message",
		"grpcplugin.Option.nodeGroupId":              "1 optional string",
		"grpcplugin.Option.nodeCount":                "2 optional int32",
		"grpcplugin.Option.debug":                    "3 optional string",
		"grpcplugin.Option.pod":                      "4 repeated bytes",
		"grpcplugin.Option.podBytes":                 "5 repeated bytes",
	}, got); d != "" {
		t.Error(d)
	}
}

// What no option places is an error, so that Cluster Autoscaler decides itself, or no option at all.
func TestNoneFits(t *testing.T) {
	var log bytes.Buffer
	small := node("small", "z1", "2", "8Gi")
	large := expansion{"small", 3, small, pods(6, "3", "1Gi")}
	client := dial(t)
	for _, c := range []struct {
		refuse  bool
		options []expansion
		want    codes.Code
	}{
		{false, []expansion{large}, codes.FailedPrecondition},
		{true, []expansion{large}, codes.OK},
		// What could not be read is no reason to refuse.
		{true, []expansion{large, {"lost", 1, nil, pods(1, "1", "1Gi")}}, codes.FailedPrecondition},
		{true, []expansion{{"small", 1, small, pods(1, "1", "1Gi", tolerating("Maybe"))}}, codes.FailedPrecondition},
		{true, []expansion{large, {"no-pods", 1, small, nil}}, codes.FailedPrecondition},
	} {
		e, err := New(client, Options{Refuse: c.refuse, Log: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		answer, err := e.BestOptions(t.Context(), encoded(t, c.options...))
		if status.Code(err) != c.want || len(answer.GetOptions()) > 0 {
			t.Errorf("refuse=%t: %v, %v", c.refuse, answer, err)
		}
	}
	if !strings.Contains(log.String(), "0/3 nodes are available: 3 Insufficient cpu.") {
		t.Error(log.String())
	}
}

func TestMalformedRequests(t *testing.T) {
	e, err := New(dial(t), Options{Log: quiet()})
	must(t, err)
	good := func() *grpcplugin.BestOptionsRequest {
		return encoded(t, expansion{"a", 1, node("a", "z1", "2", "8Gi"), pods(1, "1", "1Gi")})
	}
	for what, change := range map[string]func(*grpcplugin.BestOptionsRequest){
		"no options":      func(r *grpcplugin.BestOptionsRequest) { r.Options = nil },
		"a nil option":    func(r *grpcplugin.BestOptionsRequest) { r.Options[0] = nil },
		"no nodes":        func(r *grpcplugin.BestOptionsRequest) { r.Options[0].NodeCount = 0 },
		"negative nodes":  func(r *grpcplugin.BestOptionsRequest) { r.Options[0].NodeCount = -1 },
		"too many nodes":  func(r *grpcplugin.BestOptionsRequest) { r.Options[0].NodeCount = 1 << 30 },
		"an odd node":     func(r *grpcplugin.BestOptionsRequest) { r.NodeBytesMap["a"] = []byte{1, 2, 3} },
		"an odd pod":      func(r *grpcplugin.BestOptionsRequest) { r.Options[0].PodBytes[0] = []byte{0xff} },
		"no pods":         func(r *grpcplugin.BestOptionsRequest) { r.Options[0].PodBytes = nil },
		"an unknown node": func(r *grpcplugin.BestOptionsRequest) { r.Options[0].NodeGroupId = "b" },
	} {
		r := good()
		change(r)
		if answer, err := e.BestOptions(t.Context(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v, %v", what, answer, err)
		}
	}
	var many []expansion
	for i := range 3 {
		many = append(many, expansion{fmt.Sprint(i), 7000, node("a", "z1", "2", "8Gi"), nil})
	}
	if _, err := e.BestOptions(t.Context(), encoded(t, many...)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too many nodes together: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.BestOptions(ended, good()); status.Code(err) != codes.Canceled {
		t.Errorf("a caller that has gone: %v", err)
	}
}

// Beside a live cluster, its pods count for topology, its nodes are there, and its DaemonSets come with new nodes.
func TestBesideTheLiveCluster(t *testing.T) {
	client := dial(t)
	running := pod("running", "1", "1Gi")
	running.Spec.NodeName = "old"
	old, template := node("old", "z1", "1", "4Gi"), node("old", "z1", "2", "4Gi") // a template may have the name of a node
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "kube-system", UID: "u"}}
	ds.Spec.Template.Spec = pod("", "500m", "1Gi").Spec
	ds.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "z1"}
	api := fake.NewClientset(old, running, ds)
	e, start := beside(t, client, api, Options{})
	same, other := pods(1, "1", "1Gi", apart), node("other", "z2", "2", "4Gi")
	r := encoded(t, expansion{"same-zone", 1, template, same}, expansion{"other-zone", 1, other, same})
	if _, err := e.BestOptions(t.Context(), r); status.Code(err) != codes.Unavailable {
		t.Errorf("before the informers have synced: %v", err)
	}
	start()
	answer, err := e.BestOptions(t.Context(), r)
	must(t, err)
	if d := cmp.Diff([]string{"other-zone"}, groups(answer)); d != "" {
		t.Error(d)
	}
	// Of two cores, the agent leaves one and a half in zone z1.
	two := pods(2, "1", "1Gi")
	r = encoded(t, expansion{"with-agent", 1, template, two}, expansion{"without", 1, other, two})
	answer, err = e.BestOptions(t.Context(), r)
	must(t, err)
	if d := cmp.Diff([]string{"without"}, groups(answer)); d != "" {
		t.Error(d)
	}
	_, all, err := e.best(t.Context(), encoded(t, expansion{"with-agent", 2, template, two}))
	must(t, err)
	if all[0].placed != 2 || all[0].used != 2 || all[0].nodes[0].Name != "stowage-new-0" {
		t.Error(all[0])
	}
	// A pod that came after the start has a template that is in the view's delta alone.
	late := pod("late", "0", "0")
	late.Labels, late.Spec.NodeName = nil, "old"
	apart(late)
	_, err = api.CoreV1().Pods("shop").Create(t.Context(), late, metav1.CreateOptions{})
	must(t, err)
	eventually(t, "the late pod keeps others out of its zone", func() bool {
		_, all, err := e.best(t.Context(), encoded(t, expansion{"with-agent", 1, template, pods(1, "1", "1Gi")}))
		must(t, err)
		return all[0].placed == 0
	})
}

// The nodes of Cluster Autoscaler are named template-node-for-<group>-<number> (simulator/node_info_utils.go), by their host name
// as well, where only 63 bytes fit.
func TestNamesOfClusterAutoscaler(t *testing.T) {
	e, err := New(dial(t), Options{Log: quiet()})
	must(t, err)
	for _, group := range []string{
		"ng", "my-cluster-workers-general-purpose", "eks-general-purpose-5ec4f1d3-0e2c-6b1d-9f1e-1f5a3b1c2d3e",
		"https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instanceGroups/gke-c-default-pool-1234abcd-grp",
		strings.Repeat("long", 100), "odd/ group\n\xff", "",
	} {
		n := node("template-node-for-"+group+"-5577006791947779410", "z1", "2", "8Gi")
		_, all, err := e.best(t.Context(), encoded(t, expansion{group, 3, n, pods(6, "1", "1Gi")}))
		if err != nil || all[0].placed != 6 || all[0].used != 3 {
			t.Errorf("%s: %v, %v", group, err, all)
		}
	}
}

// If pods have got room on nodes that are there, an option is none whose nodes accept no pod.
func TestNodesThatTakeNoPod(t *testing.T) {
	tainted := node("useless", "z1", "1", "1Gi")
	tainted.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}}
	useless := expansion{"useless", 1, tainted, pods(2, "1", "1Gi")}
	useful := expansion{"useful", 2, node("useful", "z2", "16", "64Gi"), pods(2, "1", "1Gi")}
	for _, refuse := range []bool{false, true} {
		e, start := beside(t, dial(t), fake.NewClientset(node("old", "z1", "8", "32Gi")), Options{Refuse: refuse})
		start()
		answer, err := e.BestOptions(t.Context(), encoded(t, useless, useful))
		must(t, err)
		if d := cmp.Diff([]string{"useful"}, groups(answer)); d != "" {
			t.Error(d)
		}
		answer, err = e.BestOptions(t.Context(), encoded(t, useless))
		if refuse && err == nil && len(answer.Options) == 0 {
			continue
		}
		if refuse || status.Code(err) != codes.FailedPrecondition {
			t.Errorf("refuse=%t: %v, %v", refuse, answer, err)
		}
	}
}

// counted ends when it was looked at a number of times.
type counted struct {
	context.Context
	looks int
}

func (c *counted) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// The pods of a DaemonSet are converted once for all nodes of an option, and an option ends with its caller.
func TestManyNodesWithDaemonSets(t *testing.T) {
	e, err := New(dial(t), Options{Log: quiet()})
	must(t, err)
	s := &surroundings{templates: 7, pending: convert.PendingPod, taken: func(name string) bool { return name == "stowage-new-1" }}
	for i := range 5 {
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("agent-", i), Namespace: "kube-system", UID: "u"}}
		ds.Spec.Template.Spec = pod("", "5m", "1Mi").Spec
		s.daemons = append(s.daemons, ds)
	}
	s.daemons[1].Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "z2"} // not here
	const nodes, pending = 20, 3
	r := encoded(t, expansion{"a", nodes, node("a", "z1", "64", "256Gi"), pods(pending, "1", "1Gi")})
	enough := nodes + 1 + len(s.daemons) + pending // one name is taken
	for looks := range enough {
		o := e.read(&counted{t.Context(), looks}, r, r.Options[0], s)
		if !errors.Is(o.problem, context.Canceled) {
			t.Fatalf("after %d looks of %d: %v", looks, enough, o.problem)
		}
	}
	o := e.read(&counted{t.Context(), enough}, r, r.Options[0], s)
	must(t, o.problem)
	if len(o.templates) != 4 || o.templates[3].Index != 10 || len(o.nodes) != nodes || o.nodes[1].Name != "stowage-new-2" {
		t.Error(o.templates, o.nodes)
	}
	for _, n := range o.nodes {
		if len(n.PodCounts) != 4 || n.Labels[corev1.LabelHostname] != n.Name {
			t.Error(n)
		}
	}
}

func TestPrices(t *testing.T) {
	for text, want := range map[string]string{
		"prices: []":                                        "prices: is empty",
		"prices: [{price: 1}]":                              "prices[0]: needs nodeGroup or nodeLabels",
		"prices: [{nodeGroup: a}]":                          "prices[0].price: is required",
		"prices: [{nodeGroup: a, price: -1}]":               "prices[0].price: must not be negative, is -1",
		"prices: [{nodeGroup: '(', price: 1}]":              "prices[0].nodeGroup: error parsing regexp",
		"prices: [{nodeGroup: a, price: 1, currency: EUR}]": "unknown field",
		"prices: [{nodeGroup: a, price: .nan}]":             "NaN",
		"prices: {":                                         "yaml",
	} {
		if _, err := ParsePrices([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
