package live

import (
	"crypto/sha256"
	"log/slog"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// refused is what Stowage does not take, and how much less is stated instead.
type refused struct {
	reasons   map[object]string
	templates map[digest]int // how often a template was refused: first its spec goes, then its labels
	pods      map[types.UID]bool
}

type object struct{ kind, name string }

// digest is that of a template's encoding.
type digest [sha256.Size]byte

func digestOf(encoding string) digest { return sha256.Sum256([]byte(encoding)) }

// refusedTemplates is how many templates are known to be refused. Beyond that all are forgotten; those that pods still come
// with are refused once more.
const refusedTemplates = 10_000

// again counts that a template was refused.
func (r *refused) again(key string) {
	if len(r.templates) >= refusedTemplates {
		clear(r.templates)
	}
	r.templates[digestOf(key)]++
}

// prune forgets pods that are not there any more, as those whose assumption came to nothing.
func (r *refused) prune(pods map[types.UID]*pod) {
	maps.DeleteFunc(r.pods, func(uid types.UID, _ bool) bool { return pods[uid] == nil })
	there := map[object]bool{}
	for _, p := range pods {
		there[object{"Pod", p.namespace + "/" + p.name}] = true
	}
	maps.DeleteFunc(r.reasons, func(o object, _ string) bool { return o.kind == "Pod" && !there[o] })
}

func newRefused() refused {
	return refused{reasons: map[object]string{}, templates: map[digest]int{}, pods: map[types.UID]bool{}}
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
	for r.templates[digestOf(key)] > 0 {
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
