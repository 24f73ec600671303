package bench

import (
	"testing"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
)

func BenchmarkNodes(b *testing.B) {
	big := bigcluster.Random(5000)
	for b.Loop() {
		if _, classes := compact.Nodes(big.Nodes); len(classes) == 0 {
			b.Fatal("no classes")
		}
	}
}
