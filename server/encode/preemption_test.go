package encode_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/encode"
)

func candidate() verdict.Candidate {
	return verdict.Candidate{Node: 1, Violations: 2, Victims: []verdict.PodReference{
		{Namespace: "shop", Name: "web-0", Node: 1, Count: 1, Template: -1, Queue: -1},
		{Namespace: "shop", Node: 1, Count: 1, Template: 0, Queue: -1},
	}}
}

func preemption() *verdict.Preemption {
	first := candidate()
	return &verdict.Preemption{
		Best: []uint32{1, 2}, Nominated: &first, Message: "preemption: text", ClearsNomination: true,
		Rejections: []verdict.Rejection{{
			Plugin: verdict.DefaultPreemption, Code: verdict.UnschedulableAndUnresolvable, Nodes: []uint32{0},
			Reasons: []verdict.Reason{verdict.ReasonOf(verdict.ReasonPreemptionNotHelpful)},
		}},
		Candidates: []verdict.Candidate{first, {Node: 2}},
	}
}

func wantPreemption(named, all bool) *stowagev1.Preemption {
	names := func(names ...string) []string {
		if named {
			return names
		}
		return nil
	}
	first := &stowagev1.PreemptionCandidate{NodeIndex: 1, PdbViolations: 2, Victims: []*stowagev1.PodReference{
		{Namespace: "shop", Name: "web-0", NodeIndex: new(uint32(1)), Count: 1},
		{Namespace: "shop", NodeIndex: new(uint32(1)), Count: 1, Origin: &stowagev1.PodReference_TemplateIndex{}},
	}}
	second := &stowagev1.PreemptionCandidate{NodeIndex: 2}
	if named {
		first.NodeName, second.NodeName = "b", "c"
	}
	out := &stowagev1.Preemption{
		BestNodes: &stowagev1.NodeList{Indexes: []uint32{1, 2}, Names: names("b", "c")}, Nominated: first,
		Message: "preemption: text", ClearsNomination: true,
		Rejections: []*stowagev1.Rejection{{
			Plugin: stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION, Code: stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
			Reasons: []*stowagev1.Reason{{
				Type:    stowagev1.RejectionReason_REJECTION_REASON_PREEMPTION_NOT_HELPFUL,
				Message: "Preemption is not helpful for scheduling",
			}},
			Nodes: &stowagev1.NodeList{Indexes: []uint32{0}, Names: names("a")},
		}},
	}
	if all {
		out.Candidates = []*stowagev1.PreemptionCandidate{first, second}
	}
	return out
}

func TestPreempt(t *testing.T) {
	for _, named := range []bool{false, true} {
		var names encode.Names
		if named {
			names = nodes
		}
		f := &verdict.Filter{Message: "text", Preemption: preemption()}
		got := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, f, names, "address"))
		want := &stowagev1.PreemptResponse{
			Preemption: wantPreemption(named, true), FeasibleNodes: &stowagev1.NodeList{},
			Message: "text", SnapshotAddress: "address",
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	f := &verdict.Filter{Feasible: []uint32{1}, Failed: true}
	got := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, f, nodes, ""))
	feasible := &stowagev1.NodeList{Indexes: []uint32{1}, Names: []string{"b"}}
	want := &stowagev1.PreemptResponse{FeasibleNodes: feasible, InternalError: true}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What goes beyond kube-scheduler stands beside its preemption.
