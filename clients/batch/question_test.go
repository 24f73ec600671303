package batch

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestWhatIsNotReadIsSaid(t *testing.T) {
	if err := understood(nil); err != nil {
		t.Error(err)
	}
	err := understood([]*stowagev1.UnreadField{
		{Object: "Pod shop/web-0", Field: "spec.resourceClaims[0]", Consequence: "kube-scheduler looks for nodes with its devices"},
		{Object: "LimitRange shop/limits", Field: "spec"},
	})
	const want = "this scheduler leaves the pod alone, because it does not read spec.resourceClaims[0] of Pod shop/web-0: " +
		"kube-scheduler looks for nodes with its devices; spec of LimitRange shop/limits"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if w := whyOf(err); w.reason() != corev1.PodReasonSchedulerError {
		t.Errorf("the reason is %s", w.reason())
	}
}

// Equal pods share an entry, but for nominated ones: they do not count against themselves.
func TestNominatedPodsKeepTheirNames(t *testing.T) {
	q, pods := &question{}, []candidate{}
	for _, name := range []string{"web-1", "web-2", "web-3", "web-4"} {
		c := candidate{pod: waitingPod(name, 0, 0, "")}
		if name == "web-3" {
			c.pod.Status.NominatedNodeName = "a"
		}
		pods = append(pods, c)
	}
	cluster, err := live.New(fake.NewClientset(), nil, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Scheduler{cluster: cluster}
	converted, err := s.convertPods(pods, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, p := range converted {
		q.add(pods[i], p, "")
	}
	for _, e := range q.queue {
		got = append(got, fmt.Sprintf("%q on %q: %d", e.Pod.Name, e.Pod.NominatedNodeName, e.GetCount()))
	}
	if d := cmp.Diff([]string{`"" on "": 2`, `"web-3" on "a": 1`, `"" on "": 1`}, got); d != "" {
		t.Error(d)
	}
}

// Autoscalers add nodes for pods that are Unschedulable.
func TestAPodIsUnschedulableOnlyIfAnotherNodeMightTakeIt(t *testing.T) {
	q := &question{groups: []*stowagev1.PodGroup{{Name: "broken"}, {Name: "large"}}}
	for _, e := range []struct{ name, group string }{
		{"odd", ""}, {"huge", ""}, {"broken", "broken"}, {"large", "large"}, {"urgent", ""},
	} {
		q.queue = append(q.queue, &stowagev1.PendingPods{Count: new(uint32(1)), PodGroup: e.group})
		q.pods = append(q.pods, []candidate{{pod: waitingPod(e.name, 0, 0, "")}})
	}
	answer := &stowagev1.PlaceResponse{
		Placements: []*stowagev1.Placement{
			{UnplacedCount: 1, Message: "running PreFilter plugin: no", InternalError: true},
			{UnplacedCount: 1, Message: "0/1 nodes are available"},
			{UnplacedCount: 1, Message: "running PreFilter plugin: no", InternalError: true},
			{UnplacedCount: 1, Message: "0/1 nodes are available"},
			{
				UnplacedCount: 1, Message: "0/1 nodes are available",
				Preemption: &stowagev1.Preemption{Nominated: &stowagev1.PreemptionCandidate{}},
			},
		},
		PodGroups: []*stowagev1.PodGroupPlacement{
			{FirstUnplacedQueueIndex: proto.Uint32(2), InternalError: true}, {FirstUnplacedQueueIndex: proto.Uint32(3)},
		},
	}
	got := map[string]string{}
	for _, v := range q.verdicts(answer, nil, false) {
		got[v.pod.Name] = v.why.reason() + ": " + v.message
	}
	if d := cmp.Diff(map[string]string{
		"odd":    "SchedulerError: running PreFilter plugin: no",
		"huge":   "Unschedulable: 0/1 nodes are available",
		"broken": "SchedulerError: pod group broken: running PreFilter plugin: no",
		"large":  "Unschedulable: pod group large: 0/1 nodes are available",
		"urgent": "Unschedulable: 0/1 nodes are available; this scheduler evicts no pods",
	}, got); d != "" {
		t.Error(d)
	}
}

// The members of a group are nominated by entry, in their order; of a group that may not be decided, its pods say so.
func TestNominationsOfAGroup(t *testing.T) {
	q := &question{groups: []*stowagev1.PodGroup{{Name: "g"}, {Name: "vast"}, {Name: "waits"}}}
	answer := &stowagev1.PlaceResponse{PodGroups: []*stowagev1.PodGroupPlacement{
		{Message: "no room", Preemption: &stowagev1.PodGroupPreemption{Nominations: []*stowagev1.PodGroupNomination{
			{QueueIndex: 1, Nodes: &stowagev1.NodeList{Indexes: []uint32{1, 0}}},
			{QueueIndex: 2, Nodes: &stowagev1.NodeList{Indexes: []uint32{1}}},
		}}},
		{Message: "no room", Preemption: &stowagev1.PodGroupPreemption{Undecided: true}},
		{Message: "ongoing", Preemption: &stowagev1.PodGroupPreemption{Ongoing: true}},
		{}, // it runs
	}}
	for i, e := range []struct {
		group string
		pods  int
	}{{"", 2}, {"g", 3}, {"g", 1}, {"vast", 1}, {"waits", 1}} {
		q.queue = append(q.queue, &stowagev1.PendingPods{Count: new(uint32(e.pods)), PodGroup: e.group})
		q.pods = append(q.pods, nil)
		for j := range e.pods {
			q.pods[i] = append(q.pods[i], candidate{pod: waitingPod(fmt.Sprint(i, j), 0, 0, "")})
		}
		answer.Placements = append(answer.Placements, &stowagev1.Placement{UnplacedCount: uint32(e.pods)})
	}
	name := func(i uint32) string { return []string{"a", "b"}[i] }
	for evicts, want := range map[bool][]string{
		true: {
			"0 0: ", "0 1: ", "1 0: b pod group g: no room", "1 1: a pod group g: no room", "1 2: pod group g: no room",
			"2 0: b pod group g: no room",
			"3 0: pod group vast: no room; its preemption victims are unknown", "4 0: keeps pod group waits: ongoing",
		},
		false: {
			"0 0: ", "0 1: ", "1 0: pod group g: no room" + notEvicted, "1 1: pod group g: no room" + notEvicted,
			"1 2: pod group g: no room" + notEvicted, "2 0: pod group g: no room" + notEvicted,
			"3 0: pod group vast: no room; its preemption victims are unknown", "4 0: keeps pod group waits: ongoing",
		},
	} {
		var got []string
		for _, v := range q.verdicts(answer, name, evicts) {
			text := v.pod.Name + ": "
			if v.nominee != "" {
				text += v.nominee + " "
			}
			if v.keeps {
				text += "keeps "
			}
			got = append(got, text+v.message)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("evicts %v: %s", evicts, d)
		}
	}
}

// Preemption takes some 2 µs for a queue entry and a node, a hundred times that for a group, and a call has 30 s.
func TestPreemptionIsBounded(t *testing.T) {
	for _, c := range []struct {
		entries, groups, nodes int
		none, includes         bool
	}{
		{100, 0, 5_000, false, true}, {101, 0, 5_000, false, false}, {3, 0, 130_000, false, true}, {4, 0, 130_000, false, false},
		{1000, 0, 500, false, true}, {1, 0, 0, false, true}, {1, 0, 500_001, false, false}, {1, 0, 1, true, false},
		{0, 1, 5_001, false, true}, {1, 1, 5_000, false, false}, {0, 2, 5_000, false, false}, {50, 2, 2_000, false, true},
		{0, 1, 1, true, false},
	} {
		s := &Scheduler{options: Options{NoPreemption: c.none, PreemptionPairs: preemptionPairs}}
		if got := s.includesPreemption(c.entries, c.groups, c.nodes); got != c.includes {
			t.Errorf("%+v: includes: %v", c, got)
		}
	}
}

// TestOnlyWhatTheServerRefusesIsLeftOut places pods and groups, some of them invalid.
func TestOnlyWhatTheServerRefusesIsLeftOut(t *testing.T) {
	q := &question{groups: []*stowagev1.PodGroup{
		{Name: "small", MinCount: new(uint32(1))},
		{Name: "large", MinCount: new(uint32(1)), Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT},
		{Name: "half", MinCount: new(uint32(1))},
	}}
	for _, e := range []struct {
		name, group string
		count       uint32
		wrong       bool
	}{
		{"single", "", 1, false}, {"small", "small", 1, false}, {"large-1", "large", 700, false}, {"large-2", "large", 700, false},
		{"wrong", "", 1, true}, {"half-1", "half", 1, false}, {"half-2", "half", 1, true},
	} {
		c := candidate{pod: waitingPod(e.name, 0, 0, "")}
		p, err := convert.PendingPod(c.pod)
		if err != nil {
			t.Fatal(err)
		}
		if e.wrong {
			p.GetTemplate().Spec.NodeName = string(make([]byte, 300))
		}
		q.queue = append(q.queue, &stowagev1.PendingPods{Pod: p, Count: new(e.count), PodGroup: e.group})
		q.pods = append(q.pods, []candidate{c})
	}
	client, err := stowage.Dial([]string{servertest.Start(t).Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	_, err = client.Place(t.Context(), &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}},
	}, Queue: q.queue, PodGroups: q.groups})
	var refused []string
	for _, v := range q.without(err) {
		refused = append(refused, v.pod.Name+": "+v.message)
	}
	slices.Sort(refused)
	want := []string{
		"half-1: spec.node_name: has 300 bytes, at most 253 are allowed",
		"half-2: spec.node_name: has 300 bytes, at most 253 are allowed",
		"large-1: pod group large: has 1400 pods, at most 1000 can be placed jointly",
		"large-2: pod group large: has 1400 pods, at most 1000 can be placed jointly",
		"wrong: spec.node_name: has 300 bytes, at most 253 are allowed",
	}
	if d := cmp.Diff(want, refused); d != "" {
		t.Error(d, err)
	}
}

