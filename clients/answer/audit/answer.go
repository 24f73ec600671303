package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// Kind is the kind of the document.
const Kind = "AuditReport"

// Answer is the document of kind AuditReport. Its JSON has the fields of the result after its own.
type Answer struct {
	answer.Document
	Result `json:"-"`

	answer.Judgement `json:"-"`
}

// Ask audits the snapshot. The answer is a yes if nothing is broken.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	var a *audit
	err := q.Put(func() error {
		a = newAudit(q, o)
		return a.find(ctx)
	})
	if err != nil {
		return nil, err
	}
	out := &Answer{Result: a.result()}
	for _, d := range a.doubts {
		q.Doubt(&out.Judgement, "", d)
	}
	q.Judge(&out.Judgement, out.Sound() && (!o.FailOnWarnings || out.Summary.Warnings == 0))
	e, err := answer.NewEffect(q.Snapshot.Cluster)
	if err != nil {
		return nil, err
	}
	for _, f := range out.Result.Findings {
		if f.At = ""; f.Severity == review.Broken { // the object says enough
			e.Reason(f.String(), f.Nodes...)
		}
	}
	out.Document = answer.NewDocument(Kind, out.verdict(), q.Snapshot.Cluster, "", e)
	return out, nil
}

// Fields are the document's fields, then the fields of the result.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return a.Document, a.Result, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the objects with findings, as kubectl names them.
func (a *Answer) Names() []string {
	var out []string
	for _, f := range a.Result.Findings {
		out = append(out, strings.ToLower(f.Object.Kind)+"/"+f.Object.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Sound reports whether nothing is broken.
func (a *Answer) Sound() bool { return a.Summary.Broken == 0 }

func (a *Answer) verdict() string {
	sum := a.Summary
	return fmt.Sprintf("%d broken, %s, %s: %s, %s on them, %d pending", sum.Broken, words.Plural(sum.Warnings, "warning"),
		words.Plural(sum.Notes, "note"), words.Plural(sum.Nodes, "node"), words.Plural(sum.Pods, "pod"), sum.Pending)
}

// Unjudged reports the pods of other schedulers; empty if there are none.
func (a *Answer) Unjudged() string {
	if a.Summary.Others == 0 {
		return ""
	}
	return words.Plural(a.Summary.Others, "pod") + " of other schedulers: their rules are not judged, see --scheduler-name"
}

// ByRule are the findings of one rule and severity.
type ByRule struct {
	Severity review.Severity
	Rule     review.Rule
	Findings []review.Finding
}

// ByRule groups the findings, which are sorted.
func (a *Answer) ByRule() []ByRule {
	var out []ByRule
	for _, f := range a.Result.Findings {
		if n := len(out); n == 0 || out[n-1].Severity != f.Severity || out[n-1].Rule != f.Rule {
			out = append(out, ByRule{Severity: f.Severity, Rule: f.Rule})
		}
		last := &out[len(out)-1]
		last.Findings = append(last.Findings, f)
	}
	return out
}

// Cells are a row of a table: the severity, the rule, the number of findings and their objects.
func (r *ByRule) Cells() []string {
	var objects []string
	for _, f := range r.Findings {
		objects = append(objects, strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/"))
	}
	return []string{string(r.Severity), string(r.Rule), fmt.Sprint(len(r.Findings)), words.Names(slices.Compact(objects))}
}

// maximumLines bounds the lines about one rule.
const maximumLines = 20

// Lines describe the findings, the first ones if there are many; more is the number of the others.
func (r *ByRule) Lines() (lines []string, more int) {
	for i, f := range r.Findings {
		if i == maximumLines {
			return lines, len(r.Findings) - i
		}
		f.At = "" // the object says enough
		lines = append(lines, f.String())
	}
	return lines, 0
}