func TestBeyondKubeScheduler(t *testing.T) {
	first := candidate()
	p := preemption()
	p.Candidates = nil
	p.Safe = &verdict.SafePreemption{
		Candidate: &first, Examined: 3, Truncated: true, InVain: "in vain",
		Replacements: []verdict.Replacement{{Pod: first.Victims[0], Cascade: 1, Nodes: []uint32{2}, Evicted: first.Victims[1:]}},
		Unsafe: []verdict.Replacement{
			{Pod: first.Victims[0], Unplaced: 2, Message: "no node"}, {Pod: first.Victims[1], Unplaced: 1, Unknown: true},
		},
	}
	p.Across = &verdict.AcrossNodes{Candidate: &first, Proven: true, Steps: 7}
	got := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, &verdict.Filter{Preemption: p}, nodes, ""))
	c := wantPreemption(true, false).Nominated
	want := &stowagev1.PreemptResponse{
		Preemption: wantPreemption(true, false), FeasibleNodes: &stowagev1.NodeList{},
		Safe: &stowagev1.SafePreemption{
			Candidate: c, ExaminedCount: 3, Truncated: true, InVain: "in vain",
			Replacements: []*stowagev1.Replacement{{
				Pod: c.Victims[0], Cascade: 1, Nodes: &stowagev1.NodeList{Indexes: []uint32{2}, Names: []string{"c"}}, Evicted: c.Victims[1:],
			}},
			Unsafe: []*stowagev1.Replacement{
				{Pod: c.Victims[0], Nodes: &stowagev1.NodeList{}, UnplacedCount: 2, Message: "no node"},
				{Pod: c.Victims[1], Nodes: &stowagev1.NodeList{}, UnplacedCount: 1, Unknown: true},
			},
		},
		AcrossNodes: &stowagev1.AcrossNodes{Candidate: c, Proven: true, Steps: 7},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, none := range []*verdict.Preemption{
		{Safe: &verdict.SafePreemption{}, Across: &verdict.AcrossNodes{}}, {},
	} {
		got := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, &verdict.Filter{Preemption: none}, nodes, ""))
		if (got.Safe != nil) != (none.Safe != nil) || (got.AcrossNodes != nil) != (none.Across != nil) ||
			got.GetSafe().GetCandidate() != nil || got.GetAcrossNodes().GetCandidate() != nil {
			t.Errorf("%+v: %v", none, got)
		}
	}
}

// Four budgets may count 2^30 pods each.
func TestViolationsBeyond32Bits(t *testing.T) {
	c := verdict.Candidate{Violations: 4 << 30}
	p := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, &verdict.Filter{Preemption: &verdict.Preemption{
		Nominated: &c, Across: &verdict.AcrossNodes{Candidate: &c},
	}}, nil, ""))
	place := &verdict.Place{Evictions: []verdict.Eviction{{Candidate: c}}}
	q := decoded[stowagev1.PlaceResponse](t)(encode.Place(nil, place, nil, ""))
	got := []uint64{
		p.GetPreemption().GetNominated().GetPdbViolations(), p.GetAcrossNodes().GetCandidate().GetPdbViolations(),
		q.GetEvictions()[0].GetPdbViolations(),
	}
	if want := slices.Repeat([]uint64{4 << 30}, len(got)); !slices.Equal(got, want) {
		t.Error(got)
	}
}

