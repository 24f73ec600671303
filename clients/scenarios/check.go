package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Check compares a response with the expectations of its step, and returns the differences, none if the step holds.
func Check(q *Question, a *Answer) []string {
	k := &checker{q: q}
	switch {
	case q.Filter != nil:
		k.filter(q.Step.Filter, a.Filter)
	case q.Score != nil:
		k.score(q.Step.Score, a.Score)
	case q.Preempt != nil:
		k.preempt(q.Step.Preempt, a.Preempt)
	case q.ScaleDown != nil:
		k.scaleDown(q.Step.ScaleDown, a.ScaleDown)
	default:
		k.place(a.Place)
		k.evictions(a.Place)
		k.groups(a.Place)
	}
	return k.differences
}

type checker struct {
	q           *Question
	differences []string
}

// same adds a difference unless the values are equal; empty and absent lists are equal.
func (k *checker) same(what string, want, got any) {
	if !gocmp.Equal(want, got, cmpopts.EquateEmpty()) {
		k.differences = append(k.differences, fmt.Sprintf("%s: want %v, got %v", what, want, got))
	}
}

func (k *checker) place(a *stowagev1.PlaceResponse) {
	names := slices.Sorted(maps.Keys(k.q.Step.Place))
	for _, name := range names {
		want := k.q.Step.Place[name]
		var nodes []string
		var unplaced, evicted int
		var attempts uint64
		var message string
		var explanation *stowagev1.Explanation
		var changes []*stowagev1.Change
		var preemption *stowagev1.Preemption
		found := false
		for i, e := range k.q.Snapshot.Queue {
			if e.Origin.Name != name || i >= len(a.GetPlacements()) {
				continue
			}
			found = true
			p := a.Placements[i]
			nodes = append(nodes, p.GetNodes().GetNames()...)
			if unplaced == 0 {
				message, explanation, changes, preemption = p.GetMessage(), p.GetExplanation(), p.GetChanges(), p.GetPreemption()
			}
			unplaced += int(p.GetUnplacedCount())
			evicted += int(p.GetEvictedCount())
			attempts += p.GetAttemptCount()
		}
		if !found {
			k.differences = append(k.differences, name+": is not in the queue")
			continue
		}
		domains := k.domains(nodes)
		if want.Placed != nil {
			k.same(name+": placed", *want.Placed, len(nodes))
		}
		if want.Unplaced != nil {
			k.same(name+": unplaced", *want.Unplaced, unplaced)
		}
		if want.Evicted != nil {
			k.same(name+": evicted", *want.Evicted, evicted)
		}
		if want.Attempts != nil {
			k.same(name+": attempts", *want.Attempts, attempts)
		}
		if want.Spread != nil {
			k.same(name+": spread", *want.Spread, spread(domains))
		}
		if want.Domains != nil {
			maps.DeleteFunc(domains, func(_ string, n int) bool { return n == 0 })
			wanted := maps.Clone(want.Domains)
			maps.DeleteFunc(wanted, func(_ string, n int) bool { return n == 0 })
			k.same(name+": domains", wanted, domains)
		}
		if want.Nodes != nil {
			k.same(name+": nodes", want.Nodes, nodes)
		}
		if want.Message != nil {
			k.same(name+": message", *want.Message, message)
		}
		k.explanation(name+": explanation", want.Explanation, explanation)
		k.changes(name+": changes", want.Changes, changes)
		k.preemption(name+": preemption", want.Preemption, preemption)
	}
}

// evictions compares the evictions.
func (k *checker) evictions(a *stowagev1.PlaceResponse) {
	if k.q.Step.Evictions == nil {
		return
	}
	var got []string
	for _, e := range a.GetEvictions() {
		var victims []string
		for _, v := range e.GetVictims() {
			victims = append(victims, k.podName(v))
		}
		if group := e.GetPodGroup(); group != "" {
			got = append(got, fmt.Sprintf("%s evicts %s", group, strings.Join(victims, ", ")))
			continue
		}
		got = append(got, fmt.Sprintf("%s evicts %s from %s", k.q.Snapshot.Queue[e.GetQueueIndex()].Origin.Name,
			strings.Join(victims, ", "), k.q.Snapshot.Cluster.Nodes[e.GetNodeIndex()].Name))
	}
	k.same("evictions", *k.q.Step.Evictions, got)
}

