package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestRemembered runs Filter and Score with a key from many goroutines, in any order, and compares with uncached
// answers.
func TestRemembered(t *testing.T) {
	ctx := context.Background()
	profiles := []*api.Profile{api.Kube137(), api.Kube137()}
	profiles[1].Weights.NodeResourcesFit = 1 << 20 // scores beyond 16 bits
	for seed := range uint64(40) {
		stated, pods := enginetest.RandomShared(rand.New(rand.NewPCG(seed, 8)))
		if seed%2 == 0 {
			enginetest.RandomFields(rand.New(rand.NewPCG(seed, 36)), stated, pods)
		}
		plain, remembering := compiled(t, stated), compiled(t, stated)
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(worker)))
				for range 20 {
					i, p := rng.IntN(len(pods)), rng.IntN(len(profiles))
					key := fmt.Sprint(i, p)
					var want, got [2]any
					if rng.IntN(2) == 0 {
						want[0], want[1] = fst(plain.Filter(ctx, &pods[i], engine.FilterOptions{Profile: profiles[p]}))
						got[0], got[1] = fst(remembering.Filter(ctx, &pods[i], engine.FilterOptions{Profile: profiles[p], Key: key}))
					} else {
						o := engine.ScoreOptions{Profile: profiles[p], TotalsOnly: rng.IntN(2) == 0}
						want[0], want[1] = fst(plain.Score(ctx, &pods[i], o))
						o.Key = key
						got[0], got[1] = fst(remembering.Score(ctx, &pods[i], o))
					}
					if !reflect.DeepEqual(want, got) {
						t.Errorf("seed %d (-plain +remembered):\n%s", seed, cmp.Diff(want, got))
					}
				}
			})
		}
		wg.Wait()
	}
}

func fst[T any](v T, err error) (any, any) { return v, err }

func TestRememberedIsBounded(t *testing.T) {
	if raced.Detector && testing.Short() {
		t.Skip("takes long with the race detector")
	}
	ctx := context.Background()
	stated := bigCluster(100, true)
	c := compiled(t, stated)
	pod := &api.Pod{TemplateIndex: 2, Template: stated.Templates[2]}
	most := c.MaxBytes()
	var want *verdict.Score
	for i := range 10_000 {
		c.Keep(fmt.Sprint("kept-", i), i, 1000)
		got, err := c.Score(ctx, pod, engine.ScoreOptions{Profile: api.Kube137(), Key: fmt.Sprint("key-", i)})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		} else if !reflect.DeepEqual(want, got) {
			t.Fatal("answers differ")
		}
	}
	if got := c.Kept("kept-7"); got != 7 {
		t.Errorf("%v is kept in the place of 7", got)
	}
	if got := c.Bytes(); got > most || got < most/2 {
		t.Errorf("%d bytes, at most %d are promised", got, most)
	}
}

func TestRememberAtMost(t *testing.T) {
	if raced.Detector && testing.Short() {
		t.Skip("takes long with the race detector")
	}
	ctx := context.Background()
	stated := bigCluster(100, true)
	for _, room := range []int64{0, 100_000, 1 << 20, 1 << 40} {
		c := compiled(t, stated)
		base, most := c.Bytes(), c.MaxBytes()
		c.RememberAtMost(room)
		if got := c.MaxBytes(); got > most || got > base+room && room > 100_000 {
			t.Errorf("with room for %d: MaxBytes = %d, it was %d", room, got, most)
		}
		for i := range 1500 {
			template := stated.Templates[i%len(stated.Templates)]
			pod := &api.Pod{TemplateIndex: i % len(stated.Templates), Template: template}
			if _, err := c.Score(ctx, pod, engine.ScoreOptions{Profile: api.Kube137(), Key: fmt.Sprint("key-", i)}); err != nil {
				t.Fatal(err)
			}
			// The term matches more pods than there are nodes, so that the counts are cached.
			first, second := template.Labels[0], stated.Templates[(i+1+i/len(stated.Templates))%len(stated.Templates)].Labels[0]
			others := &api.LabelSelector{MatchExpressions: []api.Requirement{
				{Key: first.Key, Operator: api.NotIn, Values: []string{first.Value, second.Value}},
			}}
			away := &api.Pod{TemplateIndex: -1, Template: &api.PodTemplate{Spec: api.PodSpec{PodAntiAffinity: &api.PodAffinity{
				Required: []api.PodAffinityTerm{{TopologyKey: "topology.kubernetes.io/zone", LabelSelector: others, NamespaceSelector: &api.LabelSelector{}}},
			}}}}
			if _, err := c.Filter(ctx, away, engine.FilterOptions{Profile: api.Kube137()}); err != nil {
				t.Fatal(err)
			}
		}
		terms := int64(100_000) // are found whatever the room
		if got := c.Remembered(); got > room+terms || got < min(room, 2<<20)/2 {
			t.Errorf("with room for %d: %d bytes are remembered", room, got)
		}
		if got := c.Bytes() - c.Remembered(); got < base*9/10 || got > base*11/10 {
			t.Errorf("with room for %d: %d bytes in addition to the caches, before %d", room, got, base)
		}
	}
}

func TestRememberedOnlyWhole(t *testing.T) {
	stated, pods := enginetest.RandomShared(rand.New(rand.NewPCG(1, 9)))
	c := compiled(t, stated)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	filter, score := engine.FilterOptions{Profile: api.Kube137(), Key: "k"}, engine.ScoreOptions{Profile: api.Kube137(), Key: "k"}
	before := c.Bytes()
	if _, err := c.Filter(ended, &pods[0], filter); !errors.Is(err, context.Canceled) {
		t.Errorf("Filter: %v", err)
	}
	if c.Bytes() != before {
		t.Error("an answer of an ended request was cached")
	}
	for range 2 {
		if _, err := c.Score(context.Background(), &pods[0], score); err != nil {
			t.Error(err)
		}
		if _, err := c.Score(ended, &pods[0], score); !errors.Is(err, context.Canceled) {
			t.Errorf("Score: %v", err)
		}
	}
}