// A preemption without candidates says so by empty lists, and one that found nothing is there all the same.
func TestNoCandidates(t *testing.T) {
	got := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, &verdict.Filter{Preemption: &verdict.Preemption{}}, nil, ""))
	want := &stowagev1.Preemption{BestNodes: &stowagev1.NodeList{}}
	if diff := cmp.Diff(want, got.Preemption, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Filter, Place and PlaceStream include the same preemption, without the candidates.
func TestIncludedPreemption(t *testing.T) {
	want := wantPreemption(true, false)
	filter := decoded[stowagev1.FilterResponse](t)(encode.Filter(nil, &verdict.Filter{Preemption: preemption()}, nodes, ""))
	if diff := cmp.Diff(want, filter.Preemption, protocmp.Transform()); diff != "" {
		t.Errorf("Filter: -want +got:\n%s", diff)
	}
	in := &stowagev1.PlaceRequest{Queue: []*stowagev1.PendingPods{{}}}
	unplaced := verdict.Placement{Unplaced: 2, Preemption: preemption()}
	queue := &verdict.Place{Placements: []verdict.Placement{unplaced}}
	place := decoded[stowagev1.PlaceResponse](t)(encode.Place(in, queue, nodes, ""))
	if diff := cmp.Diff(want, place.Placements[0].Preemption, protocmp.Transform()); diff != "" {
		t.Errorf("Place: -want +got:\n%s", diff)
	}
	streamed := streamedPreemptions(t, []verdict.Placement{unplaced})
	if diff := cmp.Diff(want, streamed[0], protocmp.Transform()); diff != "" {
		t.Errorf("PlaceStream: -want +got:\n%s", diff)
	}
}

// streamedPreemptions returns the preemption of each entry in the responses to a PlaceStreamRequest.
func streamedPreemptions(t *testing.T, placements []verdict.Placement) []*stowagev1.Preemption {
	t.Helper()
	out := make([]*stowagev1.Preemption, len(placements))
	in := &stowagev1.PlaceStreamRequest{Place: &stowagev1.PlaceRequest{Queue: make([]*stowagev1.PendingPods, len(placements))}}
	send := func(m *stowagev1.PlaceStreamResponse) error {
		for _, p := range m.Placements {
			out[p.QueueIndex] = p.Placement.Preemption
		}
		return nil
	}
	s := encode.NewPlaceStream(in, make([]engine.Pending, len(placements)), nil, nodes, send)
	for i := range placements {
		if err := s.Entry(i, &placements[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(&verdict.Place{Placements: placements}, ""); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCandidatesAreBounded has 1,500 candidates: with 150,000 victims in all they are listed, with 1,500,000 the list ends
// before the one that exceeds 1,000,000, and says so.
func TestCandidatesAreBounded(t *testing.T) {
	const nodes = 1500
	for victims, want := range map[int]int{100: nodes, 1000: 1000} {
		p := &verdict.Preemption{}
		of := slices.Repeat(candidate().Victims[:1], victims)
		for i := range nodes {
			p.Candidates = append(p.Candidates, verdict.Candidate{Node: uint32(i), Victims: of})
		}
		raw, err := encode.Preempt(nil, &verdict.Filter{Preemption: p}, nil, "")
		got := decoded[stowagev1.PreemptResponse](t)(raw, err).Preemption
		if len(got.Candidates) != want || got.CandidatesTruncated != (want < nodes) {
			t.Errorf("%d victims each: %d candidates, truncated: %t", victims, len(got.Candidates), got.CandidatesTruncated)
		}
		for i, c := range got.Candidates {
			if c.NodeIndex != uint32(i) || len(c.Victims) != victims {
				t.Fatalf("candidate %d has %d victims on node %d", i, len(c.Victims), c.NodeIndex)
			}
		}
		t.Logf("%d victims each: %d bytes", victims, len(raw))
	}
	large := &verdict.Preemption{Candidates: []verdict.Candidate{{Victims: make([]verdict.PodReference, 1_000_001)}}}
	got := decoded[stowagev1.PreemptResponse](t)(encode.Preempt(nil, &verdict.Filter{Preemption: large}, nil, "")).Preemption
	if len(got.Candidates) > 0 || !got.CandidatesTruncated {
		t.Errorf("a candidate with more victims than are listed: %d candidates", len(got.Candidates))
	}
}

func BenchmarkPreempt(b *testing.B) {
	p := &verdict.Preemption{}
	for node := range 5000 {
		c := verdict.Candidate{Node: uint32(node)}
		for i := range 30 {
			c.Victims = append(c.Victims, verdict.PodReference{
				Namespace: "shop", Name: fmt.Sprintf("web-5d4f8c7b9-%05d", i), Node: uint32(node), Count: 1, Template: 7, Queue: -1,
			})
		}
		p.Candidates = append(p.Candidates, c)
		p.Best = append(p.Best, uint32(node))
	}
	p.Nominated = &p.Candidates[0]
	for b.Loop() {
		raw, err := encode.Preempt(nil, &verdict.Filter{Preemption: p}, nil, "")
		if err != nil || len(raw) < 150_000*20 {
			b.Fatal(len(raw), err)
		}
	}
	var got stowagev1.PreemptResponse
	raw, _ := encode.Preempt(nil, &verdict.Filter{Preemption: p}, nil, "")
	if err := proto.Unmarshal(raw, &got); err != nil || len(got.Preemption.Candidates) != 5000 {
		b.Fatal(err)
	}
}

func TestGroupPreemption(t *testing.T) {
	placed := &verdict.Place{Groups: []verdict.PodGroupPlacement{{
		Name: "g", Status: verdict.GroupInfeasible, First: -1,
		Preemption: &verdict.GroupPreemption{
			Victims: []verdict.PodReference{
				{Namespace: "shop", Name: "web-0", Node: 1, Count: 1, Template: -1, Queue: -1},
				{Namespace: "shop", Name: "job", Node: 2, Count: 3, Template: 4, Queue: -1},
				{Namespace: "shop", Name: "placed", Node: 2, Count: 1, Template: -1, Queue: 5},
			},
			Count: 5, Violations: 2, Disruptions: 1, Message: "text", Ongoing: true, Undecided: true,
			Nominations: []verdict.GroupNomination{{Entry: 7, Nodes: []uint32{2, 0}}},
		},
	}, {Name: "none", Status: verdict.GroupComplete, First: -1}}}
	for _, names := range []encode.Names{nil, {"a", "b", "c"}} {
		b, err := encode.Place(&stowagev1.PlaceRequest{}, placed, names, "")
		if err != nil {
			t.Fatal(err)
		}
		var got stowagev1.PlaceResponse
		if err := proto.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		want := &stowagev1.PodGroupPreemption{
			Victims: []*stowagev1.PodReference{
				{Namespace: "shop", Name: "web-0", NodeIndex: new(uint32(1)), Count: 1},
				{Namespace: "shop", Name: "job", NodeIndex: new(uint32(2)), Count: 3, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 4}},
				{Namespace: "shop", Name: "placed", NodeIndex: new(uint32(2)), Count: 1, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: 5}},
			},
			PdbViolations: 2, GroupDisruptionCount: 1, Message: "text", Ongoing: true, Undecided: true,
			Nominations: []*stowagev1.PodGroupNomination{{QueueIndex: 7, Nodes: &stowagev1.NodeList{Indexes: []uint32{2, 0}}}},
		}
		if names != nil {
			want.Nominations[0].Nodes.Names = []string{"c", "a"}
		}
		if diff := cmp.Diff(want, got.PodGroups[0].Preemption, protocmp.Transform()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got.PodGroups[1].Preemption != nil {
			t.Errorf("a placed group has %v", got.PodGroups[1].Preemption)
		}
	}
}

// TestStreamedGroupPreemptions: what the preemptions of groups list counts as the pods of a message do.
func TestStreamedGroupPreemptions(t *testing.T) {
	victims := func(n int) *verdict.GroupPreemption {
		return &verdict.GroupPreemption{Victims: make([]verdict.PodReference, n), Count: n}
	}
	nominated := victims(1)
	nominated.Nominations = []verdict.GroupNomination{{Entry: 0, Nodes: []uint32{0, 1}}}
	groups := []verdict.PodGroupPlacement{
		{Name: "a", Preemption: victims(2)}, {Name: "b", Preemption: victims(1)}, {Name: "c"}, {Name: "d", Preemption: victims(5)},
		{Name: "e"}, {Name: "f", Preemption: nominated}, {Name: "g", Preemption: victims(1)},
	}
	var got [][]string
	send := func(m *stowagev1.PlaceStreamResponse) error {
		var names []string
		for _, g := range m.PodGroups {
			names = append(names, g.Name)
		}
		got = append(got, names)
		return nil
	}
	in := &stowagev1.PlaceStreamRequest{Place: &stowagev1.PlaceRequest{}, PodsPerMessage: new(uint32(3))}
	s := encode.NewPlaceStream(in, nil, nil, nodes, send)
	for i := range groups {
		if err := s.Group(i, &groups[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(&verdict.Place{Groups: groups}, ""); err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"a", "b"}, {"c", "d"}, {"e", "f"}, {"g"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
