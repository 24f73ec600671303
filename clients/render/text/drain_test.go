package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/answer/drain"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// drainsOfMany are drains of nodes, each with a pod of one ReplicaSet. Of every fifth node the pod has no node.
func drainsOfMany(nodes int) (*stowagev1.Cluster, []*stowagev1.DrainResponse) {
	c := &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{Controller: &stowagev1.ControllerReference{Kind: "ReplicaSet", Name: "web"}}}}
	var parts []*stowagev1.DrainResponse
	for i := range nodes {
		name := fmt.Sprintf("node-%02d", i)
		c.Nodes = append(c.Nodes, &stowagev1.Node{Name: name})
		pod := &stowagev1.PodReference{
			Namespace: "shop", Name: fmt.Sprint("web-", i), NodeIndex: new(uint32(i)), Count: 1, Origin: &stowagev1.PodReference_TemplateIndex{},
		}
		a := &stowagev1.NodeDrain{Nodes: &stowagev1.NodeList{Indexes: []uint32{uint32(i)}, Names: []string{name}}, EvictedCount: 1}
		if i%5 == 0 {
			a.Status = stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED
			a.Unplaced = []*stowagev1.UnplacedPod{{Pod: pod, Message: "no room"}}
		} else {
			a.Status, a.PlacedCount = stowagev1.DrainStatus_DRAIN_STATUS_DRAINED, 1
		}
		parts = append(parts, &stowagev1.DrainResponse{Part: &stowagev1.DrainResponse_Drain{Drain: a}})
	}
	return c, parts
}

func TestManyDrainsAreGroupedByResult(t *testing.T) {
	c, parts := drainsOfMany(25)
	var got strings.Builder
	text.Drain(&got, drain.New(c, drain.Options{}, parts), text.Style{Width: 100})
	want := `20 of 25 nodes can be drained, each alone

NODES   RESULT                 EVICTED   PLACED   STAYING   WHICH
5       1 pod without a node   5         0        0         node-00, node-05, node-10, node-15,
                                                            node-20
20      drained                20        20       0         node-01, node-02, node-03, node-04,
                                                            node-06 and 15 more

Without a node:
  - shop/web ×5 on node-00, node-05, node-10, node-15, node-20: no room
`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
	got.Reset()
	text.Drain(&got, drain.New(c, drain.Options{}, parts), text.Style{Width: 100, Verbose: true})
	if n := strings.Count(got.String(), "\nnode-"); n != 25 {
		t.Errorf("%d nodes are listed\n%s", n, &got)
	}
}

func TestFewDrainsAreListed(t *testing.T) {
	c, parts := drainsOfMany(2)
	var got strings.Builder
	text.Drain(&got, drain.New(c, drain.Options{}, parts), text.Style{Width: 100})
	for _, want := range []string{"1 of 2 nodes can be drained, each alone\n", "\nnode-01   drained ", "  - shop/web-0 on node-00: no room\n"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, &got)
		}
	}
}
