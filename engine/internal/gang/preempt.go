package gang

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// postFilter is what kube-scheduler does for a group that is not placed.
type postFilter struct {
	found   *verdict.GroupPreemption // nil if there is no room for its lists
	message string
	waits   bool // for victims to be gone
	failed  bool // an internal error of the group
	// victims are the pods that leave, the most important first, and nominations the nodes that pods of the group are nominated to.
	victims     []preempt.VictimOn
	nominations []verdict.GroupNomination
	violations  int
}

// The texts of kube-scheduler's plugins (pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go and
// pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go PodGroupPostFilter,
// pkg/scheduler/framework/runtime/framework.go RunPodGroupPostFilterPlugins, v1.37).
const (
	groupPrefix  = "pod group preemption: "
	noClaims     = "deallocation and deletion of ResourceClaims completed"
	failingText  = "error in %q PodGroupPostFilter plugins: %s"
	claimsFailed = "not found"
)

// preempts reports whether the call requests preemption, and kube-scheduler runs it for a group after a trial.
func (p *placer) preempts(g *queued, t *trial) bool {
	return p.Options.Preempt != nil && g.mirrored() && t.failure == "" && t.placed < g.minimum
}

// postFilter looks for victims whose eviction makes room for a group. All pods that the group may preempt leave, the group is
// placed, and then the pods come back whose return leaves the group's pods in place
// (pkg/scheduler/framework/preemption/podgrouppreemption.go Preempt, v1.37). The state is unchanged afterwards.
func (p *placer) postFilter(ctx context.Context, g *queued, t *trial) (*postFilter, error) {
	disabled := p.Framework.DisabledGroupPostFilters()
	if !disabled.DynamicResources && !g.constrained() && !p.filtered(g, t) {
		return &postFilter{failed: true, message: fmt.Sprintf(failingText, "DynamicResources", claimsFailed)}, ctx.Err()
	}
	if disabled.DefaultPreemption {
		return &postFilter{message: p.claims(g)}, ctx.Err()
	}
	priority := p.priority(g)
	switch {
	case slices.ContainsFunc(g.Entries, func(e int) bool { return p.Pending[e].Pod.Template.Spec.NeverPreempts }):
		return p.fruitless(g, "not eligible due to preemptionPolicy=Never.", true), ctx.Err()
	case p.ongoing(g, priority):
		const message = groupPrefix + "ongoing preemption on nominated nodes"
		return &postFilter{found: &verdict.GroupPreemption{Ongoing: true, Message: message}, message: message, waits: true}, ctx.Err()
	}
	units, err := p.roster.Units(ctx, p.State, priority)
	if err != nil {
		return nil, err
	}
	if units.Empty() {
		return p.fruitless(g, "No preemption victims found for incoming preemptor", false), nil
	}
	mark := p.State.Mark()
	p.State.Mutate()
	defer p.Undo(mark)
	if err := units.Evict(ctx); err != nil {
		return nil, err
	}
	without, found, err := p.placeWithoutVictims(ctx, g)
	switch {
	case err != nil:
		return nil, err
	case without.failure != "":
		return &postFilter{failed: true, message: fmt.Sprintf(failingText, "DefaultPreemption", groupPrefix+without.failure)}, nil
	case without.placed < g.minimum:
		return p.fruitless(g, cmp.Or(found.Message, g.outcome(without)), true), nil
	}
	result, err := units.Reprieve(ctx, p.assigned(g, without))
	if err != nil {
		return nil, err
	}
	if result == nil {
		return &postFilter{found: &verdict.GroupPreemption{Undecided: true}}, nil
	}
	for i, e := range g.Entries {
		if nodes := without.placements[i].Nodes; len(nodes) > 0 {
			result.Nominations = append(result.Nominations, verdict.GroupNomination{Entry: e, Nodes: nodes})
		}
	}
	result.Message = fmt.Sprintf("%sfound a placement for podgroup, preempting %d victims", groupPrefix, result.Count)
	out := &postFilter{
		found: result, message: result.Message, waits: true, victims: units.Gone(), nominations: result.Nominations,
		violations: result.Violations,
	}
	if !p.List(result.Listed()) {
		out.found = nil
	}
	return out, nil
}

