package engine

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/memo"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Bounds of the answers that a cluster remembers, in bytes: some for every cluster and some for each node. An answer
// takes 4 bytes a node.
const (
	answersRemembered        = 2 << 20
	answersRememberedPerNode = 2048
)

// answers are what a cluster remembers by FilterOptions.Key.
type answers = memo.Map[string, *answer]

func newAnswers(nodes int) *answers {
	return memo.New[string, *answer](answersRemembered + int64(nodes)*answersRememberedPerNode)
}

// answer is what filtering came to for one pod. It is immutable.
type answer struct {
	feasible   []uint32
	rejections []verdict.Rejection
	message    string
}

// messageFor returns kube-scheduler's event text for a pod that is not placed, which it may fail to score.
func (a *answer) messageFor(f *decide.Framework, pod *api.Pod) string {
	if len(a.feasible) > 1 {
		if failure := f.PreScoreFailure(&pod.Template.Spec); failure != nil {
			return failure.Message
		}
	}
	return a.message
}

func (a *answer) bytes() int64 {
	bytes := 4*cap(a.feasible) + len(a.message)
	for _, r := range a.rejections {
		bytes += 128 + 4*cap(r.Nodes)
		for _, reason := range r.Reasons {
			bytes += 64 + len(reason.Message)
		}
	}
	return int64(bytes)
}
