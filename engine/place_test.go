package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

const (
	zone     = "topology.kubernetes.io/zone"
	hostname = "kubernetes.io/hostname"
)

func compile(t *testing.T, nodes ...*enginetest.Node) *engine.Cluster {
	t.Helper()
	c, err := engine.Compile(context.Background(), enginetest.Cluster(nodes...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func threeZones() []*enginetest.Node {
	return []*enginetest.Node{
		enginetest.MakeNode("a1").Zone("a"), enginetest.MakeNode("b1").Zone("b"), enginetest.MakeNode("c1").Zone("c"),
	}
}

func TestPlace(t *testing.T) {
	redash := enginetest.Selects("app", "redash")
	for _, test := range []struct {
		name    string
		nodes   []*enginetest.Node
		pod     *enginetest.Pod
		count   int
		want    []uint32
		message string
	}{
		{
			name:    "required anti-affinity by zone, one too many",
			nodes:   threeZones(),
			pod:     enginetest.MakePod("redash").Label("app", "redash").AntiAffinity(zone, redash),
			count:   4,
			want:    []uint32{0, 1, 2},
			message: "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.",
		},
		{
			name:  "preferred anti-affinity accumulates",
			nodes: threeZones(),
			pod:   enginetest.MakePod("redash").Label("app", "redash").PreferAntiAffinity(100, zone, redash),
			count: 4,
			want:  []uint32{0, 1, 2, 0},
		},
		{
			name:  "required affinity to itself",
			nodes: threeZones(),
			pod:   enginetest.MakePod("redash").Label("app", "redash").Affinity(zone, redash),
			count: 3,
			want:  []uint32{0, 0, 0},
		},
		{
			name:    "room runs out",
			nodes:   threeZones()[:1],
			pod:     enginetest.MakePod("big").Request("cpu", 3000, "memory", 1<<30),
			count:   3,
			want:    []uint32{0, 0},
			message: "0/1 nodes are available: 1 Insufficient cpu.",
		},
		{
			name:  "hard spread",
			nodes: threeZones(),
			pod:   enginetest.MakePod("web").Label("app", "redash").Spread(zone, 1, redash),
			count: 6,
			want:  []uint32{0, 1, 2, 0, 1, 2},
		},
		{
			name:    "host ports",
			nodes:   threeZones(),
			pod:     enginetest.MakePod("web").HostPort(80),
			count:   5,
			want:    []uint32{0, 1, 2},
			message: "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports.",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			placed, err := compile(t, test.nodes...).Place(context.Background(),
				[]engine.Pending{{Pod: test.pod.Pod, Count: test.count}}, engine.PlaceOptions{Profile: api.Kube137(), Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			got := placed.Placements
			if diff := cmp.Diff(test.want, got[0].Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if got[0].Message != test.message {
				t.Errorf("message %q, want %q", got[0].Message, test.message)
			}
			if got[0].Unplaced != test.count-len(test.want) {
				t.Errorf("%d unplaced", got[0].Unplaced)
			}
		})
	}
}

// TestScanned expects that pods that the board cannot place are counted as scanned, and go where they would go
// otherwise.
func TestScanned(t *testing.T) {
	redash := enginetest.MakePod("redash").Label("app", "redash").SpreadSoftly(zone, 1, enginetest.Selects("app", "redash"))
	queue := []engine.Pending{{Pod: redash.Pod, Count: 5}, {Pod: enginetest.MakePod("other").Pod, Count: 1}}
	heavy := api.Kube137()
	heavy.Weights.ImageLocality = 1 << 40
	for _, test := range []struct {
		name    string
		profile *api.Profile
		want    []int
	}{
		{"the only pod of its template", api.Kube137(), []int{0, 1}},
		{"scores that are too high", heavy, []int{5, 1}},
	} {
		o := engine.PlaceOptions{Profile: test.profile}
		placed, err := compile(t, threeZones()...).Place(context.Background(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		got := placed.Placements
		want, err := compile(t, threeZones()...).PlaceByScanning(context.Background(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range queue {
			if got[i].Scanned != test.want[i] {
				t.Errorf("%s: %d scanned, want %d", test.name, got[i].Scanned, test.want[i])
			}
			if diff := cmp.Diff(want[i].Nodes, got[i].Nodes); diff != "" {
				t.Errorf("%s: nodes (-scanning +placing):\n%s", test.name, diff)
			}
		}
	}
}
