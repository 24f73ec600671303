package gang

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/joint"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// JointOptions are the arguments of a joint placement.
type JointOptions struct {
	Candidates nodeset.Set
	// Seed and FewestPods break ties between equally good nodes, as place.Options. Order is the nodes in the order of the seed.
	Seed       uint64
	FewestPods bool
	Order      []uint32
	// Steps is the budget of the search. A step tries one pod in one place, or filters and scores one pod. 0 stands for
	// JointSteps.
	Steps int
}

// JointSteps is the default budget of a joint placement.
const JointSteps = 1 << 20

// Joining places a group of pods as a whole, which kube-scheduler does not do. A placement is valid if all required
// rules hold for the complete group: each pod's node is feasible for the pod with all other pods assumed. Result finds a
// valid placement, or proves that none exists and returns conflicting rules. The step budget or the context's deadline
// can end the search earlier. The default budget is meant for groups of up to 8 pods.
//
// Among valid placements, Result prefers a high sum of scores. A pod's score is its total score with all others
// assumed. Result places the pods one by one: in the group's order, in reverse order, and round-robin by entry. If none
// of these placements is valid, it searches. It then improves the best placement. It iterates over the pods in the
// group's order, and moves each to the node with the highest score that keeps the placement valid and raises the sum.
// It stops when no move is left. The result is locally optimal; a higher sum may exist. Ties are broken as in Place.
//
// Joining leaves the state unchanged.
type Joining struct {
	JointOptions
	Budget *joint.Budget
	Rules  *joint.Group

	framework *decide.Framework
	state     *cluster.State
	brief     bool               // leave out conflicts
	group     []place.Pending    // entries without pods are skipped
	decisions []*decide.Decision // by replicas
	of        []int              // by entry: its replicas
	pods      []pod              // of the group, in order

	best  *placed    // best valid placement so far
	parts [][]uint32 // nodes by entry of the most pods that are valid together
	tried int        // orders of InOrder
	cut   bool       // the deadline came before all pods were attempted in the first order
}

// pod is a pod of the group.
type pod struct{ entry, replicas int }

// placed is a valid placement.
type placed struct {
	nodes  []uint32 // by pod
	scores []int64  // by pod
	sum    int64
}

// Result places the group. expected is a placement by entry that is likely valid; nil for none. Result then improves it,
// and does not look for another.
func (j *Joining) Result(ctx context.Context, expected [][]uint32) (*verdict.Joint, error) {
	result := &verdict.Joint{Status: verdict.JointBestEffort}
	err := j.find(ctx, expected, result)
	if err == nil && j.best != nil {
		result.LocallyOptimal, err = j.improve(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) && (j.best != nil || j.parts != nil) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	result.Steps = j.Budget.Steps
	switch {
	case j.best != nil:
		result.Status, result.Sum = verdict.JointComplete, j.best.sum
		result.Nodes, result.Scores = make([][]uint32, len(j.group)), make([][]int64, len(j.group))
		for i, p := range j.pods {
			result.Nodes[p.entry] = append(result.Nodes[p.entry], j.best.nodes[i])
			result.Scores[p.entry] = append(result.Scores[p.entry], j.best.scores[i])
		}
	case result.Status == verdict.JointInfeasible:
		result.Nodes = make([][]uint32, len(j.group))
	default:
		result.Nodes = j.parts
	}
	return result, nil
}

// find sets j.best to a valid placement. If it proves that none exists, it sets the status and the conflict of the result.
func (j *Joining) find(ctx context.Context, expected [][]uint32, result *verdict.Joint) error {
	if expected != nil {
		_, err := j.consider(ctx, slices.Concat(expected...))
		return err
	}
	if valid, err := j.InOrder(ctx); valid || err != nil {
		return err
	}
	spots, known := j.Rules.Search(j.Order, nil, j.Budget)
	switch {
	case spots != nil:
		if valid, err := j.consider(ctx, j.NodesOf(spots)); valid || err != nil {
			return err
		}
		return j.avoidNominated(ctx)
	case known:
		result.Status = verdict.JointInfeasible
		if !j.brief {
			result.Conflict, result.Minimal = j.conflict()
		}
	}
	return ctx.Err()
}

// avoidNominated searches on the nodes without nominated pods for which a pod of the group must leave room. The rules of the joint
// search ignore nominated pods. So whatever it proves impossible is impossible with nominated pods, too, but its placements may
// leave them too little room. If avoidNominated finds no placement, that proves nothing.
func (j *Joining) avoidNominated(ctx context.Context) error {
	nodes := j.Candidates.Clone()
	for _, d := range j.decisions {
		nodes.AndNot(d.YieldedOn())
	}
	if !j.Candidates.Minus(nodes).Empty() {
		if spots, _ := j.Rules.Within(nodes).Search(j.Order, nil, j.Budget); spots != nil {
			if _, err := j.consider(ctx, j.NodesOf(spots)); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// NewJoining finds the equal entries of a group, and compiles the group's rules.
func NewJoining(ctx context.Context, f *decide.Framework, s *cluster.State, group []place.Pending, o JointOptions) *Joining {
	j := &Joining{
		JointOptions: o, framework: f, state: s, group: group, of: make([]int, len(group)),
		Budget: &joint.Budget{Context: ctx, Limit: cmp.Or(o.Steps, JointSteps)},
	}
	var members []joint.Replicas
	nominated := s.NominatedNames()
	for i := range j.group {
		p := &j.group[i]
		if p.Count == 0 {
			continue
		}
		at := slices.IndexFunc(members, func(m joint.Replicas) bool { return j.equal(m.Pod.Pod, &p.Pod, nominated) })
		if at < 0 {
			at = len(members)
			d := decide.New(j.framework, j.state, j.state.Compile(&p.Pod))
			j.decisions = append(j.decisions, d)
			members = append(members, joint.Replicas{
				Pod: d.Pod, Rules: d.Rules(), Entry: i, Unplaceable: d.Unplaceable(j.Candidates),
			})
		}
		members[at].Count += p.Count
		j.of[i] = at
		for range p.Count {
			j.pods = append(j.pods, pod{i, at})
		}
	}
	j.Rules = joint.NewGroup(j.state.Len(), members, j.Candidates)
	return j
}

// equal reports whether pending pods differ only in names that do not matter: neither has the name of a nominated pod, or claims of its
// name.
func (j *Joining) equal(a, b *api.Pod, nominated map[string]bool) bool {
	matters := nominated[a.Name] || nominated[b.Name] || j.state.ByName(a) || j.state.ByName(b)
	return (a.Name == b.Name || !matters) && a.NominatedNode == b.NominatedNode &&
		(a.Template == b.Template || reflect.DeepEqual(a.Template, b.Template)) &&
		slices.Equal(a.Labels, b.Labels) && a.Terminating == b.Terminating
}

// NodesOf returns the nodes by pod.
func (j *Joining) NodesOf(spots []joint.Assignment) []uint32 {
	byReplicas := make(map[int][]uint32)
	for _, s := range spots {
		byReplicas[s.Replicas] = append(byReplicas[s.Replicas], s.Node)
	}
	nodes := make([]uint32, len(j.pods))
	for i, p := range j.pods {
		nodes[i] = byReplicas[p.replicas][0]
		byReplicas[p.replicas] = byReplicas[p.replicas][1:]
	}
	return nodes
}

// assume assumes a pod of an entry on a node.
func (j *Joining) assume(replicas, entry int, node uint32) {
	j.state.Assume(j.decisions[replicas].Pod, j.group[entry].Pod.Name, node, entry)
}
