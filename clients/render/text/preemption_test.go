package text_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestPreemption(t *testing.T) {
	x := text.Explanation{Width: 100, Explanation: &words.Explanation{Cluster: &stowagev1.Cluster{
		Nodes:        []*stowagev1.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		PodTemplates: []*stowagev1.PodTemplate{{Namespace: "shop", Controller: &stowagev1.ControllerReference{Name: "web"}}},
	}}}
	for name, c := range map[string]struct{ preemption, changes, nominated, outcome, explained string }{
		"one victim": {
			preemption: `{bestNodes: {indexes: [1]}, nominated: {nodeIndex: 1, victims: [{namespace: shop, name: low, nodeIndex: 1, count: 1, templateIndex: 0}]}}`,
			changes: `[{victims: {pods: [{namespace: shop, name: low, nodeIndex: 1, count: 1, templateIndex: 0}]}, nodes: {indexes: [1]}},
			  {victims: {pods: [{namespace: shop, name: low, nodeIndex: 2, count: 1, templateIndex: 0}]}, nodes: {indexes: [2]}}]`,
			outcome: "kube-scheduler would evict shop/low from b\n",
			explained: `
Preemption: kube-scheduler would evict shop/low from b, and nominate the pod to it.

Any one of these would place it without preemption:
  - shop/low gone from c; c would take it
`,
		},
		"several victims against budgets, and another node as good": {
			preemption: `{bestNodes: {indexes: [0, 2]}, nominated: {nodeIndex: 0, pdbViolations: 1, victims: [
			  {namespace: shop, name: p1, count: 1}, {namespace: shop, name: p2, count: 1}, {namespace: shop, name: p3, count: 1}, {namespace: shop, name: p4, count: 1},
			  {namespace: shop, name: p5, count: 1}, {namespace: shop, name: p6, count: 1}, {namespace: shop, name: p7, count: 1}]},
			  rejections: [{reasons: [{message: No preemption victims found for incoming pod}], plugin: PLUGIN_DEFAULT_PREEMPTION, nodes: {indexes: [1], names: [b]}}]}`,
			changes: `[{victims: {pods: [{namespace: shop, name: p2, count: 1}]}}]`,
			outcome: "kube-scheduler would evict shop/p1, shop/p2, shop/p3, shop/p4, shop/p5 and 2 more from a, 1 of them\n  against a PodDisruptionBudget\n",
			explained: `
Preemption: kube-scheduler would evict shop/p1, shop/p2, shop/p3, shop/p4, shop/p5, shop/p6, shop/p7
  from a, 1 of them against a PodDisruptionBudget, and nominate the pod to it. It might as well take
  c.

Where evictions do not help:
NODES   REASON                                         PLUGIN              WHICH
1       No preemption victims found for incoming pod   DefaultPreemption   b

No other change was found that would place it, alone or with another one.
`,
		},
		"counted victims": {
			preemption: `{bestNodes: {indexes: [0]}, nominated: {nodeIndex: 0, pdbViolations: 2, victims: [{namespace: shop, count: 2, templateIndex: 0}]}}`,
			changes: `[{victims: {pods: [{namespace: shop, count: 1, templateIndex: 0}]}, nodes: {indexes: [0]}},
			  {victims: {pods: [{namespace: shop, count: 3, templateIndex: 0}]}, nodes: {indexes: [0]}}]`,
			outcome: "kube-scheduler would evict shop/web ×2 from a, against a PodDisruptionBudget\n",
			explained: `
Preemption: kube-scheduler would evict shop/web ×2 from a, against a PodDisruptionBudget, and
  nominate the pod to it.

Any one of these would place it without preemption:
  - shop/web ×3 gone from a; a would take it
`,
		},
		"PreFilter rejects the pod": {
			preemption: `{message: "not found"}`,
			changes:    `[]`,
			explained: `
Preemption: kube-scheduler would evict no pod: PreFilter rejects the pod as a whole, so that no
  victims are looked for; "not found" is an error of DynamicResources.

No change was found that would place it, alone or with another one.
`,
		},
		"none": {
			preemption: `{message: "preemption: not eligible due to preemptionPolicy=Never.", clearsNomination: true}`,
			changes:    `[{addedNode: {likeNodeIndex: 1}}]`,
			nominated:  "c",
			explained: `
Preemption: kube-scheduler would evict no pod: not eligible due to preemptionPolicy=Never.
It clears status.nominatedNodeName, which is c.

Any one of these would place it:
  - one more node like b
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, &stowagev1.FilterResponse{}, `{preemption: `+c.preemption+`, changes: `+c.changes+`}`)
			var outcome, explained bytes.Buffer
			x.WriteOutcome(&outcome, "", p.Preemption)
			x.WritePreemption(&explained, c.nominated, p.Preemption)
			explained.WriteString("\n")
			x.WriteChanges(&explained, "", 1, p.Changes, p.Preemption)
			if d := cmp.Diff(c.outcome, outcome.String()); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.explained, explained.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Victims that the same request placed are named by their workload.
func TestPlaceNamesVictims(t *testing.T) {
	a := parse(t, &stowagev1.PlaceResponse{}, `{placements: [{nodes: {indexes: [0], names: [a]}}, {unplacedCount: 1, message: "0/1 nodes are available: 1 Insufficient cpu.",
	  preemption: {bestNodes: {indexes: [0]}, nominated: {nodeIndex: 0, victims: [{namespace: default, count: 1, queueIndex: 0}]}}}], placedCount: 1, unplacedCount: 1}`)
	snapshot := &kube.Snapshot{
		Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}}},
		Queue: []kube.Entry{
			{Origin: kube.Origin{Kind: "Deployment", Namespace: "default", Name: "low"}, Pods: &stowagev1.PendingPods{}},
			{Origin: kube.Origin{Kind: "Pod", Namespace: "default", Name: "high"}, Pods: &stowagev1.PendingPods{}},
		},
	}
	var out bytes.Buffer
	text.TellPlace(&out, place.New(snapshot, "", a), text.Style{Width: 100})
	const want = `1 of 2 pods placed
PODS           KIND         PLACED   NODES
default/low    Deployment   1/1      a
default/high   Pod          0/1

default/high: 1 pod without a node
  0/1 nodes are available: 1 Insufficient cpu.
  kube-scheduler would evict default/low from a
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

func parse[M proto.Message](t *testing.T, m M, text string) M {
	t.Helper()
	js, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", "")))
	if err == nil {
		err = protojson.Unmarshal(js, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}
