package decode_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
)

// FuzzWhatIfRequest sends arbitrary bytes as a request without its cluster. Nothing panics, checking a scenario finds what
// decoding it finds, and the engine fails on nothing that was decoded but the context's end.
func FuzzWhatIfRequest(f *testing.F) {
	p := request()
	r := decode.NewRequest(context.Background())
	r.Message(cluster(p))
	if err := r.Err(); err != nil {
		f.Fatal(err)
	}
	on := r.Cluster()
	first, second := cluster(p).Nodes[0], cluster(p).Nodes[1]
	for _, s := range []*stowagev1.Scenario{
		{Name: "queue", Queue: p.Queue, PodGroups: p.PodGroups},
		{Name: "drained", CordonedNodes: []string{first.Name}, RequeueEvicted: true, Evictions: []*stowagev1.NodeEvictions{
			{NodeName: first.Name, Drained: true}, {NodeName: second.Name, PodCounts: second.PodCounts},
		}},
		{Name: "removed", RemovedNodes: []string{second.Name}, Queue: p.Queue[:1], StopAtFirstUnplaced: true},
		{Name: "terminating", EvictedPods: stowagev1.EvictedPods_EVICTED_PODS_TERMINATING, Evictions: []*stowagev1.NodeEvictions{{
			NodeName: first.Name, Pods: []*stowagev1.NamespacedName{{Namespace: "default", Name: first.Pods[0].Name}},
		}}},
		{Name: "delta", Delta: &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{{Name: "new"}}, RemovedNodes: []string{first.Name}}},
	} {
		bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(&stowagev1.WhatIfRequest{Scenarios: []*stowagev1.Scenario{s}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		in := &stowagev1.WhatIfRequest{}
		asked, err := decode.ReadWhatIf(bytes, in)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := decode.On(ctx, on)
		r.Ask(asked)
		call := r.WhatIf(in)
		if r.Err() != nil {
			return
		}
		for i := range call.Len() {
			stated, err := call.Scenario(i)
			if err != nil {
				continue
			}
			checked := stated.Check(ctx, on)
			c, s, err := stated.On(ctx, on)
			if ctx.Err() != nil {
				return
			}
			if (checked == nil) != (err == nil) || err != nil && checked.Error() != err.Error() {
				t.Errorf("checked: %v, decoded: %v", checked, err)
			}
			if err != nil {
				continue
			}
			w, err := c.WhatIf(ctx, s, call.Options)
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("the engine fails: %v", err)
				}
				continue
			}
			if _, err := encode.WhatIf(i, stated.Scenario, w, c.Names()); err != nil {
				t.Errorf("the answer is not encoded: %v", err)
			}
		}
	})
}
