package decode_test

import (
	"testing"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// TestDrain decodes requests, and refuses what the annotations refuse.
func TestDrain(t *testing.T) {
	annotations, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	const largest = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET
	for what, test := range map[string]struct {
		in   *stowagev1.DrainRequest
		want engine.DrainOptions
		err  string
		// beyond is set for what the annotations cannot say.
		beyond bool
	}{
		"nothing": {in: &stowagev1.DrainRequest{}, want: engine.DrainOptions{Steps: 1 << 16}},
		"everything": {
			in: &stowagev1.DrainRequest{
				Nodes: &stowagev1.CandidateNodes{}, TargetNodes: &stowagev1.CandidateNodes{}, Mode: largest, TieBreakSeed: 7,
				QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER, EvictedPods: stowagev1.EvictedPods_EVICTED_PODS_TERMINATING,
				IgnoreBudgets: true, Force: true, MaxSteps: new(uint32(decode.MaxSteps)), IncludeMoves: true,
				TieBreak: stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS,
			},
			want: engine.DrainOptions{
				Nodes: []uint32{}, Targets: []uint32{}, Mode: engine.DrainLargestSet, Seed: 7, Scheduler: true, Terminating: true,
				IgnoreBudgets: true, Force: true, Steps: decode.MaxSteps, Moves: true, FewestPods: true,
			},
		},
		"the defaults": {
			in: &stowagev1.DrainRequest{
				Mode: stowagev1.DrainMode_DRAIN_MODE_TOGETHER, QueueMode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
				EvictedPods: stowagev1.EvictedPods_EVICTED_PODS_GONE, TieBreak: stowagev1.TieBreak_TIE_BREAK_FIRST,
			},
			want: engine.DrainOptions{Mode: engine.DrainTogether, Steps: 1 << 16},
		},
		"a mode": {
			in:  &stowagev1.DrainRequest{Mode: 4},
			err: "mode: must be DRAIN_MODE_EACH, DRAIN_MODE_TOGETHER or DRAIN_MODE_LARGEST_SET",
		},
		"a queue mode": {
			in:  &stowagev1.DrainRequest{QueueMode: 3},
			err: "queue_mode: must be QUEUE_MODE_IN_ORDER or QUEUE_MODE_KUBE_SCHEDULER",
		},
		"evicted pods": {
			in:  &stowagev1.DrainRequest{EvictedPods: -1},
			err: "evicted_pods: must be EVICTED_PODS_GONE or EVICTED_PODS_TERMINATING",
		},
		"no steps": {
			in:  &stowagev1.DrainRequest{Mode: largest, MaxSteps: new(uint32(0))},
			err: "max_steps: is 0, 1 to 67108864 are allowed",
		},
		"too many steps": {
			in:  &stowagev1.DrainRequest{Mode: largest, MaxSteps: new(uint32(decode.MaxSteps + 1))},
			err: "max_steps: is 67108865, 1 to 67108864 are allowed",
		},
		"steps of another mode": {
			in:  &stowagev1.DrainRequest{MaxSteps: new(uint32(1))},
			err: "max_steps: is only allowed with DRAIN_MODE_LARGEST_SET", beyond: true,
		},
		"a node": {
			in:  &stowagev1.DrainRequest{Nodes: &stowagev1.CandidateNodes{Indexes: []uint32{0}}},
			err: "nodes.indexes[0]: is 0, but cluster.nodes has 0 entries", beyond: true,
		},
		"a target": {
			in:  &stowagev1.DrainRequest{TargetNodes: &stowagev1.CandidateNodes{Names: []string{"n"}}},
			err: `target_nodes.names[0]: no node is called "n"`, beyond: true,
		},
	} {
		r := decode.NewInline(t.Context(), nil)
		got := r.Drain(test.in)
		err := r.Err()
		test.in.Context = &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{}}
		if refused := annotations.Validate(test.in); (refused != nil) != (err != nil && !test.beyond) {
			t.Errorf("%s: the annotations say %v, the decoder %v", what, refused, err)
		}
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		ignored := []cmp.Option{cmpopts.IgnoreUnexported(engine.DrainOptions{}), cmpopts.IgnoreFields(engine.DrainOptions{}, "Profile")}
		if diff := cmp.Diff(test.want, got, ignored...); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", what, err, diff)
		}
	}
}
