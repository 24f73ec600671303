package rule_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// TestRejectionsBySets compares the rejections that sets give with the rejections of one node after the other. Nodes lack nothing, what
// their pods use, or what they never had.
func TestRejectionsBySets(t *testing.T) {
	const device, other = "example.com/device", "example.com/other"
	rng := rand.New(rand.NewPCG(1, 2))
	divided, several := 0, 0
	for range 300 {
		c := &api.Cluster{Templates: []*api.PodTemplate{
			enginetest.MakePod("").Request("cpu", 100, "memory", 100, device, 1).Template, enginetest.MakePod("").Request("cpu", 50).Template,
		}}
		for i := range 1 + rng.IntN(200) {
			n := api.Node{Name: fmt.Sprint("node-", i)}
			n.Allocatable = enginetest.Resources("cpu", rng.IntN(6)*100, "memory", rng.IntN(6)*100, "pods", rng.IntN(6))
			if rng.IntN(3) == 0 {
				n.Allocatable = enginetest.Resources("cpu", 500, "memory", 500, "pods", 5, device, rng.IntN(4))
			}
			n.PodCounts = []api.PodCount{{Template: rng.IntN(2), Count: 1 + rng.Int32N(3)}}
			c.Nodes = append(c.Nodes, n)
		}
		compiled, err := cluster.Compile(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		requests := enginetest.Resources("cpu", rng.IntN(4)*50, "memory", rng.IntN(4)*50)
		switch rng.IntN(4) {
		case 0:
			requests = enginetest.Resources("cpu", 50, device, 1+rng.IntN(2))
		case 1:
			requests = enginetest.Resources("memory", 50, other, 1)
		}
		fit := rule.NewFit(cluster.NewState(context.Background(), compiled), requests)
		full := fit.Full()
		if full.Empty() {
			continue
		}
		got := fit.RejectDivided(full)
		if got == nil {
			continue
		}
		if divided++; len(got) > 1 {
			several++
		}
		if diff := gocmp.Diff(fit.RejectEach(full), got); diff != "" {
			t.Fatalf("%v: %s", requests, diff)
		}
	}
	if divided < 150 || several < 50 {
		t.Errorf("%d times by sets, %d times for several reasons", divided, several)
	}
}
