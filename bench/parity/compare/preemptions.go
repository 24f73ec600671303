package compare

import (
	corev1 "k8s.io/api/core/v1"
	priority "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Preemptions counts preemptions on clusters as they stand, by result.
type Preemptions struct {
	// Found have candidates, Several more than one, and Ties several best ones. Violating have a candidate that violates
	// budgets, Reprieved one on which a pod of lower priority stays.
	Found, Several, Ties, Violating, Reprieved int
	// Ineligible pods may not preempt; the Fruitless may, and have no candidate.
	Ineligible, Fruitless int
}

// PreemptionsOf counts the preemptions of a case.
func PreemptionsOf(c *scenario.Case, answers *conformance.Answers) Preemptions {
	var out Preemptions
	for i, answer := range answers.Preempt {
		if p := answer.Preemption; p != nil {
			out.add(c, p, lower(c, c.Queue[i].Pod))
		}
	}
	return out
}

// lower is how many pods of lower priority each node has.
func lower(c *scenario.Case, than *corev1.Pod) map[string]int {
	out := map[string]int{}
	for _, p := range c.Pods {
		if priority.PodPriority(p) < priority.PodPriority(than) {
			out[p.Spec.NodeName]++
		}
	}
	return out
}

func (o *Preemptions) add(in *scenario.Case, p *stowagev1.Preemption, lower map[string]int) {
	violating, reprieved := false, false
	for _, c := range p.Candidates {
		violating = violating || c.PdbViolations > 0
		reprieved = reprieved || len(c.Victims) < lower[in.Nodes[c.NodeIndex].Name]
	}
	count := func(n *int, when bool) {
		if when {
			*n++
		}
	}
	count(&o.Found, len(p.Candidates) > 0)
	count(&o.Several, len(p.Candidates) > 1)
	count(&o.Ties, len(p.BestNodes.GetIndexes()) > 1)
	count(&o.Violating, violating)
	count(&o.Reprieved, reprieved)
	count(&o.Ineligible, len(p.Candidates)+len(p.Rejections) == 0)
	count(&o.Fruitless, len(p.Candidates) == 0 && len(p.Rejections) > 0)
}
