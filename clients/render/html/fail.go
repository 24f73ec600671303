package html

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/fail"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// maximumFailures is how many failures have sections of their own.
const maximumFailures = 20

// Fail is the page about the failure of nodes.
func Fail(a *fail.Answer) *Page {
	var sections []Section
	if a.Each != "" {
		domains := Section{Title: "Domains", Columns: []string{a.Each, "Result", "Nodes", "Come back", "Placed", "Lost", "Budgets below"}}
		for _, f := range a.Failures {
			domains.Rows = append(domains.Rows, []string{
				f.Name, fail.Outcome(f), fmt.Sprint(len(f.Nodes)), fmt.Sprint(f.Returning), fmt.Sprint(f.Placed), fmt.Sprint(len(f.Bare)),
				fmt.Sprint(fail.BudgetsBelow(f)),
			})
		}
		sections = append(sections, domains)
	}
	described := 0
	for i, f := range a.Failures {
		if a.Each != "" && fail.Harmless(f) {
			continue
		}
		if described++; described > maximumFailures {
			text := words.Plural(len(a.Failures)-i, "domain") + " not described here; the output of -o json has them."
			sections = append(sections, Section{Text: []string{text}})
			break
		}
		sections = append(sections, failure(a, f)...)
	}
	out := ofCluster("If nodes fail", &a.Document, &a.Judgement, sections...)
	if a.Each != "" {
		notes := map[string]answer.DomainNote{}
		for _, f := range a.Failures {
			notes[f.Name] = answer.DomainNote{Text: "if it fails: " + fail.Outcome(f), Good: f.Survives}
		}
		out.Picture = pictureOf(&a.Document, notes)
	}
	return out
}

// failure are sections about one failure.
func failure(a *fail.Answer, f *whatif.Failure) []Section {
	var out []Section
	head := Section{Text: slices.Concat(fail.Failing(f), fail.Others(f))}
	if a.Each != "" {
		head = Section{Title: a.Each + "=" + f.Name}
	}
	text, reasons := fail.Staying(f)
	if text != "" {
		head.Text = append(head.Text, text)
		head.List = reasons
	}
	if out = append(out, head); len(f.Workloads) > 0 {
		out = append(out, workloads(a, f.Workloads))
	}
	for _, m := range fail.MissingReplicas(f.Workloads) {
		out = append(out, Section{Title: m.Text, List: m.Reasons})
	}
	if len(f.Budgets) > 0 {
		budgets := Section{Columns: []string{"PodDisruptionBudget", "Desired", "Healthy", "At once", "After", "Result"}}
		for i := range f.Budgets {
			budgets.Rows = append(budgets.Rows, fail.BudgetRow(&f.Budgets[i]))
		}
		out = append(out, budgets)
	}
	if a.Each == "" && len(f.Pods) > 0 {
		pods := Section{Title: "Replacement pods", Columns: []string{"Pod", "From", "To"}, Folded: true}
		for i := range f.Pods {
			pods.Rows = append(pods.Rows, fail.PodRow(&f.Pods[i]))
		}
		out = append(out, pods)
	}
	return out
}

// workloads are the workloads that lose replicas; of one of several failures, the workloads with missing replicas.
func workloads(a *fail.Answer, all []whatif.Workload) Section {
	out := Section{Columns: []string{"Workload", "Kind", "Replicas", "Lost", "Placed", "Missing"}}
	whole := 0
	for i := range all {
		if all[i].Missing == 0 && a.Each != "" {
			whole++
			continue
		}
		out.Rows = append(out.Rows, fail.WorkloadRow(&all[i]))
	}
	if whole > 0 {
		out.Text = []string{"No replica missing of " + words.Plural(whole, "workload") + "."}
	}
	if len(out.Rows) == 0 {
		out.Columns = nil
	}
	return out
}
