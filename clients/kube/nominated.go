package kube

import corev1 "k8s.io/api/core/v1"

// nomination is a pending pod with a nominated node, which may not be in the cluster.
type nomination struct {
	at     string
	object Origin
	pod    *corev1.Pod
	// misread is why the pod does not convert as a pending one.
	misread *Misread
}

// nominate puts the nominated pods on the nodes that the cluster has. kube-scheduler counts pending pods that are being
// deleted, too (pkg/scheduler/backend/queue/nominator.go, v1.37).
func (b *Builder) nominate() {
	for _, n := range b.nominated {
		i, known := b.nodeIndex[n.pod.Status.NominatedNodeName]
		if !known {
			continue
		}
		by := &admission{}
		if b.admission.concerns(n.pod) {
			by = &b.admission
		}
		if _, rejected := by.stored(n.pod); rejected != nil {
			continue // there will be no such pod
		}
		converted := by.running(n.pod)
		if err := converted.err(); err != nil {
			if n.misread == nil {
				n.misread = b.note(n.at, n.object, false, err)
			}
			n.misread.OwnPods = false // it counts for others
		}
		if converted.Amounts != nil {
			b.closed[n.pod.Status.NominatedNodeName] = true
		}
		b.places[converted.Pod] = place{at: n.at}
		b.converted[i].NominatedPods = append(b.converted[i].NominatedPods, converted.Pod)
	}
}

// close closes the nodes with pods whose amounts are not known.
func (b *Builder) close() {
	for name := range b.closed {
		if i, ok := b.nodeIndex[name]; ok {
			Close(b.converted[i])
		}
	}
}
