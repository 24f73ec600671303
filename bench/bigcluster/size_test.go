package bigcluster_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestBytesOnTheWire(t *testing.T) {
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
	} {
		size := proto.Size(c.cluster)
		t.Logf("%-40s %9d bytes, %d classes", c.form, size, len(c.cluster.NodeClasses))
		if size > c.atMost {
			t.Errorf("%s: %d bytes, want at most %d", c.form, size, c.atMost)
		}
	}
}
