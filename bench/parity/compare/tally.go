package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Tally counts what cases exercised, to show that agreement is not vacuous.
type Tally struct {
	Cases, Different int
	// Decisions counts decisions on the cluster as it stands, and the next three how many found every candidate
	// feasible, some, and none.
	Decisions, All, Some, None int
	Placed, Unplaced           int
	// Refusals counts cases in which a reason occurs as the first of some node, or in which a plugin fails to score nodes,
	// Scores cases in which a plugin's scores differ between nodes.
	Refusals, Scores map[string]int
	// Nominated counts cases with nominated pods, and Decisive the cases in which they change kube-scheduler's decisions.
	Nominated, Decisive int
	Preemptions         Preemptions
	Queues              Queues
	Groups              Groups
	Running             Running
	Scenarios           Scenarios
	Drains              Drains
	Remedies            Remedies
	// Kinds counts differing cases by the kind of their first difference.
	Kinds map[string]int
}

// Add counts a case.
func (t *Tally) Add(r *Result) {
	if t.Refusals == nil {
		t.Refusals, t.Scores, t.Kinds = map[string]int{}, map[string]int{}, map[string]int{}
	}
	t.Cases++
	if len(r.Differences) > 0 {
		t.Different++
		t.Kinds[r.Differences[0].Kind]++
	}
	if r.WhatIf != nil || r.Drains != nil {
		return // they are counted
	}
	if r.Remedies != nil {
		t.Remedies.add(r.Remedies)
		return
	}
	if r.Queue != nil {
		t.Queues.Add(r.Queue)
		return
	}
	if r.Answers == nil {
		return
	}
	refusals, scores := map[string]bool{}, map[string]bool{}
	for i, f := range r.Answers.Filter {
		t.decision(f)
		for _, rejection := range f.Rejections {
			refusals[name(rejection.Plugin, "PLUGIN_")+": "+rejection.Reasons[0].Type.String()[len("REJECTION_REASON_"):]] = true
		}
		score := r.Answers.Score[i]
		if what, _, failed := strings.Cut(score.Message, ": "); failed && len(score.Nodes.Indexes) > 0 {
			refusals[what] = true
		}
		for _, column := range score.PluginScores {
			if s := column.WeightedScores; slices.Min(s) < slices.Max(s) {
				scores[name(column.Plugin, "PLUGIN_")] = true
			}
		}
	}
	t.Groups.add(r)
	t.Running.add(r.Running)
	t.Placed += int(r.Answers.Place.PlacedCount)
	t.Unplaced += int(r.Answers.Place.UnplacedCount)
	for k := range refusals {
		t.Refusals[k]++
	}
	for k := range scores {
		t.Scores[k]++
	}
}

// AddNominations counts what came of a case's nominated pods.
func (t *Tally) AddNominations(n Nominations) {
	if n != NoNominations {
		t.Nominated++
	}
	if n == DecisiveNominations {
		t.Decisive++
	}
}

// AddScenarios counts what happened in a case's scenarios or drains.
func (t *Tally) AddScenarios(c *scenario.Case, r *Result) {
	if len(r.WhatIf) > 0 {
		t.Scenarios.Cases++
		t.Scenarios.Add(c, r.WhatIf)
	}
	if r.Drains != nil {
		t.Drains.Add(c, r.Drains)
	}
}

// AddPreemptions counts a case's preemptions.
func (t *Tally) AddPreemptions(p Preemptions) {
	o := &t.Preemptions
	o.Found, o.Several, o.Ties = o.Found+p.Found, o.Several+p.Several, o.Ties+p.Ties
	o.Violating, o.Reprieved = o.Violating+p.Violating, o.Reprieved+p.Reprieved
	o.Ineligible, o.Fruitless = o.Ineligible+p.Ineligible, o.Fruitless+p.Fruitless
}

func (t *Tally) decision(f *stowagev1.FilterResponse) {
	t.Decisions++
	switch {
	case len(f.FeasibleNodes.Indexes) == 0:
		t.None++
	case len(f.Rejections) == 0:
		t.All++
	default:
		t.Some++
	}
}

func name(value fmt.Stringer, prefix string) string { return value.String()[len(prefix):] }

