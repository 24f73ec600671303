package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/servertest"
)

// forger is a part of a name that no API server accepts: a line that looks like the program's own, what moves the cursor, turns the direction of
// text, ends a comment, and is a program to a shell and to a browser. A label value has room for it.
const forger = "\nyes\x1b[2J\r\u202e\u009b';touch pwned;$(touch pwned)<b>"

// hostileCluster is a cluster in which everything is called like that. %[1]s is forger, in YAML.
const hostileCluster = `
{apiVersion: v1, kind: Node, metadata: {name: "a%[1]s", uid: a, labels: {kubernetes.io/hostname: a, topology.kubernetes.io/zone: z}, annotations: {stowage.scheduling/price: "1"}}, spec: {unschedulable: true}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: "b%[1]s", uid: b, labels: {kubernetes.io/hostname: b}, annotations: {stowage.scheduling/price: "1"}}, spec: {taints: [{key: "k%[1]s", value: "v%[1]s", effect: NoSchedule}]}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: "c%[1]s", uid: c, labels: {kubernetes.io/hostname: c}}, status: {allocatable: {cpu: "1", pods: "9"}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: "web%[1]s", namespace: "n%[1]s", uid: w}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "i%[1]s"}]}}}, status: {replicas: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "web-0%[1]s", namespace: "n%[1]s", uid: p, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: "web%[1]s", uid: w, controller: true}]}, spec: {nodeName: "a%[1]s", priority: -1, containers: [{name: c, image: i}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "web-1%[1]s", namespace: "n%[1]s", uid: q, labels: {app: web}, ownerReferences: [{apiVersion: "x%[1]s/v1", kind: "X%[1]s", name: "o%[1]s", uid: o, controller: true}]}, spec: {nodeName: "c%[1]s", containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "pending%[1]s", namespace: "n%[1]s", uid: r}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: "v%[1]s"}}], containers: [{name: "c%[1]s", image: i, resources: {requests: {cpu: "2"}}}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: ["%[1]s"]}]}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "web-2%[1]s", namespace: "n%[1]s", uid: x, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: "web%[1]s", uid: w, controller: true}]}, spec: {containers: [{name: "c%[1]s", image: i, resources: {requests: {cpu: "3"}}}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: ["%[1]s"]}]}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "other%[1]s", namespace: "n%[1]s", uid: s}, spec: {schedulerName: "other%[1]s", containers: [{name: c, image: i}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: "pdb%[1]s", namespace: "n%[1]s", uid: t}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}}
`

// allowed are the colours of the program.
var allowed = regexp.MustCompile("\x1b\\[(0|1|3[123]|1;3[12])m")

