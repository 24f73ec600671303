package cli

import (
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// maximumFindings bounds the lines about placement rules.
const maximumFindings = 20

// review finds placement rules of pods that are void or suspicious. It tells them on standard error, unless the answer has them.
func (q *question) review(a *asked, pods []kube.Stated, told bool) error {
	found, err := q.found(a, pods)
	if err != nil {
		return err
	}
	q.has(a, found, told)
	return nil
}

// found returns placement rules of pods that are void or suspicious.
func (q *question) found(a *asked, pods []kube.Stated) ([]review.Finding, error) {
	r, err := review.New(a.snapshot, q.reviewOptions(a))
	if err != nil {
		return nil, err
	}
	return r.All(pods), nil
}

// has tells findings on standard error, or keeps them for the answer.
func (q *question) has(a *asked, found []review.Finding, told bool) {
	if !told {
		q.findings = append([]review.Finding{}, found...)
		return
	}
	for i := range found {
		if i == maximumFindings {
			more := counted(len(found)-i, "more finding", "more findings")
			quote.Fprintf(a.stderr, "stowage: and %s about placement rules: -o json has all\n", more)
			break
		}
		quote.Fprintf(a.stderr, "stowage: %s: %v\n", found[i].Severity, &found[i])
	}
}

// tellsFindings reports whether the answer has no place for findings.
func (q *question) tellsFindings() bool {
	return q.Output == table || q.drawn()
}

func (q *question) reviewOptions(a *asked) review.Options {
	return review.Options{Profile: a.scheduler.Profile, PodsUnknown: len(q.workloads) > 0}
}
