package engine

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// podRejection says which plugin rejects the pod before any node is filtered.
type podRejection struct {
	plugin verdict.Plugin
	code   verdict.Code
	reason verdict.Reason
}

// of returns the rejection of candidates.
func (r *podRejection) of(candidates nodeset.Set) verdict.Rejection {
	return verdict.Rejection{
		Plugin: r.plugin, Code: r.code, Reasons: []verdict.Reason{r.reason}, Nodes: candidates.Indexes(),
	}
}

// message returns kube-scheduler's event text for this number of candidates. For code Error it is the error's text
// (pkg/scheduler/framework/runtime/framework.go RunPreFilterPlugins, v1.37).
func (r *podRejection) message(candidates int) string {
	if r.code == verdict.Error {
		return fmt.Sprintf("running PreFilter plugin %q: %s", r.plugin, r.reason.Message)
	}
	return verdict.PodError(candidates, r.reason)
}

// preFilter returns the nodes to which plugins narrow the search, nil if they do not, and which plugins do; or that one
// rejects the pod as a whole (pkg/scheduler/framework/runtime/framework.go RunPreFilterPlugins, v1.37).
func (d *decision) preFilter() (narrowed nodeset.Set, by []verdict.Plugin, whole *podRejection) {
	if whole = d.rejectedBy(verdict.NodeAffinity); whole != nil {
		return nil, nil, whole
	}
	names, by := d.namedNodes()
	if by != nil && len(names) == 0 {
		return nil, nil, &podRejection{by[0], verdict.UnschedulableAndUnresolvable, verdict.Reason{
			Type:    verdict.ReasonNarrowedOut,
			Message: fmt.Sprintf("node(s) didn't satisfy plugin(s) %v simultaneously", sortedNames(by)),
		}}
	}
	for _, p := range []verdict.Plugin{verdict.PodTopologySpread, verdict.InterPodAffinity} {
		if whole = d.rejectedBy(p); whole != nil {
			return nil, nil, whole
		}
	}
	if by == nil {
		return nil, nil, nil
	}
	narrowed = nodeset.New(d.State.Len())
	for _, name := range names {
		if i, ok := d.State.Node(name); ok {
			narrowed.Add(i)
		}
	}
	return narrowed, by, nil
}

// namedNodes returns the names of the nodes to which plugins narrow the search, and which plugins do.
func (d *decision) namedNodes() (names []string, by []verdict.Plugin) {
	spec := d.Pod.Spec()
	if spec.NodeName != "" {
		names, by = []string{spec.NodeName}, append(by, verdict.NodeName)
	}
	if spec.NodeAffinity == nil {
		return names, by
	}
	named, narrows := selector.NamedNodes(spec.NodeAffinity.Required)
	switch {
	case !narrows:
		return names, by
	case by == nil:
		names = named
	case !slices.Contains(named, spec.NodeName):
		names = nil
	}
	return names, append(by, verdict.NodeAffinity)
}

// rejectedBy returns that a plugin, asked alone, rejects the pod as a whole; nil if it does not.
func (d *decision) rejectedBy(p verdict.Plugin) *podRejection {
	spec := d.Pod.Spec()
	switch p {
	case verdict.NodeAffinity:
		if spec.NodeAffinity == nil {
			return nil
		}
		if named, narrows := selector.NamedNodes(spec.NodeAffinity.Required); narrows && len(named) == 0 {
			return &podRejection{p, verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonNodeAffinityConflict)}
		}
	case verdict.PodTopologySpread:
		if err := podtopologyspread.PreFilterError(spec); err != "" {
			return &podRejection{p, verdict.Error, verdict.UnparsablePod(err)}
		}
	case verdict.InterPodAffinity:
		if err := interpodaffinity.ParseError(spec); err != "" {
			return &podRejection{p, verdict.UnschedulableAndUnresolvable, verdict.UnparsablePod("parsing pod: " + err)}
		}
	}
	return nil
}
