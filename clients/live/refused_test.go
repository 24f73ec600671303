package live

import (
	"fmt"
	"log/slog"
	"testing"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// A node that a pod closes has the images and taints that it had: scores of other nodes depend on how many have an image.
func TestAClosedNodeStillCounts(t *testing.T) {
	whole := &stowagev1.Node{
		Name: "a", Labels: map[string]string{"zone": "z"}, Taints: []*stowagev1.Taint{{Key: "k"}},
		Images: []*stowagev1.ContainerImage{{Names: []string{"web:v1"}}}, Allocatable: &stowagev1.Resources{Pods: new(int64(9))},
	}
	want := proto.CloneOf(whole)
	convert.Close(want)
	closed := node{message: whole, unclear: map[types.UID]bool{"u": true}}
	if got := closed.now(); !proto.Equal(got, want) || !got.Unschedulable || whole.Unschedulable {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWhatIsRefusedDoesNotPileUp(t *testing.T) {
	r := newRefused()
	for i := range 3 * refusedTemplates {
		r.substitute(fmt.Sprint(i), rest{})
	}
	if len(r.templates) > refusedTemplates {
		t.Errorf("%d templates", len(r.templates))
	}
	log := slog.New(slog.DiscardHandler)
	pods := map[types.UID]*pod{"there": {namespace: "default", name: "there"}}
	for _, name := range []string{"there", "nominated", "gone"} {
		r.report(log, "Pod", "default/"+name, "too large")
		r.report(log, "Node", name, "too large")
		r.pods[types.UID(name)] = refusedPod{}
	}
	r.prune(pods, map[types.UID]*pod{"nominated": {namespace: "default", name: "nominated"}})
	if _, there := r.pods["there"]; len(r.pods) != 2 || !there || len(r.reasons) != 5 || r.reasons[object{"Pod", "default/gone"}] != "" {
		t.Errorf("%v, %v", r.pods, r.reasons)
	}
}
