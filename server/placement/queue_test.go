package placement

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// FuzzQueue receives a PlaceRequest in two frames as Register does, and compares it with proto.Unmarshal.
func FuzzQueue(f *testing.F) {
	template := func(i uint32) *stowagev1.Pod {
		return &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: i}}
	}
	named := template(1 << 20)
	named.Name = "web-0"
	for _, r := range []*stowagev1.PlaceRequest{
		{},
		{
			Queue:        []*stowagev1.PendingPods{{Pod: template(0)}, {Pod: named, Count: new(uint32(300)), PodGroup: "gang"}, {}},
			TieBreakSeed: 7,
		},
		{Queue: []*stowagev1.PendingPods{
			{Pod: &stowagev1.Pod{Labels: map[string]string{"a": "b"}, Terminating: true}},
			{
				Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Namespace: "n"}}}, Count: new(uint32(2)),
			},
		}},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(len(b)/2))
		// A pod in two parts, an unknown field, and an invalid string.
		entry := protowire.AppendTag(nil, 1, protowire.BytesType)
		entry = append(protowire.AppendBytes(entry, []byte{0x0a, 1, 'a'}), 0x0a, 2, 0x10, 5, 0x50, 1)
		f.Add(protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), entry), uint16(3))
		f.Add(protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), []byte{0x1a, 1, 0xff}), uint16(0))
		// Entries with a length or tag in an overlong varint.
		f.Add(append(slices.Clip(b), 0x12, 0x84, 0, 0x10, 7, 0x1a, 0), uint16(0))
		f.Add(append(slices.Clip(b), 0x92, 0, 2, 0x10, 7), uint16(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		var want stowagev1.PlaceRequest
		wantErr := proto.Unmarshal(b, &want)
		if want.GetContext().GetCluster() != nil {
			return // covered by another fuzz target
		}
		got := &stowagev1.PlaceRequest{}
		in := wire.NewRequest(got, contextField, clusterField)
		var pods *decode.RequestPods
		in.Read = func(rest []byte) (err error) {
			pods, err = decode.ReadPlace(rest, got)
			return err
		}
		at := min(int(cut), len(b))
		err := wire.Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b[:at]), mem.SliceBuffer(b[at:])}, in)
		if err == nil {
			err = in.Decode()
		}
		if in.Cluster != nil {
			return
		}
		for _, p := range want.Queue {
			if p.Pod != nil { // decoded separately
				p.Pod = &stowagev1.Pod{Unread: p.Pod.Unread}
			}
		}
		if err == nil && wantErr == nil && !proto.Equal(got, &want) {
			t.Errorf("got  %v\nwant %v", got, &want)
		}
		if err == nil {
			r := decode.NewInline(t.Context(), nil)
			r.Ask(pods)
			r.Place(got)
			err = r.Err()
		}
		var refused *decode.Error
		if wantErr == nil && err != nil && !errors.As(err, &refused) || wantErr != nil && err == nil {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
	})
}
