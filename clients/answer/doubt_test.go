package answer_test

import (
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestDoubtsNameTheirPods checks the name of the pod of a limit: a pod of the queue, a pod that came back behind the queue, which is
// not the pod of the manifests that waits, and a pod of the cluster.
func TestDoubtsNameTheirPods(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	const pods = `
{apiVersion: v1, kind: Pod, metadata: {name: pending, namespace: shop}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: waits, namespace: shop}, spec: {containers: [{name: c, image: i}]}}
`
	if err := r.Read("pods.yaml", strings.NewReader(pods)); err != nil {
		t.Fatal(err)
	}
	snapshot, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	snapshot.Queue, snapshot.Waiting = snapshot.Queue[:1], snapshot.Queue[1:] // as for a group below its minCount
	named := func(name string) *stowagev1.PodReference {
		return &stowagev1.PodReference{Namespace: "shop", Name: name, Count: 1, NodeIndex: new(uint32)}
	}
	entry := func(i uint32) *stowagev1.PodReference {
		return &stowagev1.PodReference{Namespace: "shop", Count: 1, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: i}}
	}
	for want, pod := range map[string]*stowagev1.PodReference{
		"Pod shop/pending": entry(0), "Pod shop/back": entry(1), "Pod shop/running": named("running"),
	} {
		q, j := &answer.Question{Snapshot: snapshot}, &answer.Judgement{}
		q.Doubt(j, "", &stowagev1.WhatIfResponse{
			Placement: &stowagev1.PlaceResponse{
				Placements: make([]*stowagev1.Placement, 2),
				Doubts:     []*stowagev1.Doubt{{Kind: stowagev1.DoubtKind_DOUBT_KIND_LIMIT, Pod: pod}},
			},
			Requeued: []*stowagev1.RequeuedPod{{Pod: named("back")}},
		})
		if got := strings.Join(j.Remarks(), "\n"); got != "Not simulated to the end: "+want+": a limit ended the simulation" {
			t.Errorf("%s: %s", want, got)
		}
	}
}
