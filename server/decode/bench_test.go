package decode_test

import (
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// everyField is a cluster of different templates in which every field is set.
func everyField(templates int) *stowagev1.Cluster {
	c := request().GetContext().GetCluster()
	for i := range templates {
		t := proto.CloneOf(c.PodTemplates[0])
		t.Labels["number"] = strconv.Itoa(i)
		c.PodTemplates = append(c.PodTemplates, t)
	}
	return c
}

// BenchmarkRead reads clusters and computes their addresses, without compiling them.
func BenchmarkRead(b *testing.B) {
	unordered := bigcluster.New(5_000)
	for _, n := range unordered.Nodes {
		slices.Reverse(n.PodCounts)
	}
	for _, c := range []struct {
		name    string
		cluster *stowagev1.Cluster
	}{
		{"counts", bigcluster.New(5_000)},
		{"unordered", unordered},
		{"compact", bigcluster.Compact(bigcluster.New(5_000))},
		{"full", bigcluster.StatedInFull(bigcluster.New(1_000))},
		{"templates", everyField(5_000)},
	} {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.cluster)
		if err != nil {
			b.Fatal(err)
		}
		want, err := content.Of(c.cluster)
		if err != nil {
			b.Fatal(err)
		}
		for _, keep := range []bool{false, true} {
			b.Run(c.name+"/keep="+strconv.FormatBool(keep), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					got, err := decode.Drop(wire.Pieces{raw}, keep)
					if err != nil || got != want.Address() {
						b.Fatal(got, err)
					}
				}
			})
		}
	}
}
