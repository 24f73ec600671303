package live

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// held is a nomination by the caller that no event has shown yet.
type held struct {
	namespace, name string
	node            string
	until           time.Time // when it is overdue, zero while the caller writes it
}

// Nominate counts a pending pod as nominated to a node before an event shows the nomination. The nomination counts until
// Nominated or Withdraw, and until an event shows it.
func (c *Cluster) Nominate(pod *corev1.Pod, node string) {
	c.update(func(m *model) { m.hold(pod, node) })
}

func (m *model) hold(pod *corev1.Pod, node string) {
	if p := m.pods[pod.UID]; p != nil && !p.assumed {
		return // it is on a node by now
	}
	m.deciding = true
	delete(m.held, pod.UID)
	m.pendingSet(nominatedTo(pod, node))
	m.held[pod.UID] = held{namespace: pod.Namespace, name: pod.Name, node: node}
}

// Nominated records that the API server has stored a nomination. If no event shows it within Options.AssumeFor, the Cluster
// reads the pod from the API server.
func (c *Cluster) Nominated(pod types.UID) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if h, ok := c.model.held[pod]; ok {
		h.until = time.Now().Add(c.assumeFor)
		c.model.held[pod] = h
	}
}

// Withdraw ends an unwritten nomination: the latest event decides about the pod's nomination. It does nothing if an event has
// shown the nomination.
func (c *Cluster) Withdraw(latest *corev1.Pod) {
	c.update(func(m *model) {
		if _, ok := m.held[latest.UID]; ok {
			m.deciding = true
			m.release(latest)
		}
	})
}

// release ends a held nomination: the pod's object decides about its nomination.
func (m *model) release(o *corev1.Pod) {
	delete(m.held, o.UID)
	m.podSet(o)
}

// nominatedTo returns a pod with a nominated node.
func nominatedTo(p *corev1.Pod, node string) *corev1.Pod {
	out := *p
	out.Status.NominatedNodeName = node
	return &out
}

// settleNominations reads the pods of overdue nominations from the API server.
func (c *Cluster) settleNominations(ctx context.Context) {
	due := map[types.UID]held{}
	now := time.Now()
	c.mutex.Lock()
	for uid, h := range c.model.held {
		if !h.until.IsZero() && now.After(h.until) {
			due[uid] = h
		}
	}
	c.mutex.Unlock()
	for uid, h := range due {
		asking, cancel := context.WithTimeout(ctx, readTimeout)
		found, err := c.api.CoreV1().Pods(h.namespace).Get(asking, h.name, metav1.GetOptions{})
		cancel()
		if err != nil && !apierrors.IsNotFound(err) {
			c.log.Warn("cannot read a nominated pod from the API server; it stays nominated", "pod", h.namespace+"/"+h.name, "error", err)
			return // the next tick retries
		}
		c.update(func(m *model) {
			switch now, ok := m.held[uid]; {
			case !ok || now != h: // an event came, or it was nominated again
			case err == nil && found.UID == uid:
				m.release(found)
			default:
				delete(m.held, uid)
				m.dismiss(uid)
			}
		})
	}
}
