package decode_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// kube-scheduler keeps budgets whose selector it cannot parse, and any number of allowed disruptions.
func TestBudgetsThatSelectNothing(t *testing.T) {
	for what, p := range map[string]*stowagev1.PodDisruptionBudget{
		"no selector":       {Name: "b"},
		"an empty selector": {Name: "b", Selector: &stowagev1.LabelSelector{}},
		"values that are no label values": {Name: "b", Selector: &stowagev1.LabelSelector{
			MatchLabels: map[string]string{"app": "not a value"},
			MatchExpressions: []*stowagev1.LabelSelectorRequirement{{
				Key: "app", Operator: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_IN, Values: []string{"-"},
			}},
		}},
		"a negative number": {Name: "b", DisruptionsAllowed: -1 << 31},
	} {
		got, err := decode.Message(&stowagev1.Cluster{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{p}})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		read := got.Cluster.Budgets
		if len(read) != 1 || read[0].DisruptionsAllowed != p.DisruptionsAllowed || (read[0].Selector == nil) != (p.Selector == nil) {
			t.Errorf("%s: %v", what, read)
		}
	}
}

// A cluster has one address and one reading, however the default policy, the order of budgets and of disrupted pods are
// written.
func TestFormsOfOneContent(t *testing.T) {
	stated := func(policy stowagev1.PreemptionPolicy, disrupted []string, swap bool) *stowagev1.Cluster {
		template := func() *stowagev1.PodTemplate {
			return &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Priority: 5, PreemptionPolicy: policy}}
		}
		c := &stowagev1.Cluster{
			PodTemplates: []*stowagev1.PodTemplate{template()},
			Nodes: []*stowagev1.Node{{
				Name: "a",
				Pods: []*stowagev1.Pod{{
					Name: "p", Source: &stowagev1.Pod_Template{Template: template()}, StartTime: &timestamppb.Timestamp{Seconds: 7},
				}},
				NominatedPods: []*stowagev1.Pod{{Name: "n", Source: &stowagev1.Pod_Template{Template: template()}}},
			}},
			PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "b", DisruptedPods: disrupted}, {Namespace: "a", Name: "b"}},
		}
		if swap {
			c.PodDisruptionBudgets[0], c.PodDisruptionBudgets[1] = c.PodDisruptionBudgets[1], c.PodDisruptionBudgets[0]
		}
		return c
	}
	want, err := decode.Message(stated(0, []string{"x", "y"}, false))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*stowagev1.Cluster{
		"default policy":  stated(stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY, []string{"x", "y"}, false),
		"disrupted twice": stated(0, []string{"y", "x", "y"}, false),
		"other order":     stated(0, []string{"x", "y"}, true),
	} {
		raw := marshal(t, c)
		for _, keep := range []bool{true, false} {
			got, err := decode.Wire(wire.Pieces{raw}, keep)
			if err != nil || got.Address != want.Address {
				t.Errorf("%s: another address, %v", what, err)
			}
		}
		if got, err := decode.Message(c); err != nil || got.Address != want.Address {
			t.Errorf("%s, from the message: another address, %v", what, err)
		}
		// As a delta.
		node := c.Nodes[0]
		base := mustWhole(t, &stowagev1.Cluster{})
		next, err := follow(t, base, &stowagev1.ClusterDelta{
			PodTemplates:         []*stowagev1.IndexedPodTemplate{{Template: c.PodTemplates[0]}},
			Nodes:                []*stowagev1.Node{node},
			PodDisruptionBudgets: c.PodDisruptionBudgets,
		})
		if err != nil || next.Address != want.Address.String() {
			t.Errorf("%s, as a delta: another address, %v", what, err)
		}
	}
	never, err := decode.Message(stated(stowagev1.PreemptionPolicy_PREEMPTION_POLICY_NEVER, []string{"x", "y"}, false))
	if err != nil || never.Address == want.Address || !never.Cluster.Nodes[0].Pods[0].Template.Spec.NeverPreempts {
		t.Errorf("the policy Never: %v, %v", never, err)
	}
}

// The policy of a pod to be placed is read in both of its forms.
func TestPolicyOfPodsToBePlaced(t *testing.T) {
	for policy, never := range map[stowagev1.PreemptionPolicy]bool{0: false, 1: false, 2: true} {
		in := minimal()
		in.Pod.Source = &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{PreemptionPolicy: policy}}}
		got, err := decode.Filter(in)
		if err != nil || got.Pod.Template.Spec.NeverPreempts != never {
			t.Errorf("%v: %v, %v", policy, got, err)
		}
	}
}

func TestMalformedDeltasOfBudgets(t *testing.T) {
	base := mustWhole(t, &stowagev1.Cluster{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "b"}}})
	for _, test := range []struct {
		d    *stowagev1.ClusterDelta
		want string
	}{
		{
			&stowagev1.ClusterDelta{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "c"}, {}}},
			"delta.pod_disruption_budgets[1].name: is required",
		},
		{
			&stowagev1.ClusterDelta{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "c", DisruptedPods: []string{"p", ""}}}},
			"delta.pod_disruption_budgets[0].disrupted_pods[1]: is empty",
		},
		{
			&stowagev1.ClusterDelta{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{
				{Name: "c"}, {Namespace: "default", Name: "c"},
			}},
			"delta.pod_disruption_budgets[1].name: duplicates pod_disruption_budgets[0].name",
		},
		{
			&stowagev1.ClusterDelta{RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Name: "c"}}},
			"delta.removed_pod_disruption_budgets[0]: PodDisruptionBudget not found in the snapshot",
		},
		{
			&stowagev1.ClusterDelta{
				RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Namespace: "default", Name: "b"}},
				PodDisruptionBudgets:        []*stowagev1.PodDisruptionBudget{{Name: "b"}},
			},
			"delta.pod_disruption_budgets[0].name: duplicates removed_pod_disruption_budgets[0]",
		},
	} {
		_, err := follow(t, base, test.d)
		var e *decode.Error
		if !errors.As(err, &e) || e.Error() != test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
	none, err := follow(t, base, &stowagev1.ClusterDelta{RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Name: "b"}}})
	if want := mustWhole(t, &stowagev1.Cluster{}); err != nil || none.Address != want.Address {
		t.Errorf("without the budget: %v", err)
	}
}