// TestNoSinkIsForged prints hostile names to every sink: by every verb, in every format. The names come from an API server, as those in files are
// refused, which it tests too.
func TestNoSinkIsForged(t *testing.T) {
	server := servertest.Start(t)
	text := fmt.Sprintf(hostileCluster, strings.Trim(fmt.Sprintf("%+q", forger), `"`))
	api := startAPI(t, strings.Split(text, "\n---\n")...)
	live := []string{"--kubeconfig", api.kubeconfig(), "--server", server.Address}
	dir := t.TempDir()
	file, template := filepath.Join(dir, "cluster"+forger+".yaml"), filepath.Join(dir, "template.yaml")
	for path, text := range map[string]string{file: text, template: doubtedTemplate} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pending, node := "n"+forger+"/pod/pending"+forger, "a"+forger
	questions := [][]string{
		{"place"}, {"place", "-v"}, {"place", "--color=always"}, {"place", "--joint"}, {"filter", "--pod", pending}, {"score", "--pod", pending},
		{"explain", pending}, {"explain", "-v", pending}, {"explain", "--color=always", pending}, {"explain", "n" + forger + "/rs/web" + forger},
		{"explain", "--fix", pending}, {"explain", "--fix", "n" + forger + "/rs/web" + forger}, {"preempt", "--pod", pending}, {"preempt", "--safe", "--pod", pending},
		{"scale-down", "--replicas=0", "--workload", "n" + forger + "/rs/web" + forger}, {"fit", "--mix", "n" + forger + "/web" + forger, "--changes", "--by", "topology.kubernetes.io/zone"},
		{"drain", node}, {"drain", "-v", "--moves", "--all"}, {"fail", "--node=" + node}, {"fail", "--each=topology.kubernetes.io/zone"},
		{"what-if", "--without-node=" + node}, {"what-if", "--scale", "n" + forger + "/rs/web" + forger + "=0"}, {"provision", "--template=" + template},
		{"consolidate", "--moves"}, {"consolidate", node}, {"audit"}, {"audit", "-v"},
		{"drain", "gone" + forger}, {"explain", "gone" + forger}, {"fail", "--zone=gone" + forger}, {"place", "--profile", "gone" + forger}, {"place" + forger},
	}
	_, help, _ := stowage(t, "--help")
	_, help, _ = strings.Cut(help, "\nCommands:\n")
	for _, verb := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]+) `).FindAllStringSubmatch(help, -1) {
		known := slices.Contains(unanswered, verb[1]) ||
			slices.ContainsFunc(questions, func(q []string) bool { return q[0] == verb[1] })
		if !known {
			t.Errorf("this test does not know the verb %s", verb[1])
		}
	}
	printed := 0
	for _, question := range questions {
		for _, format := range []string{"table", "wide", "json", "yaml", "name", "html", "svg", "jsonpath={.notes}", "go-template={{.}}"} {
			if slices.Contains(question, "--fix") && format != "table" {
				continue
			}
			what := fmt.Sprintf("%q -o %s", question, format)
			code, stdout, stderr := stowage(t, slices.Concat(question, live, []string{"-o", format})...)
			if code == 2 && !strings.Contains(stderr, "--output=") && !strings.Contains(strings.Join(question, " "), "gone") && question[0] != "place"+forger {
				t.Errorf("%s: %s", what, stderr)
			}
			unforged(t, what, format, stdout)
			unforged(t, what+" on standard error", "table", stderr)
			if strings.Contains(stdout, `\nyes`) || strings.Contains(stdout, "\ufffd") {
				printed++
			}
			code, stdout, stderr = stowage(t, slices.Concat(question, []string{"-f", file, "--server", server.Address, "-o", format})...)
			if code != 2 || stdout != "" {
				t.Errorf("%s of a file: %d: %s", what, code, stdout)
			}
			unforged(t, what+" of a file", "table", stderr)
		}
		if slices.Contains(question, "--fix") {
			_, stdout, _ := stowage(t, slices.Concat(question, live)...)
			runsNothing(t, stdout)
		}
	}
	if printed < 120 {
		t.Errorf("only %d answers have a hostile name", printed)
	}
}

// unforged checks what was written to a sink.
func unforged(t *testing.T, what, format, text string) {
	t.Helper()
	if format == "table" || format == "wide" {
		text = allowed.ReplaceAllString(text, "")
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			t.Errorf("%s has %q:\n%q", what, r, text)
			return
		}
	}
	line := `(?m)^(# )?yes`
	if format == "html" || format == "svg" { // whose other text has no lines
		line = `<pre>[^<]*\nyes|<b>`
	}
	if found := regexp.MustCompile(line).FindStringIndex(text); found != nil {
		t.Errorf("%s has a line of a name: %q", what, text[max(0, found[0]-200):min(len(text), found[1]+200)])
	}
}

// runsNothing gives a text to a shell whose kubectl does nothing.
func runsNothing(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\ncat >/dev/null\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "sh")
	shell.Dir, shell.Env, shell.Stdin = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}, strings.NewReader(text)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%v: %s in\n%s", err, out, text)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*pwned*")); len(found) > 0 {
		t.Errorf("a shell executes\n%s", text)
	}
}
