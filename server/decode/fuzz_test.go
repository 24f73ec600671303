package decode_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
)

// FuzzFilterRequest sends arbitrary bytes the whole way, through all three of the engine's questions. Nothing panics,
// and the engine fails on nothing that was decoded but the context's end.
func FuzzFilterRequest(f *testing.F) {
	p := request()
	for _, r := range []*stowagev1.FilterRequest{
		{},
		minimal(),
		{Context: p.Context, Pod: p.Queue[0].Pod, CandidateNodes: p.CandidateNodes, Explain: true, IncludePreemption: true},
		{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster(p)}, IncludeNodeNames: true,
		}, Pod: p.Queue[1].Pod},
	} {
		bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		r := &stowagev1.FilterRequest{}
		if proto.Unmarshal(bytes, r) != nil {
			return
		}
		before := proto.Clone(r)
		c, err := decode.Filter(r)
		if !proto.Equal(before, r) {
			t.Error("the request was changed")
		}
		if err != nil {
			return
		}
		checkCluster(t, c.Cluster)
		checkPod(t, c.Cluster, c.Pod)
		checkCandidates(t, c.Cluster, c.Options.Candidates)
		checkProfile(t, c.Options.Profile)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check := func(err error) bool {
			if err != nil && ctx.Err() == nil {
				t.Errorf("the engine fails: %v", err)
			}
			return err == nil
		}
		encoded := func(_ []byte, err error) {
			if err != nil {
				t.Errorf("the answer is not encoded: %v", err)
			}
		}
		compiled, err := engine.Compile(ctx, c.Cluster)
		if !check(err) {
			return
		}
		if v, err := compiled.Filter(ctx, c.Pod, c.Options); check(err) {
			encoded(encode.Filter(nil, v, compiled.Names(), ""))
		}
		preempting := c.Options
		preempting.Preempt = &engine.PreemptOptions{
			All: true, RecountSpread: len(bytes)%2 == 0, Safe: &engine.SafeOptions{Cascades: len(bytes) % 3, Candidates: 20},
			AcrossSteps: 1000,
		}
		if v, err := compiled.Filter(ctx, c.Pod, preempting); check(err) {
			encoded(encode.Preempt(nil, v, compiled.Names(), ""))
		}
		scoring := engine.ScoreOptions{Profile: c.Options.Profile, Candidates: c.Options.Candidates}
		if v, err := compiled.Score(ctx, c.Pod, scoring); check(err) {
			encoded(encode.Score(nil, v, compiled.Names(), ""))
		}
		queue := []engine.Pending{{Pod: *c.Pod, Count: 3}}
		placing := engine.PlaceOptions{
			Profile: c.Options.Profile, Candidates: c.Options.Candidates, Seed: uint64(len(bytes)), Explain: c.Options.Explain,
			Preempt: c.Options.Preempt != nil,
		}
		if v, err := compiled.Place(ctx, queue, placing); check(err) {
			encoded(encode.Place(&stowagev1.PlaceRequest{Queue: make([]*stowagev1.PendingPods, 1)}, v, compiled.Names(), ""))
		}
	})
}
