package cli

import (
	"github.com/stowage-scheduler/stowage/clients/review"
)

// maximumFindings bounds the lines about placement rules.
const maximumFindings = 20

func (q *question) reviewOptions(a *asked) review.Options {
	return review.Options{Profile: a.scheduler.Profile, PodsUnknown: len(q.workloads) > 0}
}
