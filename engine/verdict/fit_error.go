package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// FitError returns kube-scheduler's event text for a pod without feasible nodes (pkg/scheduler/framework/types.go
// FitError, v1.37): the number of nodes by reason, sorted as text.
func FitError(nodes int, rejections []Rejection) string {
	counts := make(map[string]int)
	for _, r := range rejections {
		for _, reason := range r.Reasons {
			counts[reason.Message] += len(r.Nodes)
		}
	}
	reasons := make([]string, 0, len(counts))
	for message, n := range counts {
		reasons = append(reasons, fmt.Sprintf("%d %s", n, message))
	}
	slices.Sort(reasons)
	text := fmt.Sprintf("0/%d nodes are available:", nodes)
	if len(reasons) > 0 {
		text += " " + strings.Join(reasons, ", ") + "."
	}
	return text
}

// PodError returns kube-scheduler's event text for a pod that is rejected as a whole, before any node is evaluated.
func PodError(nodes int, reason Reason) string {
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, reason.Message)
}
