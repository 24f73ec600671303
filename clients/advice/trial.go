package advice

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumTrials bounds the changes of claims that are played.
const maximumTrials = 24

// trial is a change of the cluster, or of the first pod in question, that is advice if it gives this pod a node.
type trial struct {
	Advice
	delta *stowagev1.ClusterDelta
	pod   *stowagev1.Pod // instead of the pod; nil for the pod as it is
	// evicted are pods that leave their nodes.
	evicted []kube.OnNode
	// added says that the node is a new one, which the text names.
	added bool
}

// try plays trials, each with the queue, and returns the advice that helps.
func (q *Question) try(ctx context.Context, trials []trial) ([]Advice, error) {
	var scenarios []*stowagev1.Scenario
	at := 0
	trials = trials[:min(len(trials), maximumTrials)]
	for i := range trials {
		var s *stowagev1.Scenario
		s, at = q.unchanged(trials[i].pod)
		s.Delta = trials[i].delta
		q.evict(s, trials[i].evicted...)
		scenarios = append(scenarios, s)
	}
	answers, err := q.play(ctx, q.Mode, scenarios...)
	if err != nil {
		return nil, err
	}
	var out []Advice
	for i, a := range answers {
		if nodes := a.GetPlacement().GetPlacements()[at].GetNodes().GetNames(); len(nodes) > 0 {
			t := &trials[i]
			if !t.added {
				t.Text += fmt.Sprintf("; %s would take it", nodes[0])
			}
			out = append(out, t.Advice)
		}
	}
	return out, nil
}

// unchanged is a scenario with the queue as it is, and the entry of the first pod in question in it. Another pod may stand for it.
func (q *Question) unchanged(pod *stowagev1.Pod) (*stowagev1.Scenario, int) {
	out, at := &stowagev1.Scenario{PodGroups: q.Snapshot.PodGroups}, -1
	first := q.Pods[0].Pods
	if pod != nil {
		first = compact.Shallow(first)
		first.Pod = pod
	}
	add := func(e *kube.Entry) {
		if e.Pods != q.Pods[0].Pods {
			out.Queue = append(out.Queue, e.Pods)
			return
		}
		at, out.Queue = len(out.Queue), append(out.Queue, first)
	}
	for i := range q.Snapshot.Queue {
		add(&q.Snapshot.Queue[i])
	}
	if at < 0 {
		add(&q.Pods[0])
	}
	return out, at
}

// withTemplates returns the first pod in question with changed claim templates; nil if it has none that change.
func (q *Question) withTemplates(change func(*stowagev1.PersistentVolumeClaimSpec) bool) *stowagev1.Pod {
	pod := q.Pods[0].Pods.GetPod()
	template := proto.CloneOf(compact.Template(q.Snapshot.Cluster, pod))
	changed := false
	for _, v := range template.GetSpec().GetVolumes() {
		for _, t := range []*stowagev1.PersistentVolumeClaimSpec{
			v.GetPersistentVolumeClaim().GetClaimTemplate(), v.GetEphemeral().GetClaimTemplate(),
		} {
			changed = t != nil && change(t) || changed
		}
	}
	if !changed {
		return nil
	}
	out := compact.Shallow(pod)
	out.Source = &stowagev1.Pod_Template{Template: template}
	return out
}
