package audit

import (
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// cordoned finds cordoned nodes: a drain or a repair that has not ended, or that nobody reverted. The pods of DaemonSets stay on a node that is
// drained, and do not count.
func (a *audit) cordoned() {
	staying := make([]int, len(a.nodes))
	for _, p := range a.pods {
		if _, daemon := object.OfDaemonSet(p.object); !daemon {
			staying[p.node]++
		}
	}
	for i, n := range a.nodes {
		if !n.Spec.Unschedulable {
			continue
		}
		message := "it is cordoned and drained"
		if staying[i] > 0 {
			message = "it is cordoned, with " + words.Plural(staying[i], "pod") + " that no DaemonSet created"
		}
		a.found = append(a.found, review.Finding{
			Severity: review.Note, Rule: Cordoned, Object: review.Object{Kind: "Node", Name: n.Name}, Field: "spec.unschedulable",
			Message: message, Nodes: []string{n.Name},
		})
	}
}
