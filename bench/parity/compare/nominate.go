package compare

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/compact"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// notNominated is the pod without its nominated node, which clients/kube would report as a field that the contract lacks.
func notNominated(pod *corev1.Pod) *corev1.Pod {
	if pod.Status.NominatedNodeName == "" {
		return pod
	}
	pod = pod.DeepCopy()
	pod.Status.NominatedNodeName = ""
	return pod
}

// nominate states the nominated pods of the nodes, and the nominated nodes of the queue's pods.
func nominate(cluster *stowagev1.Cluster, entries []*stowagev1.PendingPods, queue, nominated []*corev1.Pod) error {
	nodes := make(map[string]*stowagev1.Node, len(cluster.Nodes))
	for _, n := range cluster.Nodes {
		nodes[n.Name] = n
	}
	templates, err := compact.NewTemplates(cluster.PodTemplates)
	if err != nil {
		return err
	}
	state := func(pod *corev1.Pod) error {
		n := nodes[pod.Status.NominatedNodeName]
		if n == nil {
			return nil
		}
		out, err := kube.PendingPod(notNominated(pod))
		if err != nil {
			return err
		}
		n.NominatedPods = append(n.NominatedPods, out)
		return templates.Share(out)
	}
	if err := addAll(state, nominated); err != nil {
		return err
	}
	for _, i := range scenario.Nominations(queue, nominated) {
		if err := state(queue[i]); err != nil {
			return err
		}
	}
	for i, pod := range queue {
		entries[i].Pod.NominatedNodeName = pod.Status.NominatedNodeName
	}
	cluster.PodTemplates = templates.List()
	return nil
}
