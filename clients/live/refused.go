package live

import (
	"crypto/sha256"
	"log/slog"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// refused are the rejected objects and their replacements.
type refused struct {
	reasons   map[object]string
	templates map[digest]rest
	pods      map[types.UID]refusedPod
}

// refusedPod is a rejected field of a pod's own, and why.
type refusedPod struct {
	own    digest
	reason string
}

type object struct{ kind, name string }

// digest is the digest of a template's encoding.
type digest [sha256.Size]byte

func digestOf(encoding string) digest { return sha256.Sum256([]byte(encoding)) }

// refusedTemplates bounds the remembered rejections of templates. Beyond it all are forgotten, and the templates in use are
// rejected once more.
const refusedTemplates = 10_000

// substitute records the replacement of a template.
func (r *refused) substitute(key string, by rest) {
	if len(r.templates) >= refusedTemplates {
		clear(r.templates)
	}
	r.templates[digestOf(key)] = by
}

// prune forgets pods that no longer exist, such as forgotten assumptions.
func (r *refused) prune(pods, nominated map[types.UID]*pod) {
	maps.DeleteFunc(r.pods, func(uid types.UID, _ refusedPod) bool { return pods[uid] == nil && nominated[uid] == nil })
	there := map[object]bool{}
	for _, known := range []map[types.UID]*pod{pods, nominated} {
		for _, p := range known {
			there[object{"Pod", p.namespace + "/" + p.name}] = true
		}
	}
	maps.DeleteFunc(r.reasons, func(o object, _ string) bool { return o.kind == "Pod" && !there[o] })
}

func newRefused() refused {
	return refused{reasons: map[object]string{}, templates: map[digest]rest{}, pods: map[types.UID]refusedPod{}}
}

// report records and logs why an object is rejected.
func (r *refused) report(log *slog.Logger, kind, name, reason string) {
	key := object{kind, name}
	if r.reasons[key] == reason {
		return
	}
	r.reasons[key] = reason
	log.Error("Stowage rejects an object, which counts only in part or not at all", "kind", kind, "name", name, "reason", reason)
}

func (r *refused) clear(kind, name string) { delete(r.reasons, object{kind, name}) }

// template returns a template, or its replacement if it is rejected.
func (r *refused) template(t *stowagev1.PodTemplate, key string) rest {
	out := rest{template: t, key: key}
	for {
		next, known := r.templates[digestOf(out.key)]
		if !known {
			return out
		}
		next.unclear = next.unclear || out.unclear
		out = next
	}
}

// own is the part of a pod that is not in its template.
func own(p *stowagev1.Pod) digest {
	key, _ := encoding(&stowagev1.Pod{Name: p.Name, Labels: p.Labels, Terminating: p.Terminating, ResourceStatus: p.ResourceStatus,
		StartTime: p.StartTime, Preempted: p.Preempted, Readiness: p.Readiness})
	return digestOf(key)
}

// pod returns why a pod's own fields are rejected, "" if they are not.
func (r *refused) pod(uid types.UID, p *stowagev1.Pod) string {
	refused, known := r.pods[uid]
	if known && refused.own != own(p) {
		delete(r.pods, uid)
		return ""
	}
	return refused.reason
}
