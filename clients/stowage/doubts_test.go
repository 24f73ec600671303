package stowage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestDoubtsOfRequeuedPods checks which pods the doubts of a scenario are about: an entry of the queue, an entry behind it, or a pod of
// the cluster, which has a name or is only counted.
func TestDoubtsOfRequeuedPods(t *testing.T) {
	limit := func(p *stowagev1.PodReference) *stowagev1.Doubt {
		return &stowagev1.Doubt{Kind: stowagev1.DoubtKind_DOUBT_KIND_LIMIT, Pod: p}
	}
	entry := func(i uint32) *stowagev1.PodReference {
		return &stowagev1.PodReference{Namespace: "shop", Count: 2, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: i}}
	}
	named := &stowagev1.PodReference{Namespace: "shop", Name: "web-1", NodeIndex: new(uint32(3)), Count: 1}
	counted := &stowagev1.PodReference{
		Namespace: "shop", NodeIndex: new(uint32(4)), Count: 2, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 5},
	}
	response := &stowagev1.WhatIfResponse{
		Placement: &stowagev1.PlaceResponse{
			Placements: make([]*stowagev1.Placement, 3),
			Doubts:     []*stowagev1.Doubt{limit(entry(0)), limit(entry(1)), limit(entry(2)), limit(entry(3)), limit(named)},
		},
		Requeued: []*stowagev1.RequeuedPod{{Pod: named}, {Pod: counted}},
	}
	before := proto.Clone(response)
	resolved := proto.Clone(named).(*stowagev1.PodReference)
	resolved.Count = 2
	want := []*stowagev1.Doubt{limit(entry(0)), limit(resolved), limit(counted), limit(entry(3)), limit(named)}
	if d := cmp.Diff(want, stowage.Doubts(response), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, proto.Message(response), protocmp.Transform()); d != "" {
		t.Errorf("the response changed: %s", d)
	}
}
