package live

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// assume counts pods on nodes, all or none. Like forget it is a decision of the caller, not an event.
func (m *model) assume(pods []Assumption, deadline time.Time) error {
	for _, a := range pods {
		if known := m.pods[a.Pod.UID]; known != nil && !known.assumed {
			return fmt.Errorf("%w: pod %s/%s is on node %s by now", ErrChanged, a.Pod.Namespace, a.Pod.Name, known.node)
		}
		if n := m.nodes[a.Node]; n == nil || n.message == nil {
			return fmt.Errorf("%w: there is no node %s any more", ErrChanged, a.Node)
		}
		for _, claim := range a.Claims {
			if now := m.devices.claims[keyOf(claim)]; now == nil || now.UID != claim.UID || m.takenFrom(claim) {
				return fmt.Errorf("%w: claim %s or its devices are no longer there", ErrChanged, claim.Name)
			}
		}
	}
	m.deciding = true
	for _, a := range pods {
		m.remove(a.Pod.UID)
		p := m.podOf(labelled(a.Pod, m.nodes[a.Node].message.Labels), a.Node)
		if p.assumed = true; !a.Held {
			p.until = deadline
		}
		m.put(a.Pod.UID, p)
		m.releaseClaims(a.Pod.UID)
		m.assumeClaims(a.Pod.UID, a.Claims)
	}
	return nil
}

// labelled returns a pod with the labels that the API server copies from the node at binding
// (plugin/pkg/admission/podtopologylabels, on by default since v1.35), so that the event of the bound pod changes nothing.
func labelled(p *corev1.Pod, node map[string]string) *corev1.Pod {
	out := *p
	out.Labels = maps.Clone(p.Labels)
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		if value, ok := node[key]; ok {
			if out.Labels == nil {
				out.Labels = map[string]string{}
			}
			out.Labels[key] = value
		}
	}
	return &out
}

func (m *model) forget(uid types.UID) {
	if p := m.pods[uid]; p != nil && p.assumed {
		m.deciding = true
		m.remove(uid)
		m.releaseClaims(uid)
	}
}

// due reports whether an assumption should have been resolved by now.
func (p *pod) due(now time.Time) bool {
	return p.assumed && !p.until.IsZero() && now.After(p.until)
}

// readTimeout bounds reading one assumed pod from the API server.
const readTimeout = 5 * time.Second

// settle reads the pods of overdue assumptions from the API server.
func (c *Cluster) settle(ctx context.Context) {
	type open struct {
		uid             types.UID
		namespace, name string
	}
	var due []open
	now := time.Now()
	c.mutex.Lock()
	for uid, p := range c.model.pods {
		if p.due(now) {
			due = append(due, open{uid, p.namespace, p.name})
		}
	}
	c.mutex.Unlock()
	for _, o := range due {
		asking, cancel := context.WithTimeout(ctx, readTimeout)
		found, err := c.api.CoreV1().Pods(o.namespace).Get(asking, o.name, metav1.GetOptions{})
		cancel()
		if err != nil && !apierrors.IsNotFound(err) {
			c.log.Warn("cannot read an assumed pod from the API server; it stays assumed", "pod", o.namespace+"/"+o.name, "error", err)
			return // the next tick retries
		}
		c.update(func(m *model) { c.settled(ctx, m, o.uid, found, err == nil) })
	}
}

// settled applies the API server's state of an assumed pod.
func (c *Cluster) settled(ctx context.Context, m *model, uid types.UID, found *corev1.Pod, exists bool) {
	p := m.pods[uid]
	if p == nil || !p.due(time.Now()) {
		return // an event came, or the pod was assumed again or extended
	}
	if exists && found.UID == uid && found.Spec.NodeName != "" {
		m.podSet(found)
		return
	}
	c.log.Warn("forgetting an assumed pod that was not bound", "pod", p.namespace+"/"+p.name, "node", p.node)
	c.expired.Add(ctx, 1)
	m.forget(uid)
}
