package scenarios

import stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"

func (k *checker) preempt(want *Preempt, a *stowagev1.PreemptResponse) {
	k.preemption("preemption", want.Preemption, a.GetPreemption())
	if want.Safe != nil {
		k.safe(want.Safe, a.GetSafe())
	}
	if w, got := want.AcrossNodes, a.GetAcrossNodes(); w != nil {
		k.same("across nodes: node", w.Node, got.GetCandidate().GetNodeName())
		k.same("across nodes: victims", w.Victims, k.podNames(got.GetCandidate().GetVictims()))
		k.same("across nodes: violations", w.Violations, int(got.GetCandidate().GetPdbViolations()))
		k.same("across nodes: proven", true, got.GetProven())
	}
}

func (k *checker) safe(want *Safe, got *stowagev1.SafePreemption) {
	k.same("safe: node", want.Node, got.GetCandidate().GetNodeName())
	k.same("safe: victims", want.Victims, k.podNames(got.GetCandidate().GetVictims()))
	nodes, texts := map[string][]string{}, map[string]string{}
	for _, r := range got.GetReplacements() {
		nodes[k.podName(r.GetPod())] = r.GetNodes().GetNames()
	}
	for _, r := range got.GetUnsafe() {
		texts[k.podName(r.GetPod())] = r.GetMessage()
	}
	k.same("safe: replacements", want.Replacements, nodes)
	k.same("safe: unsafe", want.Unsafe, texts)
}

func (k *checker) podNames(pods []*stowagev1.PodReference) (out []string) {
	for _, p := range pods {
		out = append(out, k.podName(p))
	}
	return out
}
