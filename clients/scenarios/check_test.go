package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/scenarios"
)

// TestCheckReportsEveryDifference takes an answer as it should be and expectations that are each wrong.
func TestCheckReportsEveryDifference(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "case"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "case", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("nodes.yaml", `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {zone: z}}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "1"}}
`)
	write("web.yaml", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: c, image: i}]
`)
	write("case.yaml", `
title: t
why: w
topologyKey: zone
steps:
- name: place
  files: [nodes.yaml, web.yaml]
  place:
    other: {placed: 1}
    web:
      placed: 2
      unplaced: 0
      spread: 1/1
      domains: {y: 1}
      nodes: [b]
      message: none
      explanation:
        failing: {}
        taints: {"k:NoSchedule": [a]}
        counts:
        - {rule: hard spread, domains: {z: 2}, skews: {z: 1}, minimum: 0, feasible: [], nodes: {z: [b]}, uncounted: {missing topology key: [a]}, conflicts: {z: [p]}}
        - {rule: affinity}
- name: joint
  files: [nodes.yaml, web.yaml]
  joint: true
  place: {web: {placed: 0}}
  groups:
    other: {placed: 1}
    queue: {status: complete, placed: 1, unplaced: 0, domains: [z=a], first: other, message: none, conflict: []}
- name: filter
  files: [nodes.yaml, web.yaml]
  filter: {feasible: [], refused: {Too many pods: [a]}, message: none}
- name: score
  files: [nodes.yaml, web.yaml]
  score: {best: [b], scores: {TaintToleration: {a: 1}}, skipped: [TaintToleration]}
`)
	cases, err := scenarios.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{
			"other: is not in the queue", "web: placed", "web: unplaced", "web: spread", "web: domains", "web: nodes", "web: message",
			"web: explanation: failing", "web: explanation: taints",
			"web: explanation: hard spread by zone: domains", "web: explanation: hard spread by zone: skews",
			"web: explanation: hard spread by zone: minimum", "web: explanation: hard spread by zone: feasible",
			"web: explanation: hard spread by zone: nodes", "web: explanation: hard spread by zone: uncounted",
			"web: explanation: hard spread by zone: conflicts", "web: explanation: affinity by zone: is missing",
		},
		{
			"group other: is not in the answer", "group queue: status", "group queue: placed", "group queue: unplaced",
			"group queue: domains", "group queue: first", "group queue: message", "group queue: conflict",
		},
		{"feasible", "refused", "message"},
		{"best", "TaintToleration", "TaintToleration: gave scores"},
	}
	for i := range cases[0].Steps {
		q, err := scenarios.Ask(&cases[0], &cases[0].Steps[i])
		if err != nil {
			t.Fatal(err)
		}
		a, err := inEngine(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range scenarios.Check(q, a) {
			what, _, _ := strings.Cut(d, ": want")
			got = append(got, what)
		}
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("%s (-want +got)\n%s", q.Step.Name, d)
		}
	}
}

func TestLoadRefusesCasesThatSayNothing(t *testing.T) {
	for _, text := range []string{
		"title: t\nwhy: w\nsteps: []",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f]}]",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f], filter: {}, score: {}}]",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f], filter: {feasibel: []}}]",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f], filter: {pod: p}}]",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f], place: {web: {}}}]",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f], place: {web: {placed: 1}}, groups: {g: {}}}]",
		"title: t\nwhy: w\nsteps: [{name: n, files: [f], joint: true, filter: {message: m}}]",
		"title: t\nwhy: w\nsteps: [{name: n, beside: true, files: [f], filter: {message: m}}]",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "c"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "c", "case.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := scenarios.Load(dir); err == nil {
			t.Errorf("loaded %s", text)
		}
	}
}
