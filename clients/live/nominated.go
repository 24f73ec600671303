package live

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// pendingSet applies an event about a pending pod. An assumed pod stays on its node: the event is older than the decision.
func (m *model) pendingSet(o *corev1.Pod) {
	if by, ok := m.held[o.UID]; ok {
		if o.Status.NominatedNodeName == by.node {
			delete(m.held, o.UID)
		} else {
			o = nominatedTo(o, by.node) // the event is older than the decision
		}
	}
	known := m.nominated[o.UID]
	if o.Status.NominatedNodeName == "" {
		if known != nil && m.pods[o.UID] == nil {
			m.refused.clear("Pod", o.Namespace+"/"+o.Name)
		}
		m.dismiss(o.UID)
		return
	}
	for uid, p := range m.nominated {
		if uid != o.UID && p.namespace == o.Namespace && p.name == o.Name {
			delete(m.held, uid)
			m.dismiss(uid) // the deletion follows in another event
		}
	}
	fresh := m.podOf(o, o.Status.NominatedNodeName)
	if fresh.named == nil && utf8.ValidString(o.Name) {
		fresh.named = plain(o.Name, fresh)
	}
	if known != nil && known.node == fresh.node && known.unclear == fresh.unclear && same(known.named, fresh.named) {
		return
	}
	m.nominate(o.UID, fresh)
}

// plain is a pod whose only own field is its name.
func plain(name string, p *pod) *stowagev1.Pod {
	return &stowagev1.Pod{
		Name: name, Terminating: p.counted.terminating, Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: p.counted.template},
	}
}

// nominate sets the nomination of a pending pod.
func (m *model) nominate(uid types.UID, p *pod) {
	m.templates.use(p.counted.template, 1)
	m.dismiss(uid)
	m.nominated[uid] = p
	m.show(uid)
}

// dismiss removes the nomination of a pod, if it has one.
func (m *model) dismiss(uid types.UID) {
	m.hide(uid)
	if p := m.nominated[uid]; p != nil {
		m.templates.use(p.counted.template, -1)
		delete(m.nominated, uid)
	}
}

// show counts a nominated pod on its node, unless it is assumed.
func (m *model) show(uid types.UID) {
	p := m.nominated[uid]
	if p == nil || m.pods[uid] != nil {
		return
	}
	n := m.node(p.node)
	if p.named != nil {
		n.nominated[uid] = p.named
	}
	if p.unclear {
		n.unclear[uid] = true
		m.closed[p.node] = n
	}
	m.changed = m.changed || n.message != nil
}

// hide stops counting a nominated pod.
func (m *model) hide(uid types.UID) {
	p := m.nominated[uid]
	if p == nil || m.pods[uid] != nil {
		return
	}
	n := m.node(p.node)
	delete(n.nominated, uid)
	if delete(n.unclear, uid); len(n.unclear) == 0 {
		delete(m.closed, p.node)
	}
	m.changed = m.changed || n.message != nil
	m.drop(p.node)
}

// pod returns a pod on a node or a nominated pod.
func (m *model) pod(uid types.UID) *pod {
	if p := m.pods[uid]; p != nil {
		return p
	}
	return m.nominated[uid]
}
