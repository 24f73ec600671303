package conformance_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func twoCases() []*conformance.Case {
	request := &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{
				Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a", Labels: map[string]string{"x": "1", "y": "2"}}}},
			},
		},
		Queue: []*stowagev1.PendingPods{{Count: new(uint32(2))}},
	}
	return []*conformance.Case{
		{Name: "empty", Request: &stowagev1.PlaceRequest{}, Answers: conformance.Answers{
			Place: &stowagev1.PlaceResponse{}, PlacePreempting: &stowagev1.PlaceResponse{},
		}},
		{Name: "one entry", Request: request, Answers: conformance.Answers{
			Place:           &stowagev1.PlaceResponse{PlacedCount: 2},
			PlacePreempting: &stowagev1.PlaceResponse{PlacedCount: 1},
			Filter:          []*stowagev1.FilterResponse{{FeasibleNodes: &stowagev1.NodeList{Indexes: []uint32{0}}}},
			Score:           []*stowagev1.ScoreResponse{{TotalScores: []int64{7}}},
			Preempt:         []*stowagev1.PreemptResponse{{Message: "no"}},
		}},
	}
}

func written(t *testing.T, cases []*conformance.Case) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := conformance.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if err := w.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCorpusComesBack(t *testing.T) {
	want := twoCases()
	data := written(t, want)
	if !bytes.Equal(data, written(t, want)) {
		t.Error("the same cases give different bytes")
	}
	var got []*conformance.Case
	for c, err := range conformance.Read(bytes.NewReader(data)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("read is not what was written (-written +read):\n%s", diff)
	}
}

func TestTruncatedCorpusIsAnError(t *testing.T) {
	data := written(t, twoCases())
	for length := range data {
		var last error
		for _, err := range conformance.Read(bytes.NewReader(data[:length])) {
			last = err
		}
		if last == nil {
			t.Errorf("the first %d of %d bytes read without an error", length, len(data))
		}
	}
}
