package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// recordedNodes is the most nodes that a recorded case has: a corpus is committed, and small cases show as much.
const recordedNodes = 8

// recordCorpus writes kube-scheduler's answers to the first small cases from a seed on, and beside them an index for
// people.
func recordCorpus(path string, o *options) error {
	data, err := os.Create(path)
	if err != nil {
		return err
	}
	index, err := os.Create(strings.TrimSuffix(path, ".gz") + ".index.txt")
	if err != nil {
		return err
	}
	w, err := conformance.NewWriter(data)
	if err != nil {
		return err
	}
	seed := o.seedFrom
	for written := uint64(0); written < o.cases; seed++ {
		c := generate.Case(o.profileOf(seed), seed)
		if len(c.Nodes) > recordedNodes || c.Whole || c.Grouped() || len(c.WhatIf) > 0 || c.Drain != nil || c.Remedies || c.Advice {
			continue // a corpus has neither whole queues nor groups nor scenarios nor drains nor remedies
		}
		if err := record(c, w, index); errors.As(err, new(*oracle.OverflowError)) {
			continue
		} else if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		written++
	}
	fmt.Printf("%d cases, seeds %d to %d\n", o.cases, o.seedFrom, seed-1)
	return errors.Join(w.Close(), data.Close(), index.Close())
}

func record(c *scenario.Case, w *conformance.Writer, index io.Writer) error {
	s, err := oracle.New(c)
	if err != nil {
		return err
	}
	defer s.Close()
	request, err := compare.PlaceRequest(c, s, compare.Form{Stored: true})
	if err != nil {
		return err
	}
	answers, err := expect.Of(c, s)
	if err != nil {
		return err
	}
	if err := w.Add(&conformance.Case{Name: c.Name, Request: request, Answers: *answers}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(index, "%s: %d nodes, %d pods, %d placed, %d not; %s\n", c.Name, len(c.Nodes), len(c.Pods),
		answers.Place.PlacedCount, answers.Place.UnplacedCount, strings.Join(topics(answers), " "))
	return err
}

// topics are the reasons for refusals, and the plugins that score nodes differently.
func topics(a *conformance.Answers) []string {
	var out []string
	note := func(name, prefix string) {
		if name = strings.ToLower(strings.TrimPrefix(name, prefix)); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if slices.ContainsFunc(a.Preempt, func(p *stowagev1.PreemptResponse) bool { return p.GetPreemption().GetNominated() != nil }) {
		out = append(out, "preempts")
	}
	for i := range a.Filter {
		for _, r := range a.Filter[i].Rejections {
			for _, reason := range r.Reasons {
				note(reason.Type.String(), "REJECTION_REASON_")
			}
		}
		for _, p := range a.Score[i].PluginScores {
			if slices.Min(p.WeightedScores) < slices.Max(p.WeightedScores) {
				note(p.Plugin.String(), "PLUGIN_")
			}
		}
	}
	return out
}
