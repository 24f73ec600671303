package live

import (
	"fmt"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestWhatIsRefusedDoesNotPileUp(t *testing.T) {
	r := newRefused()
	for i := range 3 * refusedTemplates {
		r.instead(fmt.Sprint(i), rest{})
	}
	if len(r.templates) > refusedTemplates {
		t.Errorf("%d templates", len(r.templates))
	}
	log := slog.New(slog.DiscardHandler)
	pods := map[types.UID]*pod{"there": {namespace: "default", name: "there"}}
	for _, name := range []string{"there", "gone"} {
		r.tell(log, "Pod", "default/"+name, "too large")
		r.tell(log, "Node", name, "too large")
		r.pods[types.UID(name)] = refusedPod{}
	}
	r.prune(pods)
	if _, there := r.pods["there"]; len(r.pods) != 1 || !there || len(r.reasons) != 3 || r.reasons[object{"Pod", "default/gone"}] != "" {
		t.Errorf("%v, %v", r.pods, r.reasons)
	}
}
