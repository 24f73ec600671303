// Package tainttoleration rejects nodes with untolerated NoSchedule and NoExecute taints, and prefers nodes with few
// untolerated PreferNoSchedule taints (pkg/scheduler/framework/plugins/tainttoleration, v1.37).
package tainttoleration

import (
	"strconv"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Tolerate reports whether a toleration tolerates the taint.
func Tolerate(tolerations []api.Toleration, taint *api.Taint, p *api.Profile) bool {
	for i := range tolerations {
		if tolerates(&tolerations[i], taint, p.TolerationComparisonOperators) {
			return true
		}
	}
	return false
}

// tolerates follows k8s.io/api/core/v1/toleration.go ToleratesTaint (v0.37).
func tolerates(t *api.Toleration, taint *api.Taint, comparisons bool) bool {
	if t.Effect != api.EveryEffect && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case api.TolerationEqual:
		return t.Value == taint.Value
	case api.TolerationExists:
		return true
	}
	if !comparisons {
		return false
	}
	bound, ok := decimal(t.Value)
	if !ok {
		return false
	}
	value, ok := decimal(taint.Value)
	if !ok {
		return false
	}
	if t.Operator == api.TolerationLessThan {
		return value < bound
	}
	return value > bound
}

// decimal parses a decimal integer in canonical form: no plus sign, no leading zeros, no minus zero.
func decimal(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

func hard(t *api.Taint) bool { return t.Effect == api.NoSchedule || t.Effect == api.NoExecute }
