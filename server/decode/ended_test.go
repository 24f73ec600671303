package decode_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

func TestEndedBeforeItems(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]*stowagev1.Cluster{
		"templates":  {PodTemplates: []*stowagev1.PodTemplate{{}}},
		"classes":    {NodeClasses: []*stowagev1.NodeClass{{}}},
		"namespaces": {Namespaces: []*stowagev1.Namespace{{Name: "n"}}},
	} {
		raw, err := proto.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		r := decode.NewRequest(ctx)
		r.Part("part", wire.Pieces{raw})
		if err := r.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRoomForNodes says that what a cluster takes depends on its bytes, not on how many nodes they claim to be.
func TestRoomForNodes(t *testing.T) {
	const nodes, most = 1_000_000, 20
	for what, node := range map[string][]byte{
		"empty":       nil,
		"of one name": protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "a"),
	} {
		var raw []byte
		for range nodes {
			raw = protowire.AppendBytes(protowire.AppendTag(raw, 1, protowire.BytesType), node)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := decode.NewInline(t.Context(), nil)
		r.Part("context.cluster", wire.Pieces{raw})
		runtime.ReadMemStats(&after)
		if r.Err() == nil {
			t.Errorf("%s: nothing is wrong", what)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > most*uint64(len(raw)) {
			t.Errorf("%s: %d bytes took %d", what, len(raw), took)
		} else {
			t.Logf("%s: %d bytes took %d", what, len(raw), took)
		}
	}
}

func TestEndedBeforeDelta(t *testing.T) {
	base := mustWhole(t, bigcluster.New(300))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, d := range map[string]*stowagev1.ClusterDelta{
		"a node":     {Nodes: []*stowagev1.Node{{Name: "new"}}},
		"pods":       {NodePods: []*stowagev1.NodePodsDelta{{NodeName: "node-000001"}}},
		"a template": {PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 3, Template: &stowagev1.PodTemplate{}}}},
	} {
		r := decode.On(ctx, base)
		r.Delta("delta", d)
		if err := r.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
