package live

import (
	"log/slog"

	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// refused is what Stowage does not take, and how much less is stated instead.
type refused struct {
	reasons   map[object]string
	templates map[string]int // by encoding, how often a template was refused: first its spec goes, then its labels
	pods      map[types.UID]bool
}

type object struct{ kind, name string }

func newRefused() refused {
	return refused{reasons: map[object]string{}, templates: map[string]int{}, pods: map[types.UID]bool{}}
}

// tell keeps and logs why an object is not stated as it is.
func (r *refused) tell(log *slog.Logger, kind, name, reason string) {
	key := object{kind, name}
	if r.reasons[key] == reason {
		return
	}
	r.reasons[key] = reason
	log.Error("Stowage refuses an object, which counts only in part or not at all", "kind", kind, "name", name, "reason", reason)
}

func (r *refused) clear(kind, name string) { delete(r.reasons, object{kind, name}) }

// template is what is stated instead of a template.
func (r *refused) template(t *stowagev1.PodTemplate, key string) (*stowagev1.PodTemplate, string) {
	for r.templates[key] > 0 {
		if t.Spec == nil && len(t.Labels) == 0 {
			return t, key // nothing is left to leave out
		}
		out := &stowagev1.PodTemplate{Namespace: t.Namespace}
		if t.Spec != nil {
			out.Labels = t.Labels
		}
		t = out
		key, _ = encoding(t)
	}
	return t, key
}

// pod is what is stated of a pod that carries something of its own, nil if nothing of that.
func (r *refused) pod(uid types.UID, p *stowagev1.Pod) *stowagev1.Pod {
	if r.pods[uid] {
		return nil
	}
	return p
}
