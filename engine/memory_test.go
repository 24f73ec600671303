package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// Answers do not depend on the memory that they are in, nor on what was in it.
func TestMemory(t *testing.T) {
	stated := bigCluster(100, true)
	c, memory := compiled(t, stated), new(engine.Memory)
	for i, template := range stated.Templates {
		pod := &api.Pod{TemplateIndex: i, Template: template}
		var candidates []uint32 // of some, so that lists get shorter and longer
		if i%3 == 0 {
			candidates = []uint32{uint32(i % 100)}
		}
		filter := engine.FilterOptions{Profile: api.Kube137(), Candidates: candidates}
		want, err := c.Filter(t.Context(), pod, filter)
		if err != nil {
			t.Fatal(err)
		}
		filter.Memory = memory
		got, err := c.Filter(t.Context(), pod, filter)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("pod %d: %v\n%s", i, err, diff)
		}
		score := engine.ScoreOptions{Profile: api.Kube137(), Candidates: candidates, TotalsOnly: i%2 == 0}
		scores, err := c.Score(t.Context(), pod, score)
		if err != nil {
			t.Fatal(err)
		}
		score.Memory = memory
		again, err := c.Score(t.Context(), pod, score)
		if diff := cmp.Diff(scores, again); err != nil || diff != "" {
			t.Fatalf("pod %d: %v\n%s", i, err, diff)
		}
	}
	if memory.Bytes() == 0 {
		t.Error("no memory was used")
	}
}
