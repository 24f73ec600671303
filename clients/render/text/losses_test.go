package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/answer/fail"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// zoneFailure is a failure with workloads of which the first lose replicas for one reason.
func zoneFailure(name string, workloads, lose int) *whatif.Failure {
	out := &whatif.Failure{Name: name, Nodes: []string{"n"}, Unplaced: lose, Survives: lose == 0}
	for i := range workloads {
		l := whatif.Workload{Replicas: 3, Lost: 1, Placed: 1}
		l.Kind, l.Namespace, l.Name = "Deployment", "shop", fmt.Sprintf("app-%d", i)
		if i < lose {
			l.Placed, l.Missing, l.Reasons = 0, 1, []string{"0/2 nodes are available: 2 Insufficient cpu."}
		}
		out.Workloads = append(out.Workloads, l)
		desired := 1
		out.Budgets = append(out.Budgets, whatif.Budget{Namespace: "shop", Name: l.Name, Desired: &desired, Healthy: 3, AtOnce: 2, After: 3})
	}
	return out
}

// TestLossesAreBrief holds that the report is as long as what is lost: workloads and budgets without a loss are counted, and a reason
// that workloads share is written once.
func TestLossesAreBrief(t *testing.T) {
	all := []*whatif.Failure{zoneFailure("a", 400, 10), zoneFailure("b", 400, 10), zoneFailure("c", 400, 0)}
	var brief, verbose strings.Builder
	text.Fail(&brief, fail.New(fail.Options{Each: "zone"}, all), text.Style{Width: 100})
	text.Fail(&verbose, fail.New(fail.Options{Each: "zone"}, all), text.Style{Width: 100, Verbose: true})
	text := brief.String()
	if lines := strings.Count(text, "\n"); lines > 50 {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	for _, want := range []string{
		"no replica missing of 390 other workloads (390 pods placed); -v lists them\n", "400 PodDisruptionBudgets met; -v lists them\n",
		"10 workloads: 10 of 30 replicas missing: shop/app-0, ",
	} {
		if strings.Count(text, want) != 2 {
			t.Errorf("not twice: %q\n%s", want, text)
		}
	}
	if n := strings.Count(text, "Insufficient cpu"); n != 2 {
		t.Errorf("the reason is written %d times", n)
	}
	if lines := strings.Count(verbose.String(), "\n"); lines < 1600 {
		t.Errorf("-v writes only %d lines", lines)
	}
}

// TestManyDomainsAreBounded expects the losses of a few of many failing domains.
func TestManyDomainsAreBounded(t *testing.T) {
	var all []*whatif.Failure
	for i := range 500 {
		all = append(all, zoneFailure(fmt.Sprint("node-", i), 1, 1))
	}
	var out strings.Builder
	text.Fail(&out, fail.New(fail.Options{Each: "kubernetes.io/hostname"}, all), text.Style{Width: 100})
	text := out.String()
	if lines := strings.Count(text, "\n"); lines > 300 || !strings.Contains(text, "480 domains not described here; -v describes them\n") {
		t.Errorf("%d lines, ending with %q", lines, text[max(0, len(text)-80):])
	}
}
