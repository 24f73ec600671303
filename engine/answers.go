package engine

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/memo"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Bounds of the cached answers of a cluster, in bytes, per cluster and per node. An answer takes 4 bytes a node.
const (
	answersRemembered        = 2 << 20
	answersRememberedPerNode = 2048
)

// answers is the cache of answers by FilterOptions.Key.
type answers = memo.Map[string, *answer]

func newAnswers(nodes int) *answers {
	return memo.New[string, *answer](answersRemembered + int64(nodes)*answersRememberedPerNode)
}

// answer is the result of filtering for one pod. It is immutable.
type answer struct {
	feasible   []uint32
	rejections []verdict.Rejection
	message    string
}

// messageFor returns kube-scheduler's event text for an unplaced pod, including failures to score it.
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
