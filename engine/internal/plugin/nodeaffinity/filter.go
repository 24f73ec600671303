package nodeaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

type filter struct{ added, required nodeset.Set } // nil for all nodes

// NewFilter prepares the plugin; nil if it lets the pod go everywhere.
func NewFilter(c *plugin.Cycle) plugin.Filter {
	f := filter{required: c.Required}
	if a := c.Profile.AddedAffinity; a != nil && a.Required != nil {
		f.added = anyTerm(c.State, a.Required)
	}
	if f.added == nil && f.required == nil {
		return nil
	}
	return f
}

func (f filter) Refuse(in nodeset.Set) []plugin.Refusal {
	var refusals []plugin.Refusal
	if f.added != nil {
		refusals = plugin.Refused(in.Minus(f.added), true, verdict.ReasonAddedNodeAffinity)
		in = plugin.Both(in, f.added)
	}
	if f.required != nil {
		refusals = append(refusals, plugin.Refused(in.Minus(f.required), true, verdict.ReasonNodeAffinity)...)
	}
	return refusals
}