// domains counts pods by their node's value of the case's topology key, including domains without pods.
func (k *checker) domains(nodes []string) map[string]int {
	out, of := map[string]int{}, map[string]string{}
	for _, n := range k.q.Snapshot.Cluster.Nodes {
		if value, ok := compact.Labels(k.q.Snapshot.Cluster, n)[k.q.Case.TopologyKey]; ok {
			out[value], of[n.Name] = 0, value
		}
	}
	for _, n := range nodes {
		out[of[n]]++
	}
	return out
}

func spread(domains map[string]int) string {
	counts := slices.SortedFunc(maps.Values(domains), func(a, b int) int { return cmp.Compare(b, a) })
	var out []string
	for _, n := range counts {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, "/")
}

func (k *checker) filter(want *Filter, a *stowagev1.FilterResponse) {
	if want.Feasible != nil {
		k.same("feasible", *want.Feasible, a.GetFeasibleNodes().GetNames())
	}
	if want.Refused != nil {
		k.same("refused", want.Refused, byReason(a.GetRejections()))
	}
	if want.Message != nil {
		k.same("message", *want.Message, a.GetMessage())
	}
	k.explanation("explanation", want.Explanation, a.GetExplanation())
	k.changes("changes", want.Changes, a.GetChanges())
	if want.Remedy != nil {
		k.changes("remedy", []string{*want.Remedy}, a.GetChanges()[:min(1, len(a.GetChanges()))])
	}
	k.preemption("preemption", want.Preemption, a.GetPreemption())
}

func (k *checker) preemption(what string, want *Preemption, got *stowagev1.Preemption) {
	if want == nil {
		return
	}
	var best []string
	for _, i := range got.GetBestNodes().GetIndexes() {
		best = append(best, k.q.Snapshot.Cluster.Nodes[i].Name)
	}
	k.same(what+": best", want.Best, best)
	k.same(what+": victims", want.Victims, k.podNames(got.GetNominated().GetVictims()))
	k.same(what+": violations", want.Violations, int(got.GetNominated().GetPdbViolations()))
	if want.Refused != nil {
		k.same(what+": refused", want.Refused, byReason(got.GetRejections()))
	}
}

// changes compares the changes that would place a pod with the expected ones, in the command line's words.
func (k *checker) changes(what string, want []string, got []*stowagev1.Change) {
	if want == nil {
		return
	}
	x := words.Explanation{Cluster: k.q.Snapshot.Cluster, PodName: k.podName}
	var changes []string
	for _, c := range got {
		changes = append(changes, x.Change(c))
	}
	k.same(what, want, changes)
}

func byReason(rejections []*stowagev1.Rejection) map[string][]string {
	out := map[string][]string{}
	for _, r := range rejections {
		for _, reason := range r.Reasons {
			out[reason.Message] = append(out[reason.Message], r.GetNodes().GetNames()...)
		}
	}
	for _, nodes := range out {
		slices.Sort(nodes)
	}
	return out
}

func (k *checker) score(want *Score, a *stowagev1.ScoreResponse) {
	if want.Best != nil {
		k.same("best", want.Best, a.GetBestNodes().GetNames())
	}
	got := map[string]map[string]int64{}
	for _, p := range a.GetPluginScores() {
		column := map[string]int64{}
		for i, name := range a.GetNodes().GetNames() {
			column[name] = p.WeightedScores[i]
		}
		got[words.Plugin(p.Plugin)] = column
	}
	for _, plugin := range slices.Sorted(maps.Keys(want.Scores)) {
		k.same(plugin, want.Scores[plugin], got[plugin])
	}
	for _, plugin := range want.Skipped {
		if _, ok := got[plugin]; ok {
			k.differences = append(k.differences, plugin+": gave scores")
		}
	}
}
