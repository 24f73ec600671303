package expect

import (
	"cmp"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// groups gathers nodes by refusal.
type groups struct {
	byKey map[string]*stowagev1.Rejection
	list  []*stowagev1.Rejection
}

// add puts a node into the group of its refusal. A refusal without a plugin counts for the first plugin in narrowed.
func (g *groups) add(node uint32, r *oracle.Refusal, narrowed []string) error {
	key := fmt.Sprintf("%s %d %q", r.Plugin, r.Code, stable(r))
	group, ok := g.byKey[key]
	if !ok {
		var err error
		if group, err = rejection(r, narrowed); err != nil {
			return err
		}
		if g.byKey == nil {
			g.byKey = map[string]*stowagev1.Rejection{}
		}
		g.byKey[key] = group
		g.list = append(g.list, group)
	}
	group.Nodes.Indexes = append(group.Nodes.Indexes, node)
	return nil
}

// sorted returns the groups by plugin, then by first node, each with its nodes in ascending order.
func (g *groups) sorted() []*stowagev1.Rejection {
	for _, group := range g.list {
		slices.Sort(group.Nodes.Indexes)
	}
	slices.SortFunc(g.list, func(a, b *stowagev1.Rejection) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Plugin), slices.Index(order, b.Plugin)), cmp.Compare(a.Nodes.Indexes[0], b.Nodes.Indexes[0]))
	})
	return g.list
}

var codes = map[fwk.Code]stowagev1.StatusCode{
	fwk.Unschedulable:                stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE,
	fwk.UnschedulableAndUnresolvable: stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
	fwk.Error:                        stowagev1.StatusCode_STATUS_CODE_ERROR,
}

func rejection(r *oracle.Refusal, narrowed []string) (*stowagev1.Rejection, error) {
	out := &stowagev1.Rejection{Code: codes[r.Code], Nodes: &stowagev1.NodeList{}}
	plugins := narrowed
	if r.Plugin != "" {
		plugins = []string{r.Plugin}
	}
	for _, name := range plugins {
		p, err := plugin(name)
		if err != nil {
			return nil, err
		}
		if out.Plugin == 0 || p < out.Plugin {
			out.Plugin = p
		}
	}
	for _, text := range stable(r) {
		reason, err := reason(r, text)
		if err != nil {
			return nil, err
		}
		out.Reasons = append(out.Reasons, reason)
	}
	return out, nil
}

// stable returns the refusal's reasons in an order that does not change: NodeResourcesFit goes through the resources
// beyond cpu, memory and ephemeral-storage in the random order of a map (fit.go fitsRequest, v1.37), which the contract
// sorts by name.
func stable(r *oracle.Refusal) []string {
	if r.Plugin != names.NodeResourcesFit {
		return r.Reasons
	}
	i := slices.IndexFunc(r.Reasons, func(text string) bool {
		return !slices.Contains([]string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"}, text)
	})
	if i < 0 {
		return r.Reasons
	}
	out := slices.Clone(r.Reasons)
	slices.Sort(out[i:])
	return out
}

// unplaced converts why no node was chosen: a decision's refusals, and the failure to score the feasible nodes.
func unplaced(d *oracle.Decision, candidates []uint32) ([]*stowagev1.Rejection, error) {
	if d.Unscored == nil {
		return rejections(d, candidates)
	}
	all := *d
	all.Verdicts = slices.Clone(d.Verdicts)
	for i := range all.Verdicts {
		if v := &all.Verdicts[i]; v.Refusal == nil {
			v.Refusal = d.Unscored
		}
	}
	return rejections(&all, candidates)
}

// rejections converts a decision's refusals, for candidates in ascending order.
func rejections(d *oracle.Decision, candidates []uint32) ([]*stowagev1.Rejection, error) {
	var g groups
	if d.Gate != nil {
		for _, node := range candidates {
			if err := g.add(node, d.Gate, nil); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range d.Verdicts {
		if v.Refusal == nil {
			continue
		}
		if err := g.add(v.Node, v.Refusal, d.Narrowed); err != nil {
			return nil, err
		}
	}
	return g.sorted(), nil
}

// failing converts the refusal of each plugin on its own.
func failing(checks []oracle.Check) ([]*stowagev1.Rejection, error) {
	var g groups
	for _, c := range checks {
		if err := g.add(c.Node, c.Refusal, nil); err != nil {
			return nil, err
		}
	}
	return g.sorted(), nil
}
