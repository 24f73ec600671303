package live

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// podSet applies an event about a pod.
func (m *model) podSet(o *corev1.Pod) {
	known := m.pods[o.UID]
	m.ownerSet(o)
	switch {
	case o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed:
		m.podGone(o)
		return
	case o.Spec.NodeName == "":
		m.pendingSet(o)
		return
	}
	delete(m.held, o.UID)
	m.dismiss(o.UID)
	fresh := m.podOf(o, o.Spec.NodeName)
	if known != nil && known.node == fresh.node && known.counted.unready() == fresh.counted.unready() && known.unclear == fresh.unclear {
		if known.counted == fresh.counted && same(known.named, fresh.named) {
			known.assumed = false
			return
		}
		if same(unstarted(known.named), unstarted(fresh.named)) {
			m.started(o.UID, fresh)
			return
		}
	}
	if known != nil && known.node != fresh.node {
		m.log.Warn("a pod was bound to another node than it was assumed on", "pod", o.Namespace+"/"+o.Name,
			"assumed", known.node, "node", fresh.node)
	}
	m.remove(o.UID)
	m.put(o.UID, fresh)
}

// started replaces a pod by a version with another start time or readiness, on which placement does not depend.
func (m *model) started(uid types.UID, fresh *pod) {
	changed := m.changed
	m.quiet = true
	m.remove(uid)
	m.put(uid, fresh)
	m.quiet, m.changed, m.aside = false, changed, true
}

// unstarted is a pod's message without its start time and readiness.
func unstarted(p *stowagev1.Pod) *stowagev1.Pod {
	if p.GetStartTime() == nil && p.GetReadiness() == 0 {
		return p
	}
	p = proto.CloneOf(p)
	p.StartTime, p.Readiness = nil, 0
	return p
}

// unready is the key without the readiness.
func (c counted) unready() counted {
	c.readiness = 0
	return c
}

// podGone applies the deletion of a pod.
func (m *model) podGone(o *corev1.Pod) {
	m.refused.clear("Pod", o.Namespace+"/"+o.Name)
	delete(m.refused.pods, o.UID)
	delete(m.held, o.UID)
	m.ownerGone(o)
	m.dismiss(o.UID)
	m.remove(o.UID)
}

// podOf converts a pod on a node or nominated to it, and adds its template to the model.
func (m *model) podOf(o *corev1.Pod, onNode string) *pod {
	read := m.environment.OccupyingPod(o)
	converted, unclear := read.Pod, read.Amounts != nil
	if !m.startTimes {
		converted.StartTime = nil
	}
	var reasons []string
	if read.Terms != nil {
		reasons = append(reasons, read.Terms.Error())
	}
	if read.Amounts != nil {
		reasons = append(reasons, read.Amounts.Error()+takesUnclear)
	}
	key, err := encoding(converted.GetTemplate())
	if err == nil {
		_, err = encoding(&stowagev1.Pod{Name: converted.Name, Labels: converted.Labels, ResourceStatus: converted.ResourceStatus})
	}
	if err != nil { // text that is not UTF-8
		reasons, unclear = append(reasons, err.Error()+takesUnclear), true
		converted = &stowagev1.Pod{
			Terminating: o.DeletionTimestamp != nil,
			Source:      &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Namespace: o.Namespace, Labels: o.Labels}},
		}
		if key, err = encoding(converted.GetTemplate()); err != nil {
			converted.GetTemplate().Labels = nil
			key, _ = encoding(converted.GetTemplate())
		}
	}
	kept := m.refused.template(converted.GetTemplate(), key)
	if kept.reason != "" {
		reasons = append(reasons, kept.reason)
	}
	out := &pod{namespace: o.Namespace, name: o.Name, node: onNode, unclear: unclear || kept.unclear, counted: counted{
		template: m.templates.intern(kept.template, kept.key), terminating: converted.Terminating,
		readiness: converted.Readiness,
	}}
	if len(converted.Labels) > 0 || converted.ResourceStatus != nil || converted.Preempted || m.startTimes ||
		len(kept.template.GetSpec().GetResourceClaims()) > 0 || slices.ContainsFunc(kept.template.GetSpec().GetVolumes(), convert.NamedByPod) {
		converted.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: out.counted.template}
		if reason := m.refused.pod(o.UID, converted); reason != "" {
			out.unclear, reasons = true, append(reasons, reason)
		} else {
			out.named = converted
		}
	}
	if len(reasons) == 0 {
		m.refused.clear("Pod", o.Namespace+"/"+o.Name)
	} else {
		m.refused.report(m.log, "Pod", o.Namespace+"/"+o.Name, strings.Join(reasons, "; "))
	}
	return out
}

// nodeSet applies an event about a node.
func (m *model) nodeSet(o *corev1.Node) {
	converted, err := convert.Node(o)
	if err != nil {
		m.refuseObject(o.Name, o.Labels, err)
		return
	}
	m.setWhole(converted)
}

// refuseObject counts the pods of a node that does not convert, and closes it.
func (m *model) refuseObject(name string, labels map[string]string, err error) {
	m.refused.report(m.log, "Node", name, err.Error())
	m.setNode(name, convert.Bare(&stowagev1.Node{Name: name, Labels: labels}), nil)
}

func (m *model) nodeGone(name string) {
	m.refused.clear("Node", name)
	m.setNode(name, nil, nil)
}

func (m *model) namespaceSet(o *corev1.Namespace) {
	m.changed = m.spaces.apply(m, o.Name, convert.Namespace(o), nil) || m.changed
}

func (m *model) namespaceGone(o *corev1.Namespace) {
	m.changed = m.spaces.apply(m, o.Name, nil, nil) || m.changed
}

func (m *model) budgetSet(o *policyv1.PodDisruptionBudget) {
	m.aside = m.budgets.apply(m, keyOf(o), convert.PodDisruptionBudget(o), nil) || m.aside
}

func (m *model) budgetGone(o *policyv1.PodDisruptionBudget) {
	m.aside = m.budgets.apply(m, keyOf(o), nil, nil) || m.aside
}

// object returns the kind and the name of the workload that a selector belongs to.
func (k selectorKey) object() object {
	return object{map[stowagev1.WorkloadKind]string{
		stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE:                "Service",
		stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER: "ReplicationController",
		stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET:            "ReplicaSet",
		stowagev1.WorkloadKind_WORKLOAD_KIND_STATEFUL_SET:           "StatefulSet",
	}[k.kind], k.namespace + "/" + k.name}
}
