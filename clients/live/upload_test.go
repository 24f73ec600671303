package live_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// slowLink holds the streams that put snapshots up until it is released.
type slowLink struct {
	puts    atomic.Int64
	release chan struct{}
	ended   chan error
}

func (l *slowLink) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, options...)
	if method == stowagev1.PlacementService_PutSnapshot_FullMethodName && err == nil {
		l.puts.Add(1)
		s = &slowStream{s, l}
	}
	return s, err
}

type slowStream struct {
	grpc.ClientStream
	link *slowLink
}

func (s *slowStream) RecvMsg(m any) error {
	select {
	case <-s.link.release:
	case <-s.Context().Done():
	}
	err := s.ClientStream.RecvMsg(m)
	s.link.ended <- err
	return err
}

// No caller waits until the cluster is uploaded, and the cluster changes meanwhile. It is still uploaded once.
func TestTheClusterIsBroughtThereWhoeverWaits(t *testing.T) {
	link := &slowLink{release: make(chan struct{}), ended: make(chan error, 100)}
	w := startDialled(t, live.Options{}, []grpc.DialOption{grpc.WithChainStreamInterceptor(link.stream)}, nil, makeNode("a", "z1"))
	ask := func() error {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- w.Ask(ctx, func(context.Context, *live.View) error { return nil })
		}()
		eventually(t, "an upload", func() bool { return link.puts.Load() > 0 })
		cancel(fmt.Errorf("no time is left"))
		return <-done
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "uploading the snapshot to Stowage: no time is left") {
		t.Error(err)
	}
	const more = 100 // than a difference may have
	for i := range more {
		if _, err := w.api.CoreV1().Nodes().Create(t.Context(), makeNode(fmt.Sprintf("new-%d", i), "z2"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the nodes", func() bool { v, err := w.View(); return err == nil && v.NodeCount() == 1+more })
	if err := ask(); err == nil {
		t.Error("no error, and the cluster is not there")
	}
	close(link.release)
	if err := <-link.ended; err != nil {
		t.Errorf("the upload ended with those who waited for it: %v", err)
	}
	if got, err := w.nodes(makePod("web", "web", corev1.LabelHostname)); err != nil || len(got) != 1+more {
		t.Errorf("%d nodes, %v", len(got), err)
	}
	if n := link.puts.Load(); n > 2 { // what has changed meanwhile may be put, too
		t.Errorf("%d uploads", n)
	}
}
