package cli

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// onePod is a request about one pod.
type onePod struct {
	question
	Pod string `placeholder:"NAME" help:"The pending pod, by its name or its workload's. Needed if there are several."`
}

// ask puts a question about the pod. notQueued returns the answer if kube-scheduler does not queue it.
func (q *onePod) ask(s *session, code *answered, notQueued func(message string, unread []*stowagev1.UnreadField) proto.Message,
	put func(*asked, *stowagev1.DecisionContext, *stowagev1.Pod) (proto.Message, error),
) error {
	return q.question.ask(s, func(a *asked) error {
		entry, alike, err := q.entry(a.snapshot)
		if err == nil && alike > 1 {
			fmt.Fprintf(s.stderr, "stowage: the first of %d pods of %s: %s\n", alike, q.Pod, entry.Pods.Pod.Name)
		}
		if by, ok := a.snapshot.StatedBy(entry); err == nil && ok {
			by.Count = alike
			err = q.review(a, []kube.Stated{by}, q.tellsFindings())
		}
		return err
	}, func(a *asked) (proto.Message, error) {
		entry, _, err := q.entry(a.snapshot)
		if err != nil {
			return nil, err
		}
		pod := entry.Pods.Pod
		if entry.Message != "" {
			*code = exitNo
			return nil, q.notTried(s, a, entry, notQueued(entry.Message, pod.Unread))
		}
		return put(a, a.about(a.snapshot.Cluster), pod)
	})
}

// entry returns the pod, unless it does not convert, and the number of pods alike.
func (q *onePod) entry(snapshot *kube.Snapshot) (kube.Entry, int, error) {
	entry, alike, err := snapshot.Pending(q.Pod)
	if err == nil && entry.Misread != nil {
		err = entry.Misread
	}
	return entry, alike, err
}

// about returns the context of a question about a pod.
func (a *asked) about(cluster *stowagev1.Cluster) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}, Profile: a.scheduler.Profile, IncludeNodeNames: true,
	}
}
