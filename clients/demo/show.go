package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/preempt"
	"github.com/stowage-scheduler/stowage/clients/answer/scaledown"
	"github.com/stowage-scheduler/stowage/clients/answer/score"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/scenarios"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// width is the width of the output, in columns.
const width = 100

// show renders the demo.
type show struct {
	w   io.Writer
	ink text.Ink
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
}

// scenario runs and shows every step of a case, and reports whether all of them hold.
func (s *show) scenario(ctx context.Context, c *scenarios.Case, decide scenarios.Decider) (bool, error) {
	number, _, _ := strings.Cut(c.Name(), "-")
	heading := fmt.Sprintf("── %s  %s ", number, c.Title)
	heading += strings.Repeat("─", max(0, width-utf8.RuneCountInString(heading)))
	fmt.Fprintf(s.w, "\n%s\n", s.ink.Bold(heading))
	held := true
	for i := 0; i < len(c.Steps); i++ {
		q, a, err := runStep(ctx, c, i, decide)
		if err != nil {
			return false, err
		}
		if i+1 < len(c.Steps) && c.Steps[i+1].Beside && q.Place != nil {
			i++
			otherQ, otherA, err := runStep(ctx, c, i, decide)
			if err != nil {
				return false, err
			}
			s.beside([2]*scenarios.Question{q, otherQ}, [2]*scenarios.Answer{a, otherA})
			held = s.differences(q, a) && held
			held = s.differences(otherQ, otherA) && held
			continue
		}
		if i == 0 && q.Place == nil && holdsPods(q.Snapshot.Cluster) {
			fmt.Fprintln(s.w)
			p := text.Picture{Cluster: q.Snapshot.Cluster, TopologyKey: c.TopologyKey, Width: width}
			p.Draw(s.w)
		}
		s.step(q, a)
		held = s.differences(q, a) && held
	}
	mark := s.ink.Good("✓")
	if !held {
		mark = s.ink.Bad("✗")
	}
	fmt.Fprintln(s.w)
	text.WriteWrapped(s.w, "", mark+" "+c.Why, width)
	return held, nil
}

// runStep runs one step of a case, and returns its question and answer.
func runStep(ctx context.Context, c *scenarios.Case, i int, decide scenarios.Decider) (*scenarios.Question, *scenarios.Answer, error) {
	q, err := scenarios.Ask(c, &c.Steps[i])
	if err != nil {
		return nil, nil, err
	}
	a, err := decide(ctx, q)
	return q, a, err
}

// differences shows the unmet expectations, and reports whether there are none.
func (s *show) differences(q *scenarios.Question, a *scenarios.Answer) bool {
	all := scenarios.Check(q, a)
	for _, difference := range all {
		fmt.Fprintf(s.w, "  %s\n", s.ink.Bad("✗ "+difference))
	}
	return len(all) == 0
}

// beside shows two placements side by side, and the details of each below.
func (s *show) beside(q [2]*scenarios.Question, a [2]*scenarios.Answer) {
	const half = (width - 3) / 2
	var columns [2][]string
	for i := range q {
		var b strings.Builder
		text.DrawPlace(&b, place.New(q[i].Snapshot, q[i].Case.TopologyKey, a[i].Place), text.Style{Width: half})
		columns[i] = append([]string{q[i].Step.Name}, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")...)
	}
	fmt.Fprintln(s.w)
	for i := range max(len(columns[0]), len(columns[1])) {
		var cells [2]string
		for side, lines := range columns {
			if i < len(lines) {
				cells[side] = lines[i]
			}
		}
		cells[0] += strings.Repeat(" ", max(0, half-utf8.RuneCountInString(cells[0])))
		line := strings.TrimRight(cells[0]+"   "+cells[1], " ")
		if i == 0 {
			line = s.ink.Bold(line)
		}
		fmt.Fprintln(s.w, line)
	}
	for i := range q {
		fmt.Fprintf(s.w, "\n%s: ", s.ink.Bold(q[i].Step.Name))
		text.TellPlace(s.w, place.New(q[i].Snapshot, q[i].Case.TopologyKey, a[i].Place), text.Style{Width: width})
	}
}

func holdsPods(c *stowagev1.Cluster) bool {
	return slices.ContainsFunc(c.GetNodes(), func(n *stowagev1.Node) bool { return len(n.GetPods())+len(n.GetPodCounts()) > 0 })
}

func (s *show) step(q *scenarios.Question, a *scenarios.Answer) {
	switch {
	case q.Filter != nil:
		s.filter(q, a.Filter)
	case q.Score != nil:
		fmt.Fprintf(s.w, "\n%s\n", s.ink.Bold(q.Step.Name))
		text.Score(s.w, &score.Answer{Response: a.Score}, text.Style{Width: width})
	case q.Preempt != nil:
		fmt.Fprintf(s.w, "\n%s\n", s.ink.Bold(q.Step.Name))
		text.Preempt(s.w, &preempt.Answer{Cluster: q.Snapshot.Cluster, Response: a.Preempt}, text.Style{Width: width})
	case q.ScaleDown != nil:
		fmt.Fprintf(s.w, "\n%s\n", s.ink.Bold(q.Step.Name))
		text.ScaleDown(s.w, scaledown.New(q.Snapshot.Cluster, q.Scalable, a.ScaleDown), text.Style{Width: width})
	default:
		fmt.Fprintf(s.w, "\n%s\n", s.ink.Bold(q.Step.Name))
		p := place.New(q.Snapshot, q.Case.TopologyKey, a.Place)
		p.Changes = q.Place.GetIncludeChanges()
		text.Place(s.w, p, text.Style{Width: width})
	}
}

// filter shows one pod's verdicts in a few lines, as cases often filter one pod after another.
func (s *show) filter(q *scenarios.Question, a *stowagev1.FilterResponse) {
	feasible := strings.Join(a.GetFeasibleNodes().GetNames(), ", ")
	if feasible == "" {
		feasible = "no node"
	}
	fmt.Fprintf(s.w, "\n%s: %s can take it\n", s.ink.Bold(q.Step.Name), feasible)
	if a.GetMessage() != "" {
		text.WriteWrapped(s.w, "  ", a.GetMessage(), width)
	} else {
		for _, r := range a.GetRejections() {
			fmt.Fprintf(s.w, "  %s: %s\n", strings.Join(r.GetNodes().GetNames(), ", "), r.GetReasons()[0].GetMessage())
		}
	}
	x := text.Explanation{Explanation: &words.Explanation{Cluster: q.Snapshot.Cluster}, Width: width}
	x.WriteOutcome(s.w, "  ", a.GetPreemption())
	x.WriteWhy(s.w, "  ", a.GetExplanation())
	if len(q.Step.Filter.Changes) > 0 {
		x.WriteChanges(s.w, "  ", 1, a.GetChanges(), a.GetPreemption())
	}
}

func (s *show) summary(good, all int, address string) {
	text := fmt.Sprintf("%d of %d scenarios hold, decided by a server on %s", good, all, address)
	fmt.Fprintf(s.w, "\n%s\n", s.ink.Verdict(good == all, text))
}