// What changes an answer about preemption changes the key under which it is kept.
func TestKeysOfPreemption(t *testing.T) {
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}}
	keys := map[string]string{}
	add := func(what, key string) {
		if other, again := keys[key]; again || key == "" {
			t.Errorf("%s has the key %q, as has %s", what, key, other)
		}
		keys[key] = what
	}
	asked := func(m proto.Message, into proto.Message) *decode.RequestPods {
		a, err := decode.ReadRequestPods(marshal(t, m), into)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	names := &stowagev1.DecisionContext{IncludeNodeNames: true}
	for what, r := range map[string]*stowagev1.FilterRequest{
		"Filter":                     {Pod: pod},
		"Filter with preemption":     {Pod: pod, IncludePreemption: true},
		"Filter with changes":        {Pod: pod, IncludeChanges: true},
		"Filter with both":           {Pod: pod, IncludeChanges: true, IncludePreemption: true},
		"Filter with names":          {Pod: pod, Context: names},
		"Filter with names and both": {Pod: pod, Context: names, IncludeChanges: true, IncludePreemption: true},
	} {
		add(what, decode.FilterKey(r, asked(r, new(stowagev1.FilterRequest))))
	}
	of := func(s *stowagev1.PodSpec) *stowagev1.Pod {
		return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: s}}}
	}
	for what, r := range map[string]*stowagev1.PreemptRequest{
		"Preempt":                        {Pod: pod},
		"Preempt of a pod that may not":  {Pod: of(&stowagev1.PodSpec{PreemptionPolicy: 2})},
		"Preempt with names":             {Pod: pod, Context: names},
		"Preempt with the other counts":  {Pod: pod, RecountTopologySpread: true},
		"Preempt with both":              {Pod: pod, Context: names, RecountTopologySpread: true},
		"Preempt of a pod with priority": {Pod: of(&stowagev1.PodSpec{Priority: 1})},
	} {
		add(what, decode.PreemptKey(r, asked(r, new(stowagev1.PreemptRequest))))
	}
	for what, r := range map[string]*stowagev1.PreemptRequest{
		"all candidates": {Pod: pod, IncludeCandidates: true}, "some nodes": {Pod: pod, CandidateNodes: &stowagev1.CandidateNodes{}},
		"safe":   {Pod: pod, Safe: &stowagev1.SafePreemptionOptions{}},
		"across": {Pod: pod, AcrossNodes: &stowagev1.AcrossNodesOptions{}},
	} {
		if key := decode.PreemptKey(r, asked(r, new(stowagev1.PreemptRequest))); key != "" {
			t.Errorf("%s is kept under %q", what, key)
		}
	}
}

// What a request says about the searches beyond kube-scheduler's.
func TestSearchesBeyondKubeScheduler(t *testing.T) {
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}}
	for what, test := range map[string]struct {
		safe   *stowagev1.SafePreemptionOptions
		across *stowagev1.AcrossNodesOptions
		want   engine.PreemptOptions
		err    string
	}{
		"none": {},
		"defaults": {
			safe: &stowagev1.SafePreemptionOptions{}, across: &stowagev1.AcrossNodesOptions{},
			want: engine.PreemptOptions{Safe: &engine.SafeOptions{Candidates: 100}, AcrossSteps: 1 << 16},
		},
		"bounds": {
			safe:   &stowagev1.SafePreemptionOptions{MaxCascades: 16, MaxCandidates: new(uint32(10_000))},
			across: &stowagev1.AcrossNodesOptions{MaxSteps: new(uint32(1 << 26))},
			want:   engine.PreemptOptions{Safe: &engine.SafeOptions{Cascades: 16, Candidates: 10_000}, AcrossSteps: 1 << 26},
		},
		"cascades": {
			safe: &stowagev1.SafePreemptionOptions{MaxCascades: 17}, err: "safe.max_cascades: is 17, 0 to 16 are allowed",
		},
		"no candidates": {
			safe: &stowagev1.SafePreemptionOptions{MaxCandidates: new(uint32(0))},
			err:  "safe.max_candidates: is 0, 1 to 10000 are allowed",
		},
		"candidates": {
			safe: &stowagev1.SafePreemptionOptions{MaxCandidates: new(uint32(10_001))},
			err:  "safe.max_candidates: is 10001, 1 to 10000 are allowed",
		},
		"no steps": {
			across: &stowagev1.AcrossNodesOptions{MaxSteps: new(uint32(0))},
			err:    "across_nodes.max_steps: is 0, 1 to 67108864 are allowed",
		},
		"steps": {
			across: &stowagev1.AcrossNodesOptions{MaxSteps: new(uint32(1<<26 + 1))},
			err:    "across_nodes.max_steps: is 67108865, 1 to 67108864 are allowed",
		},
	} {
		r := decode.NewInline(t.Context(), nil)
		got := r.Preempt(&stowagev1.PreemptRequest{Pod: pod, Safe: test.safe, AcrossNodes: test.across})
		err := r.Err()
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if diff := cmp.Diff(&test.want, got.Options.Preempt); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", what, err, diff)
		}
	}
}
