package snapshots_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/proto/content/contenttest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// TestInterleavings puts clusters and deltas in random order into a small cache. A cached cluster, or one derived by a delta,
// has the same address and gives the same responses as the same cluster inline.
func TestInterleavings(t *testing.T) {
	var puts, deltas, refused, gone, asked int
	rapid.Check(t, func(t *rapid.T) {
		d := &drawn{t: t}
		cache := snapshots.New(int64(rapid.SampledFrom([]int{120, 400}).Draw(t, "room")) << 10)
		known := []*stowagev1.Cluster{d.cluster()}
		for range 8 {
			c := known[max(d.below(len(known)), d.below(len(known)))]
			switch d.below(4) {
			case 0:
				cache.Put(whole(t, decode.NewRequest(t.Context()), c), snapshots.Owner{})
				puts++
			case 1: // a delta on a cluster that may itself be derived
				base := cache.Get("", addressOf(t, c))
				if base == nil {
					gone++
					continue
				}
				change := d.delta(ordered(t, base))
				next, ok := derived(t, base, change)
				if !ok {
					refused++
					continue
				}
				cache.Put(next, snapshots.Owner{})
				known = append(known, ordered(t, next))
				deltas++
			default:
				base := cache.Get("", addressOf(t, c))
				if base == nil {
					gone++
					continue
				}
				d.ask(t, whole(t, decode.NewInline(t.Context(), &d.nodeless), c), base, c)
				asked++
			}
		}
	})
	if puts == 0 || deltas < 5 || refused == 0 || gone == 0 || asked < 20 {
		t.Errorf("%d puts, %d deltas, %d refused, %d gone, %d questions", puts, deltas, refused, gone, asked)
	}
}

// whole decodes a cluster from the wire.
func whole(t *rapid.T, r *decode.Request, c *stowagev1.Cluster) *decode.Snapshot {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r.Part("context.cluster", wire.Pieces{raw})
	if err := r.Err(); err != nil {
		t.Fatalf("%v in %v", err, c)
	}
	return r.Cluster()
}

func addressOf(t *rapid.T, c *stowagev1.Cluster) content.Address {
	of, err := content.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	return of.Address()
}

// ordered returns the message of a cached cluster.
func ordered(t *rapid.T, c *decode.Snapshot) *stowagev1.Cluster {
	stated, err := c.Content.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	return stated
}

// derived applies a delta to a cluster. It returns false if the delta is invalid.
func derived(t *rapid.T, base *decode.Snapshot, change *stowagev1.ClusterDelta) (*decode.Snapshot, bool) {
	r := decode.On(t.Context(), base)
	r.Delta("delta", change)
	want, ok := contenttest.Apply(ordered(t, base), change)
	if err := r.Err(); (err == nil) != ok {
		t.Fatalf("error %v of %v on %v", err, change, ordered(t, base))
	}
	if !ok {
		return nil, false
	}
	next := r.Cluster()
	if want := addressOf(t, want); next.Content.Address() != want || next.Address != want.String() {
		t.Fatalf("address %s, want %s", next.Address, want)
	}
	return next, true
}

// ask compares the responses for an inline and a cached cluster, with and without a delta.
func (d *drawn) ask(t *rapid.T, inline, kept *decode.Snapshot, c *stowagev1.Cluster) {
	d.templates, d.classes = len(c.PodTemplates), len(c.NodeClasses)
	if inline.Address != kept.Address {
		t.Fatalf("address %s, in the request %s", kept.Address, inline.Address)
	}
	pod, profile, candidates := d.pod(), d.profile(), d.candidates(c)
	want, got := answers(t, inline, pod, profile, candidates), answers(t, kept, pod, profile, candidates)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("by address (-in the request +by address):\n%s\n%v, %v, %v\non %v", diff, pod, profile, candidates, c)
	}
	change := d.delta(ordered(t, kept))
	next, ok := derived(t, kept, change)
	if !ok {
		return
	}
	stated := ordered(t, next)
	d.templates = len(stated.PodTemplates)
	pod = d.pod()
	candidates = d.candidates(stated)
	want = answers(t, whole(t, decode.NewInline(t.Context(), &d.nodeless), stated), pod, profile, candidates)
	if diff := cmp.Diff(want, answers(t, next, pod, profile, candidates)); diff != "" {
		t.Fatalf("after %v (-in the request +after a delta):\n%s\n%v, %v, %v\non %v", change, diff, pod, profile, candidates, stated)
	}
}

// answers are those to a Filter, a Score, a Place and a Preempt.
func answers(
	t *rapid.T, c *decode.Snapshot, pod *stowagev1.Pod, profile *stowagev1.Profile, candidates *stowagev1.CandidateNodes,
) []any {
	r := decode.On(context.Background(), c)
	filter := r.Filter(&stowagev1.FilterRequest{Pod: pod, Context: &stowagev1.DecisionContext{
		Profile: profile,
	}, CandidateNodes: candidates, Explain: true})
	score := r.Score(&stowagev1.ScoreRequest{
		Pod: pod, Context: &stowagev1.DecisionContext{
			Profile: profile,
		}, CandidateNodes: candidates, IncludePluginScores: true, IncludeRejections: true,
	})
	place := r.Place(&stowagev1.PlaceRequest{
		Queue: []*stowagev1.PendingPods{{Pod: pod, Count: new(uint32(3))}}, Context: &stowagev1.DecisionContext{
			Profile: profile,
		}, CandidateNodes: candidates, IncludePreemption: true,
	})
	preempt := r.Preempt(&stowagev1.PreemptRequest{
		Pod: pod, Context: &stowagev1.DecisionContext{Profile: profile}, CandidateNodes: candidates, IncludeCandidates: true,
	})
	if err := r.Err(); err != nil {
		return []any{err.Error()}
	}
	feasible, filterErr := c.Filter(t.Context(), filter.Pod, filter.Options)
	scores, scoreErr := c.Score(t.Context(), score.Pod, score.Options)
	placements, placeErr := c.Place(t.Context(), place.Queue, place.Options)
	victims, preemptErr := c.Filter(t.Context(), preempt.Pod, preempt.Options)
	if err := errors.Join(filterErr, scoreErr, placeErr, preemptErr); err != nil {
		t.Fatal(err)
	}
	return []any{feasible, scores, placements, victims}
}
