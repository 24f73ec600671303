package words

import (
	"fmt"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// doubtWords are the words for one kind of doubt.
type doubtWords struct {
	// title is above the list of doubts.
	title string
	// one and many complete "because 1 ..." and "because 2 ...".
	one, many string
	// why is the reason of a doubt.
	why func(*stowagev1.Doubt) string
}

// doubtKinds are the words for all kinds of doubts.
var doubtKinds = map[stowagev1.DoubtKind]doubtWords{
	stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD: {
		"Not read, so kube-scheduler might decide otherwise:", "field is not read", "fields are not read",
		func(d *stowagev1.Doubt) string { return d.GetUnread().GetConsequence() },
	},
	stowagev1.DoubtKind_DOUBT_KIND_OTHER_SCHEDULER: {
		"Decided by other schedulers:", "pod is decided by another scheduler", "pods are decided by other schedulers",
		func(d *stowagev1.Doubt) string { return "the scheduler is " + d.GetName() },
	},
	stowagev1.DoubtKind_DOUBT_KIND_POD_GROUP: {
		"Decided as single pods, although kube-scheduler decides pod groups as a whole:", "member of a pod group is decided as a single pod",
		"members of pod groups are decided as single pods",
		func(d *stowagev1.Doubt) string { return "in pod group " + d.GetName() },
	},
	stowagev1.DoubtKind_DOUBT_KIND_PREEMPTED: {
		"Preempted and not placed again:", "preempted pod is not placed again", "preempted pods are not placed again",
		func(*stowagev1.Doubt) string { return "the replacement of the pod may stay pending" },
	},
	stowagev1.DoubtKind_DOUBT_KIND_ASSUMED_READY: {
		"Assumed to be ready:", "pod is assumed to be ready", "pods are assumed to be ready",
		func(*stowagev1.Doubt) string {
			return "the input does not specify whether the pod is ready, which its PodDisruptionBudget depends on"
		},
	},
	stowagev1.DoubtKind_DOUBT_KIND_LIMIT: {
		"Not simulated to the end:", "pod is not decided because of a limit", "pods are not decided because of a limit",
		func(*stowagev1.Doubt) string { return "a limit ended the simulation" },
	},
	stowagev1.DoubtKind_DOUBT_KIND_DEVICES_NOT_DECIDED: {
		"Devices not decided:", "pod was rejected from nodes whose devices are not decided", "pods were rejected from nodes whose devices are not decided",
		func(*stowagev1.Doubt) string {
			return "a search for devices met its limit, or an expression that was not evaluated for a device"
		},
	},
}

// wordsOf returns the words for a kind, which a newer server may have added.
func wordsOf(kind stowagev1.DoubtKind) doubtWords {
	if words, ok := doubtKinds[kind]; ok {
		return words
	}
	return doubtWords{
		fmt.Sprintf("Not decided (%v):", kind), "pod is not decided", "pods are not decided",
		func(d *stowagev1.Doubt) string { return d.GetName() },
	}
}

// Doubts are the doubts of an answer, each once, with the names of their pods.
type Doubts struct {
	kinds []stowagev1.DoubtKind // as they come
	of    map[stowagev1.DoubtKind]*doubtsOfKind
}

type doubtsOfKind struct {
	reasons []string
	objects map[string][]string // by reason
	seen    map[string]bool
}

// Add adds doubts. name returns the name of a pod.
func (l *Doubts) Add(doubts []*stowagev1.Doubt, name func(*stowagev1.PodReference) string) {
	for _, d := range doubts {
		object := name(d.GetPod())
		if u := d.GetUnread(); u != nil {
			object = u.GetObject() + " " + u.GetField()
		}
		l.add(d.GetKind(), object, wordsOf(d.GetKind()).why(d))
	}
}

func (l *Doubts) add(kind stowagev1.DoubtKind, object, why string) {
	if l.of == nil {
		l.of = map[stowagev1.DoubtKind]*doubtsOfKind{}
	}
	of := l.of[kind]
	if of == nil {
		of = &doubtsOfKind{objects: map[string][]string{}, seen: map[string]bool{}}
		l.kinds, l.of[kind] = append(l.kinds, kind), of
	}
	if of.seen[object] {
		return
	}
	of.seen[object] = true
	if !slices.Contains(of.reasons, why) {
		of.reasons = append(of.reasons, why)
	}
	of.objects[why] = append(of.objects[why], object)
}

// Empty reports whether there are no doubts.
func (l *Doubts) Empty() bool { return len(l.kinds) == 0 }

// Counts returns how many doubts there are, by kind, such as "2 fields are not read".
func (l *Doubts) Counts() []string {
	var out []string
	for _, kind := range l.kinds {
		words, n := wordsOf(kind), len(l.of[kind].seen)
		if n == 1 {
			out = append(out, "1 "+words.one)
		} else {
			out = append(out, fmt.Sprint(n, " ", words.many))
		}
	}
	return out
}

// KindOfDoubts are the doubts of a kind.
type KindOfDoubts struct {
	// Title is above the lines.
	Title string
	// Lines are the names of the objects with a reason, a line for each reason.
	Lines []string
}

// Kinds returns the doubts by kind.
func (l *Doubts) Kinds() []KindOfDoubts {
	var out []KindOfDoubts
	for _, kind := range l.kinds {
		out = append(out, KindOfDoubts{wordsOf(kind).title, l.linesOf(kind)})
	}
	return out
}

// Lines returns a line for each kind and reason.
func (l *Doubts) Lines() []string {
	var out []string
	for _, kind := range l.Kinds() {
		for _, line := range kind.Lines {
			out = append(out, kind.Title+" "+line)
		}
	}
	return out
}

func (l *Doubts) linesOf(kind stowagev1.DoubtKind) []string {
	var out []string
	of := l.of[kind]
	for _, why := range of.reasons {
		line := Names(of.objects[why])
		if why != "" {
			line += ": " + why
		}
		out = append(out, line)
	}
	return out
}