// Print writes the counts.
func (t *Tally) Print(w io.Writer) {
	fmt.Fprintf(w, "%d cases, %d different\n", t.Cases, t.Different)
	t.Queues.print(w)
	t.Scenarios.print(w)
	t.Drains.print(w)
	t.Remedies.print(w)
	t.Running.print(w)
	if t.Queues.Cases+t.Scenarios.Cases+t.Drains.Cases+t.Remedies.Cases == t.Cases {
		table(w, t.Cases, "first differences:", t.Kinds)
		return
	}
	fmt.Fprintf(w, "%d decisions: every node feasible %.1f %%, some %.1f %%, none %.1f %%; %d pods placed, %d not\n",
		t.Decisions, share(t.All, t.Decisions), share(t.Some, t.Decisions), share(t.None, t.Decisions), t.Placed, t.Unplaced)
	if t.Nominated > 0 {
		fmt.Fprintf(w, "%d cases with nominated pods, which change the answers in %.1f %%\n", t.Nominated, share(t.Decisive, t.Nominated))
	}
	if p := t.Preemptions; p.Found > 0 {
		fmt.Fprintf(w, "preemptions: %d with candidates, %d with several, %d with several best ones; %d with violated budgets, "+
			"%d with pods reprieved; %d without candidates, %d of pods that may not preempt\n",
			p.Found, p.Several, p.Ties, p.Violating, p.Reprieved, p.Fruitless, p.Ineligible)
	}
	if g := t.Groups; g.All > 0 {
		of := func(n int) float64 { return share(n, g.All) }
		fmt.Fprintf(w, "%d pod groups: %.1f %% placed, %.1f %% in part, %.1f %% not, %.1f %% end with an error; "+
			"%.1f %% with a topology, %.1f %% with several domains, %.1f %% with several best ones; %.1f %% with running pods\n",
			g.All, of(g.Complete), of(g.BestEffort), of(g.Infeasible), of(g.Failed),
			of(g.Topology), of(g.Several), of(g.Ties), of(g.Running))
		fmt.Fprintf(w, "%d of them preempt, %d groups as a whole, %d violate budgets, %d leave pods of lower priority; "+
			"%d wait for victims, %d find none, %d end with an error of preemption\n",
			g.Preempting, g.Whole, g.Violating, g.Kept, g.Ongoing, g.Fruitless, g.Erring)
	}
	table(w, t.Cases, "cases with a first refusal:", t.Refusals)
	table(w, t.Cases, "cases with scores that differ between nodes:", t.Scores)
	table(w, t.Cases, "first differences:", t.Kinds)
}

func table(w io.Writer, cases int, title string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "  %6.2f %%  %7d  %s\n", share(counts[k], cases), counts[k], k)
	}
}

func (o *Queues) print(w io.Writer) {
	if o.Cases == 0 {
		return
	}
	fmt.Fprintf(w, "%d queues of %d pods: %d attempts; %d pods placed at a later attempt, %d of them after a round of waiting; "+
		"%d fruitful rounds; %d pods not placed, %d placed and evicted, %d never attempted\n",
		o.Cases, o.Pods, o.Attempts, o.Retried, o.LaterRounds, o.Fruitful, o.Unplaced, o.Evicted, o.Gated)
	fmt.Fprintf(w, "%d preemptions with %d victims: %d of pods of the queue, %d in vain, %d with violated budgets\n",
		o.Preemptions, o.Victims, o.Chained, o.Vain, o.Violating)
}

func (o *Scenarios) print(w io.Writer) {
	if o.All == 0 {
		return
	}
	fmt.Fprintf(w, "%d scenarios: %d with a queue of kube-scheduler, %d with a delta, %d with cordoned nodes, %d with evictions, "+
		"%d of them of pods that terminate, %d with removed nodes, %d stopped\n",
		o.All, o.Whole, o.Deltas, o.Cordons, o.Evictions, o.Terminating, o.Removals, o.Stopped)
	fmt.Fprintf(w, "%d pods came back, %d of them after a preemption, %d were placed, %d entries are unknown; %d pods placed, %d not; %d preemptions\n",
		o.Requeued, o.PreemptedAgain, o.PlacedAgain, o.Unknown, o.Placed, o.Unplaced, o.Preemptions)
}

func (o *Drains) print(w io.Writer) {
	if o.Cases == 0 {
		return
	}
	fmt.Fprintf(w, "%d cases drain nodes: %d each alone, %d together, %d the largest set; %d with a queue of kube-scheduler, "+
		"%d with pods that terminate\n", o.Cases, o.Each, o.Together, o.Largest, o.Whole, o.Terminating)
	fmt.Fprintf(w, "%d drains: %d end well, %d leave pods without a node, %d are blocked; %d of several rounds, %d pods placed, "+
		"%d stay, %d preempted\n", o.All, o.Drained, o.Unplaced, o.Blocked, o.Rounds, o.Moved, o.Staying, o.Preempted)
}

func share(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
