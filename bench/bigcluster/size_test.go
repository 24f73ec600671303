package bigcluster_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// named is the compact form with the name of each pod, and its start time in whole seconds, as the kubelet states it.
func named(t *testing.T, c *stowagev1.Cluster, started bool) *stowagev1.Cluster {
	full := bigcluster.StatedInFull(c)
	for i, n := range full.Nodes {
		for j, p := range n.Pods {
			if started {
				p.StartTime = &timestamppb.Timestamp{Seconds: 1_767_225_600 + int64(i*bigcluster.PodsPerNode+j)}
			}
		}
	}
	out, err := compact.Cluster(full, compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBytesOnTheWire(t *testing.T) {
	if testing.Short() {
		t.Skip("7 clusters of 5,000 nodes")
	}
	big := bigcluster.New(5000)
	for _, c := range []struct {
		form    string
		cluster *stowagev1.Cluster
		atMost  int
	}{
		{"compact", bigcluster.Compact(big), 1_500_000},
		{"compact, from what is stated in full", bigcluster.Compact(bigcluster.StatedInFull(big)), 1_500_000},
		{"compact, labels at random", bigcluster.Compact(bigcluster.Random(5000)), 3_000_000},
		{"whole nodes", big, 6_000_000},
		{"in full", bigcluster.StatedInFull(big), 60_000_000},
		{"compact, with names", named(t, big, false), 6_500_000},
		{"compact, with names and start times", named(t, big, true), 8_500_000},
	} {
		size := proto.Size(c.cluster)
		t.Logf("%-40s %9d bytes, %d classes", c.form, size, len(c.cluster.NodeClasses))
		if size > c.atMost {
			t.Errorf("%s: %d bytes, want at most %d", c.form, size, c.atMost)
		}
	}
}
