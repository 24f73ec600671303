package extender

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// complainEvery bounds how often the same complaint is logged.
const complainEvery = time.Minute

// watchBinds looks at pods that get bound: what was decided about them is done with. With AtBind, one that was bound by
// somebody else shows that kube-scheduler has no bindVerb for this extender.
func (e *Extender) watchBinds() error {
	var complained atomic.Int64
	seen := func(o any) {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Spec.NodeName == "" {
			return
		}
		d := e.decisions.get(pod.UID)
		if d == nil || d.binding {
			return
		}
		e.decisions.remove(pod.UID)
		if e.options.Decide != AtBind || d.node != "" {
			return
		}
		e.metrics.foreign(context.Background())
		now := time.Now().UnixNano()
		if last := complained.Load(); now-last > int64(complainEvery) && complained.CompareAndSwap(last, now) {
			e.log.Error("kube-scheduler binds pods itself, so decisions are made on what is out of date: set bindVerb: bind for this extender, or start it with --decide=filter",
				"pod", pod.Namespace+"/"+pod.Name)
		}
	}
	_, err := e.cluster.Informers().Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) },
		DeleteFunc: func(o any) {
			if unseen, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unseen.Obj
			}
			if pod, ok := o.(*corev1.Pod); ok {
				e.decisions.remove(pod.UID)
			}
		},
	})
	return err
}
