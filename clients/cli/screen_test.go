package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/stowage"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// frames is a screen of a size, over a cluster of some nodes and a queue of as many pods.
func frames(nodes, columns, rows int) (*filmed, *bytes.Buffer) {
	snapshot := &kube.Snapshot{Cluster: &stowagev1.Cluster{}}
	for i := range nodes {
		snapshot.Cluster.Nodes = append(snapshot.Cluster.Nodes, &stowagev1.Node{
			Name: fmt.Sprint("n", i), Labels: map[string]string{"rack": fmt.Sprint(i)},
		})
	}
	snapshot.Queue = []kube.Entry{{Pods: &stowagev1.PendingPods{Count: new(uint32(nodes))}, Origin: kube.Origin{Name: "web"}}}
	out := &bytes.Buffer{}
	s := &filmed{parts: stowage.NewParts(snapshot.PlaceRequest()), so: place.New(snapshot, "rack", nil)}
	s.screen = &screen{
		w: out, size: func() (int, int) { return columns, rows }, now: func() time.Time { return time.Unix(2, 0) },
		start: time.Unix(0, 0), last: &stowagev1.PlaceStreamResponse{},
	}
	return s, out
}

// filmed is a screen with the answer that it shows.
type filmed struct {
	*screen
	parts *stowage.Parts
	so    *place.Answer
}

func (s *filmed) frame() { s.tick(s.so) }

func (s *filmed) take(t *testing.T, part *stowagev1.PlaceStreamResponse) {
	t.Helper()
	if err := s.parts.Add(part); err != nil {
		t.Fatal(err)
	}
	s.so.Response = s.parts.Answer()
	if err := s.part(part, s.so); err != nil {
		t.Fatal(err)
	}
}

func TestFramesShowWhatHasComeIn(t *testing.T) {
	s, out := frames(4, 100, 24)
	s.frame()
	if !strings.HasPrefix(out.String(), enterScreen+toTheTop) || !strings.Contains(out.String(), "] 0 of 4 pods, 2s"+eraseLine) {
		t.Errorf("%q", out)
	}
	out.Reset()
	s.take(t, &stowagev1.PlaceStreamResponse{
		Placements:  []*stowagev1.QueuePlacement{{Placement: &stowagev1.Placement{Nodes: &stowagev1.NodeList{Indexes: []uint32{3}, Names: []string{"n3"}}}}},
		PlacedCount: 1, UnplacedCount: 1, TotalCount: 4,
	})
	s.frame()
	for _, want := range []string{
		toTheTop + "[" + strings.Repeat("█", 20) + strings.Repeat("░", 20) + "] 2 of 4 pods, 1 without a node, 2s, 2s left" + eraseLine, "+ web", eraseBelow,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if strings.Contains(out.String(), enterScreen) {
		t.Error("entered twice")
	}
	out.Reset()
	s.close()
	if out.String() != leaveScreen {
		t.Errorf("%q", out)
	}
}

func TestAScreenThatWasNotNeededIsNotShown(t *testing.T) {
	s, out := frames(1, 80, 24)
	s.take(t, &stowagev1.PlaceStreamResponse{PlacedCount: 1, TotalCount: 1})
	s.close()
	if out.Len() > 0 {
		t.Errorf("%q", out)
	}
}

func TestFramesKeepToTheTerminal(t *testing.T) {
	for _, size := range [][2]int{{100, 24}, {80, 10}, {30, 5}, {10, 2}, {300, 100}} {
		s, out := frames(40, size[0], size[1])
		s.frame()
		text := strings.TrimSuffix(strings.TrimPrefix(out.String(), enterScreen+toTheTop), eraseBelow)
		lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
		if len(lines) >= size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, eraseLine)); n > size[0] {
				t.Errorf("%v: %d runes: %s", size, n, line)
			}
		}
	}
}
