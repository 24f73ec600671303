package cli

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// onePod is a request about one pod.
type onePod struct {
	question
	Pod string `placeholder:"NAME" help:"The pending pod: NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME of the pod or its workload. Required if several pods are pending."`
}

// ask puts a question about the pod. notQueued returns the answer if kube-scheduler does not queue it.
func (q *onePod) ask(s *session, code *answered, notQueued func(message string, doubts []*stowagev1.Doubt) proto.Message,
	put func(*asked, *stowagev1.DecisionContext, *stowagev1.Pod) (proto.Message, error),
) error {
	return q.question.ask(s, func(a *asked) error {
		entries, err := q.entries(a.snapshot)
		if err != nil {
			return err
		}
		alike := podCount(entries)
		if len(entries) > 1 {
			quote.Fprintf(s.stderr, "stowage: the first of %d pods of %s: %s\n", alike, cmp.Or(q.Pod, entries[0].Workload.String()), entries[0].Pods.Pod.Name)
		}
		if by, ok := a.snapshot.StatedBy(entries[0]); ok {
			by.Count = alike
			return q.review(a, []kube.Stated{by}, q.tellsFindings())
		}
		return nil
	}, func(a *asked) (proto.Message, error) {
		entries, err := q.entries(a.snapshot)
		if err != nil {
			return nil, err
		}
		entry := entries[0]
		pod := entry.Pods.Pod
		if entry.Message != "" {
			answer := notQueued(entry.Message, kube.UnreadDoubts(pod.Unread, 0))
			q.doubt(a.snapshot, entry.Origin.String(), answer)
			*code = q.verdict(s, a.snapshot, false)
			return nil, q.notTried(s, a, entry, answer)
		}
		request, err := put(a, a.about(a.snapshot.Cluster), pod)
		if err == nil && s.command != "explain" { // which reckons with them
			a.tellOthers(otherPods(a.snapshot, entry))
		}
		return request, err
	})
}

// entries returns the entries of the pods that --pod names. The first one is the pod in question, and converts.
func (q *onePod) entries(snapshot *kube.Snapshot) ([]kube.Entry, error) {
	entries, err := snapshot.Pending(q.Pod)
	if err == nil && entries[0].Misread != nil {
		err = entries[0].Misread
	}
	return entries, err
}

// podCount returns the number of pods of entries.
func podCount(entries []kube.Entry) int {
	n := 0
	for _, e := range entries {
		n += int(e.Pods.PodCount())
	}
	return n
}

// about returns the context of a question about a pod.
func (a *asked) about(cluster *stowagev1.Cluster) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}, Profile: a.scheduler.Profile, IncludeNodeNames: true,
	}
}

// podOf names the pod of a question.
func podOf(snapshot *kube.Snapshot, pod *stowagev1.Pod) string {
	for _, e := range slices.Concat(snapshot.Queue, snapshot.Waiting, snapshot.Others) {
		if e.Pods.GetPod() == pod {
			return e.Origin.String()
		}
	}
	return "Pod " + pod.GetName()
}
