package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func decider(t *testing.T) scenarios.Decider {
	t.Helper()
	return scenarios.Client(stowagev1.NewPlacementServiceClient(servertest.Connect(t)))
}

func load(t *testing.T) []scenarios.Case {
	t.Helper()
	cases, err := scenarios.Load("../examples")
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestShowReportsWhatHolds(t *testing.T) {
	c := load(t)[0]
	var b strings.Builder
	s := &show{w: &b}
	held, err := s.scenario(t.Context(), &c, decider(t))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for _, want := range []string{
		"── 01  Required", "│ + redash ", "3 of 4 pods placed", "0/3 nodes are available: ", "why: ", "✓ every zone",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("colours without a terminal")
	}
}

func TestShowPutsStepsBesideEachOther(t *testing.T) {
	cases := load(t)
	i := slices.IndexFunc(cases, func(c scenarios.Case) bool { return c.Name() == "27-joint-placement" })
	var b strings.Builder
	held, err := (&show{w: &b}).scenario(t.Context(), &cases[i], decider(t))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for _, want := range []string{
		"\none by one  ", "  jointly\n", "│ + api ", "\none by one: 0 of 4 pods placed\n", "\njointly: 4 of 4 pods placed\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestShowReportsWhatDoesNotHold(t *testing.T) {
	c := load(t)[0]
	wrong := func(_ context.Context, _ *scenarios.Question) (*scenarios.Answer, error) {
		return &scenarios.Answer{Place: &stowagev1.PlaceResponse{Placements: []*stowagev1.Placement{{}}}}, nil
	}
	var b strings.Builder
	s := &show{w: &b, ink: true}
	held, err := s.scenario(t.Context(), &c, wrong)
	if err != nil || held {
		t.Fatal(held, err)
	}
	if want := s.ink.Bad("✗ redash: placed: want 3, got 0"); !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, &b)
	}
}

// TestEveryExampleKeepsToTheWidth holds that nothing but a node's or pod's name makes a line longer than a terminal.
func TestEveryExampleKeepsToTheWidth(t *testing.T) {
	decide := decider(t)
	for _, c := range load(t) {
		var b strings.Builder
		if _, err := (&show{w: &b}).scenario(t.Context(), &c, decide); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("%s: %d columns: %s", c.Name(), n, line)
			}
		}
	}
}
