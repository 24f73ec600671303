package stowage

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestSameEncoding(t *testing.T) {
	labels := map[string]string{}
	for i := range 20 {
		labels[fmt.Sprint("label-", i)] = ""
	}
	in := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: "address"}},
		},
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Labels: labels}}},
	}
	var first []byte
	for range 20 {
		b, err := newCodec().Marshal(proto.Clone(in))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Materialize()
		}
		if !bytes.Equal(first, b.Materialize()) {
			t.Fatal("a request is encoded in two ways")
		}
	}
	out := new(stowagev1.FilterRequest)
	if err := proto.Unmarshal(first, out); err != nil || !proto.Equal(in, out) {
		t.Errorf("%v: %v was sent as %v", err, in, out)
	}
}
