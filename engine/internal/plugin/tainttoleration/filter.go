package tainttoleration

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Tolerated returns the nodes without NoSchedule and NoExecute taints that the tolerations do not tolerate; nil if that
// is all nodes.
func Tolerated(s *cluster.State, tolerations []api.Toleration, p *api.Profile) nodeset.Set {
	ok := make([]uint8, len(s.Taints.Lists))
	all := true
	for class, list := range s.Taints.Lists {
		if s.Ended() {
			break
		}
		if FirstUntolerated(list, tolerations, p) < 0 {
			ok[class] = 1
		} else {
			all = false
		}
	}
	if all {
		return nil
	}
	return nodeset.Where(s.Taints.Class, ok)
}

// FirstUntolerated returns the index of the first NoSchedule or NoExecute taint that no toleration tolerates, -1 if
// there is none.
func FirstUntolerated(taints []api.Taint, tolerations []api.Toleration, p *api.Profile) int {
	for i := range taints {
		if hard(&taints[i]) && !Tolerate(tolerations, &taints[i], p) {
			return i
		}
	}
	return -1
}

type filter struct{ tolerated nodeset.Set }

// NewFilter prepares the plugin; nil if it lets the pod go everywhere.
func NewFilter(c *plugin.Cycle) plugin.Filter {
	if c.Tolerated == nil {
		return nil
	}
	return filter{c.Tolerated}
}

func (f filter) Refuse(in nodeset.Set) []plugin.Refusal {
	return plugin.Refused(in.Minus(f.tolerated), true, verdict.ReasonUntoleratedTaint)
}
