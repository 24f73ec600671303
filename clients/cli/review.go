package cli

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// maximumFindings bounds the lines about placement rules.
const maximumFindings = 20

// review finds placement rules of pods that are void or suspicious. It tells them on standard error, unless the answer has them.
func (q *question) review(a *asked, pods []kube.Stated, told bool) error {
	r, err := review.New(a.snapshot, q.reviewOptions(a))
	if err != nil {
		return err
	}
	found := r.All(pods)
	if !told {
		q.findings = append([]review.Finding{}, found...)
		return nil
	}
	for i := range found {
		if i == maximumFindings {
			more := counted(len(found)-i, "more finding", "more findings")
			fmt.Fprintf(a.stderr, "stowage: and %s about placement rules: -o json has all\n", more)
			break
		}
		fmt.Fprintf(a.stderr, "stowage: %s: %v\n", found[i].Severity, &found[i])
	}
	return nil
}

// tellsFindings reports whether the answer has no place for findings.
func (q *question) tellsFindings() bool {
	return q.Output == table || q.drawn()
}

func (q *question) reviewOptions(a *asked) review.Options {
	return review.Options{Profile: a.scheduler.Profile, PodsUnknown: len(q.workloads) > 0}
}