// fruitless returns that preemption finds nothing for a reason. If preemption might have helped, the text of the plugin before it
// comes first.
func (p *placer) fruitless(g *queued, reason string, may bool) *postFilter {
	own := groupPrefix + reason
	out := &postFilter{found: &verdict.GroupPreemption{Message: own}, message: own}
	if claims := p.claims(g); may && claims != "" {
		out.message = claims + ", " + own
	}
	return out
}

// claims returns the text of DynamicResources, which runs before DefaultPreemption and does not look at groups with a topology.
func (p *placer) claims(g *queued) string {
	if g.constrained() || p.Framework.DisabledGroupPostFilters().DynamicResources {
		return ""
	}
	return noClaims
}

// filtered reports whether kube-scheduler's DynamicResources has run for a pod of a group.
func (p *placer) filtered(g *queued, t *trial) bool {
	if p.Candidates.Empty() {
		return false
	}
	for i, e := range g.Entries {
		r, d := &t.placements[i], p.Decision(p.Classes[e])
		attempted := len(r.Nodes) > 0 || r.Message != ""
		if attempted && d.Gated() == nil && d.PreFilter().Rejected == nil {
			return true
		}
	}
	return false
}

// priority returns the priority with which a group preempts: its own, or else the priority of its first pod.
func (p *placer) priority(g *queued) int32 {
	if g.Priority != nil {
		return *g.Priority
	}
	return p.Pending[g.Entries[0]].Pod.Template.Spec.Priority
}

// ongoing reports whether kube-scheduler has preempted pods for a group that are still there.
func (p *placer) ongoing(g *queued, priority int32) bool {
	seen := make(map[string]bool)
	for _, e := range g.Entries {
		name := p.Pending[e].Pod.NominatedNode
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		if node, known := p.State.Node(name); known && p.State.AnyPreempted(node, priority) {
			return true
		}
	}
	return false
}

// placeWithoutVictims places a group in the state without victims, and undoes that. The second result has the reason if it is not
// placed.
func (p *placer) placeWithoutVictims(ctx context.Context, g *queued) (*trial, *verdict.PodGroupPlacement, error) {
	restarted := *p
	restarted.Queue = p.Restart(g.Entries)
	found := &verdict.PodGroupPlacement{}
	mark := p.State.Mark()
	place := restarted.placeAnywhere
	if len(g.Keys) > 0 {
		place = restarted.placeInOneDomain
	}
	t, err := place(ctx, g, found)
	p.State.Undo(mark)
	return t, found, err
}

// assigned returns the pods of a trial with their nodes, in the order in which they were placed.
func (p *placer) assigned(g *queued, t *trial) []preempt.Assigned {
	var out []preempt.Assigned
	for i, e := range g.Entries {
		d := p.Decision(p.Classes[e])
		for _, node := range t.placements[i].Nodes {
			out = append(out, preempt.Assigned{Decision: d, Name: p.Pending[e].Pod.Name, Node: node, Entry: e})
		}
	}
	return out
}

// join lets preemption know the groups of the queue.
func (p *placer) join() {
	memberships := make([]*cluster.Membership, len(p.groups))
	for i := range p.groups {
		memberships[i] = cluster.MembershipOf(&p.groups[i])
		p.State.Join(p.groups[i].Name, memberships[i])
	}
	of, first := p.of, p.Offset
	p.State.JoinEntries(func(entry int) (*cluster.Membership, bool) {
		if entry -= first; entry < 0 || entry >= len(of) {
			return nil, false
		}
		if g := of[entry]; g != nil {
			return memberships[g.index], true
		}
		return nil, true
	})
}
