package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// form is a kind of calls.
type form struct {
	name, method string
	request      []byte
	// digits is the offset of a number that makes each call different; 0 for none.
	digits int
	number atomic.Int64
}

// fresh is the placeholder of the number.
const fresh = "fresh-00000000"

// next returns a request that was not sent before, if the form has a number.
func (f *form) next() []byte {
	if f.digits == 0 {
		return f.request
	}
	out := bytes.Clone(f.request)
	for i, n := 0, f.number.Add(1); i < 8; i, n = i+1, n/10 {
		out[f.digits+len(fresh)-1-i] = byte('0' + n%10)
	}
	return out
}

func newForm(name, method string, m proto.Message) (*form, error) {
	request, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return &form{name: name, method: method, request: request, digits: max(bytes.Index(request, []byte(fresh)), 0)}, nil
}

// requests puts a cluster and returns the calls by name.
func requests(ctx context.Context, address string, nodes int) (map[string]*form, error) {
	cluster := bigcluster.Compact(bigcluster.New(nodes))
	client, err := stowage.Dial([]string{address})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	snapshot, err := stowage.NewSnapshot(cluster)
	if err == nil {
		err = client.Put(ctx, snapshot)
	}
	if err != nil {
		return nil, err
	}
	by := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
		Snapshot: &stowagev1.SnapshotReference{Address: snapshot.Address()},
	}}
	whole := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}}
	pod := func(template int) *stowagev1.Pod {
		t := proto.CloneOf(bigcluster.Template(template))
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[fresh] = ""
		return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: t}}
	}
	var queue []*stowagev1.PendingPods
	for i := range 20 {
		queue = append(queue, &stowagev1.PendingPods{Pod: pod(i), Count: proto.Uint32(10)})
	}
	const filter, place = stowagev1.PlacementService_Filter_FullMethodName, stowagev1.PlacementService_Place_FullMethodName
	out := map[string]*form{}
	add := func(name, description, method string, m proto.Message) {
		f, failed := newForm(description, method, m)
		out[name], err = f, errors.Join(err, failed)
	}
	add("address", "Filter by address", filter, &stowagev1.FilterRequest{Context: by, Pod: pod(9)})
	add("remembered", "Filter by address, remembered", filter, &stowagev1.FilterRequest{
		Context: by, Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(9)}},
	})
	add("inline", "Filter with the cluster", filter, &stowagev1.FilterRequest{Context: whole, Pod: pod(9)})
	add("place", "Place of 200 pods", place, &stowagev1.PlaceRequest{Context: by, Queue: queue})
	add("hostile", "Place of 1,000,000 pods", place, &stowagev1.PlaceRequest{
		Context: by, Queue: []*stowagev1.PendingPods{{Pod: spread(), Count: proto.Uint32(1_000_000)}},
	})
	add("scenarios", "WhatIf of 100,000 empty scenarios", stowagev1.SimulationService_WhatIf_FullMethodName, &stowagev1.WhatIfRequest{
		Context: by, Scenarios: repeated[stowagev1.Scenario](100_000),
	})
	templates := make([]*stowagev1.NodeTemplate, 10_000)
	for i := range templates { // some 86 bytes each
		templates[i] = &stowagev1.NodeTemplate{Price: 1, Node: &stowagev1.Node{
			Name: fmt.Sprint("node-", i), Labels: map[string]string{"topology.kubernetes.io/zone": fmt.Sprint(i % 3), "example.com/rack": "a"},
		}}
	}
	add("templates", "Provision with 10,000 templates", stowagev1.SimulationService_Provision_FullMethodName, &stowagev1.ProvisionRequest{
		Context: by, Queue: queue, Templates: templates,
	})
	if err == nil && out["address"].digits == 0 {
		err = fmt.Errorf("the request has no %s", fresh)
	}
	return out, err
}

// repeated is n empty messages.
func repeated[M any](n int) []*M {
	out := make([]*M, n)
	for i := range out {
		out[i] = new(M)
	}
	return out
}

// spread is a pod with three hard spread constraints.
func spread() *stowagev1.Pod {
	t := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{}}
	for _, key := range []string{"kubernetes.io/hostname", "example.com/rack", "topology.kubernetes.io/zone"} {
		t.Spec.TopologySpreadConstraints = append(t.Spec.TopologySpreadConstraints, &stowagev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
			LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"a": ""}},
		})
	}
	t.Labels = map[string]string{"a": ""}
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: t}}
}
