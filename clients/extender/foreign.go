package extender

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// complainEvery is the interval between equal log lines.
const complainEvery = time.Minute

// watchBinds ends the decisions about bound pods. With AtBind, a pod that somebody else bound shows that kube-scheduler has no
// bindVerb for this extender.
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
			e.log.Error("kube-scheduler binds pods itself, so decisions rest on outdated state: set bindVerb: bind for this extender, or start it with --decide=filter",
				"pod", pod.Namespace+"/"+pod.Name)
		}
	}
	_, err := e.cluster.Informers().CoreV1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
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
