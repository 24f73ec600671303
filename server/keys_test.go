package server

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestResourcesWithCommas asks for the balance of one resource with a comma in its name, and of two whose names it has.
func TestResourcesWithCommas(t *testing.T) {
	client := snapshotConfig(t).client()
	scalars := func(one, two, both int64) *stowagev1.Resources {
		return &stowagev1.Resources{
			Pods: proto.Int64(10), Scalars: map[string]int64{"e.io/a": one, "e.io/b": two, "e.io/a,e.io/b": both},
		}
	}
	template := func(r *stowagev1.Resources) *stowagev1.PodTemplate {
		r.Pods = nil
		return &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Containers: []*stowagev1.Container{{Requests: r}}}}
	}
	cluster := &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{template(scalars(7, 2, 5))}}
	for i := range 3 {
		cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
			Name: fmt.Sprint("node-", i), Allocatable: scalars(10, 10, 10), PodCounts: []*stowagev1.PodCount{{Count: 1}},
		})
	}
	if _, err := put(t, client, part(cluster), end("")); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"e.io/a,e.io/b"}, {"e.io/a", "e.io/b"}} {
		profile := &stowagev1.Profile{BalancedAllocationResources: names}
		request := &stowagev1.ScoreRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}, Profile: profile},
			Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template(scalars(1, 1, 1))}},
		}
		want, err := client.Score(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		request.Context.Base = &stowagev1.DecisionContext_Snapshot{
			Snapshot: &stowagev1.SnapshotReference{Address: addressOf(t, cluster)},
		}
		if got, err := client.Score(t.Context(), request); err != nil || !proto.Equal(want, got) {
			t.Errorf("%s: %v by address, %v inline, %v", strings.Join(names, " and "), got.GetTotalScores(), want.TotalScores, err)
		}
	}
}

// TestHostIPsWithAnything has pods whose host ports differ, though what follows one another in them does not.
func TestHostIPsWithAnything(t *testing.T) {
	client := snapshotConfig(t).client()
	const ip = "10.0.0.1"
	template := func(ports ...*stowagev1.HostPort) *stowagev1.Pod {
		return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
			Spec: &stowagev1.PodSpec{Containers: []*stowagev1.Container{{HostPorts: ports}}},
		}}}
	}
	port := func(number int32, ip string) *stowagev1.HostPort {
		return &stowagev1.HostPort{Port: number, HostIp: ip, Protocol: stowagev1.Protocol_PROTOCOL_TCP}
	}
	node := func(name string, pod *stowagev1.Pod) *stowagev1.Node {
		pod.Name = "pod"
		return &stowagev1.Node{Name: name, Allocatable: &stowagev1.Resources{Pods: proto.Int64(10)}, Pods: []*stowagev1.Pod{pod}}
	}
	for protocol := range byte(3) {
		one := node("one", template(port(80, ip+"\x00"+string([]byte{protocol, 81})+ip)))
		two := node("two", template(port(80, ip), port(81, ip)))
		for _, nodes := range [][]*stowagev1.Node{{one, two}, {two, one}} {
			got, err := client.Filter(t.Context(), &stowagev1.FilterRequest{
				Context: &stowagev1.DecisionContext{
					Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: nodes}}, IncludeNodeNames: true,
				}, Pod: template(port(81, ip)),
			})
			if names := got.GetFeasibleNodes().GetNames(); err != nil || len(names) != 1 || names[0] != "one" {
				t.Errorf("%v can take the pod, %v", names, err)
			}
		}
	}
}