// A claim may wait for the pod's node only since the question.
func TestPlacedPodsThatBindClaimsAreLeftAlone(t *testing.T) {
	q := &question{}
	for _, e := range []struct{ name, group string }{{"web-0", ""}, {"g-0", "g"}, {"web-1", ""}, {"g-1", "g"}} {
		q.queue = append(q.queue, &stowagev1.PendingPods{Count: new(uint32(1)), PodGroup: e.group})
		q.pods = append(q.pods, []candidate{{pod: waitingPod(e.name, 0, 0, "")}})
	}
	var got []string
	for _, v := range q.binding(&stowagev1.PlaceResponse{ClaimBindings: []*stowagev1.ClaimBinding{
		{Namespace: "shop", Name: "data-web-0", QueueIndex: 0}, {Namespace: "shop", Name: "data-g-1", QueueIndex: 3, VolumeName: "v"},
	}}) {
		got = append(got, fmt.Sprintf("%s %d %s", v.pod.Name, v.why, v.message))
	}
	slices.Sort(got)
	const alone = "this scheduler leaves the pod alone, because it binds no volumes, and these claims wait for the pod's node: shop/"
	if d := cmp.Diff([]string{
		fmt.Sprintf("g-0 %d %sdata-g-1", undecidable, alone), fmt.Sprintf("g-1 %d %sdata-g-1", undecidable, alone),
		fmt.Sprintf("web-0 %d %sdata-web-0", undecidable, alone),
	}, got); d != "" {
		t.Error(d)
	}
	if got := q.binding(&stowagev1.PlaceResponse{}); len(got) > 0 {
		t.Errorf("%d pods are left alone without a reason", len(got))
	}
}
