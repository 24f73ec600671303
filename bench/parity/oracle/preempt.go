package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	priority "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// Preemption is what the PostFilter plugins of the default profile find for a pod without feasible nodes.
type Preemption struct {
	// Message is their text, for the first of Best, and Whole the event's text with it.
	Message, Whole string
	// Clears says that the pod's nomination is cleared.
	Clears bool
	// Candidates are in ascending order of node.
	Candidates []Candidate
	// Best are the candidates among which kube-scheduler takes any.
	Best []uint32
	// Verdicts say why the other nodes are none, in ascending order. There are none if the pod may not preempt.
	Verdicts []Verdict
}

// Candidate is a node that is feasible without the victims.
type Candidate struct {
	Node       uint32
	Victims    []Victim
	Violations int
}

// Victim is a pod to evict. Entry is the queue's entry that it was placed for, whose pod it is; -1 for a pod of the case.
type Victim struct {
	*corev1.Pod
	Entry int
	Node  uint32
}

// picks is how often kube-scheduler chooses among several candidates, which it does in the order of a map.
const picks = 4

// Preempt runs the PostFilter plugins for a stored pod on the cluster as it stands. It is nil if the scheduling cycle does
// not end with a FitError: then they do not run (pkg/scheduler/schedule_one.go schedulingAlgorithm, v1.37).
func (s *Scheduler) Preempt(pod *corev1.Pod) (*Preemption, error) {
	if gate, err := s.gate(pod); gate != nil || err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	_, err := s.scheduleIn(state, pod)
	var fit *framework.FitError
	if !errors.As(err, &fit) {
		return nil, nil
	}
	if !s.framework.HasPostFilterPlugins() {
		return nil, nil
	}
	result, status := s.framework.RunPostFilterPlugins(s.ctx, state, pod, fit.Diagnosis.NodeToStatus)
	p := &Preemption{
		Message: status.Message(),
		Clears:  result != nil && result.Mode() == fwk.ModeOverride && result.NominatedNodeName == "",
	}
	err = nil
	switch {
	case slices.Contains(s.config.DisabledPostFilters, names.DefaultPreemption):
	case status.Code() != fwk.Error:
		err = s.dryRun(p, state, pod, fit, result)
	case strings.HasPrefix(p.Message, "preemption: "):
		err = s.failedRun(p, state, pod, fit)
	}
	if err != nil {
		return nil, err
	}
	fit.Diagnosis.PostFilterMsg = p.Message
	p.Whole = fit.Error()
	return p, nil
}

// Nominate runs schedulePod and DefaultPreemption for a stored pod, and nothing else: what kube-scheduler does to find the
// victims, to be timed. They are not evicted. The node is the one that it nominates.
func (s *Scheduler) Nominate(pod *corev1.Pod) (node uint32, err error) {
	s.preemption.Executor.PreemptPod = func(
		context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *corev1.Pod, string,
	) (bool, error) {
		return true, nil
	}
	state := framework.NewCycleState()
	_, err = s.scheduleIn(state, pod)
	var fit *framework.FitError
	if !errors.As(err, &fit) {
		return 0, fmt.Errorf("the pod needs no preemption: %w", err)
	}
	result, status := s.preemption.PostFilter(s.ctx, state, pod, fit.Diagnosis.NodeToStatus)
	if !status.IsSuccess() {
		return 0, status.AsError()
	}
	return s.index[result.NominatedNodeName], nil
}

// dryRun runs DefaultPreemption in parts, and compares the result with its result as a whole.
func (s *Scheduler) dryRun(
	p *Preemption, state fwk.CycleState, pod *corev1.Pod, fit *framework.FitError, result *fwk.PostFilterResult,
) error {
	evaluator, nodes := s.preemption.Evaluator, fit.Diagnosis.NodeToStatus
	prefix := deallocation(p.Message) + "preemption: "
	eligible, text := s.preemption.PodEligibleToPreemptOthers(s.ctx, pod, nodes.Get(pod.Status.NominatedNodeName))
	if !eligible {
		if p.Message != prefix+text {
			return fmt.Errorf("the pod may not preempt, %q; preemption says %q", text, p.Message)
		}
		return nil
	}
	potential, err := nodes.NodesForStatusCode(s.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return err
	}
	budgets, err := evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return err
	}
	statuses := framework.NewDefaultNodeToStatus()
	if n := int32(len(potential)); n > 0 {
		found, refused, err := evaluator.DryRunPreemption(s.ctx, state, pod, potential, budgets, 0, n)
		if err != nil && len(found) == 0 {
			return err
		}
		statuses = refused
		for _, c := range found {
			candidate := Candidate{Node: s.index[c.Name()], Violations: int(c.Victims().NumPDBViolations)}
			for _, victim := range c.Victims().Pods {
				candidate.Victims = append(candidate.Victims, s.victim(victim))
			}
			p.Candidates = append(p.Candidates, candidate)
		}
		slices.SortFunc(p.Candidates, func(a, b Candidate) int { return cmp.Compare(a.Node, b.Node) })
		p.Best = best(p.Candidates)
		for range picks {
			if c := evaluator.SelectCandidate(s.ctx, found); c != nil && !slices.Contains(p.Best, s.index[c.Name()]) {
				return fmt.Errorf("kube-scheduler prefers %s, the best candidates are %v", c.Name(), p.Best)
			}
		}
	}
	statuses.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, notHelpful))
	if err := s.refusals(p, statuses); err != nil {
		return err
	}
	if len(p.Candidates) > 0 {
		return s.nominates(p, result)
	}
	none := &framework.FitError{Pod: pod, NumAllNodes: fit.NumAllNodes, Diagnosis: framework.Diagnosis{NodeToStatus: statuses}}
	message := prefix + none.Error()
	if s.candidates == nil && message != p.Message {
		return fmt.Errorf("the nodes say %q, preemption %q", message, p.Message)
	}
	// With candidates given, kube-scheduler's text still counts all nodes of the cluster. It never runs preemption so.
	p.Message = message
	return nil
}

// failedRun gives the errors of filters in the dry run the order of the nodes. kube-scheduler begins with any node.
func (s *Scheduler) failedRun(p *Preemption, state fwk.CycleState, pod *corev1.Pod, fit *framework.FitError) error {
	potential, err := fit.Diagnosis.NodeToStatus.NodesForStatusCode(s.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return err
	}
	slices.SortFunc(potential, func(a, b fwk.NodeInfo) int { return cmp.Compare(s.index[a.Node().Name], s.index[b.Node().Name]) })
	found, _, failed := s.preemption.Evaluator.DryRunPreemption(s.ctx, state, pod, potential, nil, 0, int32(len(potential)))
	if failed == nil || len(found) > 0 || len(failed.Error()) != len(strings.TrimPrefix(p.Message, "preemption: ")) {
		return fmt.Errorf("the nodes fail with %w, preemption says %q", failed, p.Message)
	}
	p.Message = "preemption: " + failed.Error()
	return nil
}

// deallocation is what DynamicResources says before DefaultPreemption, which is in the text only if no node is found; empty for nothing.
func deallocation(message string) string {
	for _, own := range []string{"deallocation of ResourceClaim completed, ", "deletion of ResourceClaim completed, "} {
		if strings.HasPrefix(message, own) {
			return own
		}
	}
	return ""
}

// notHelpful is what evaluate says of nodes that it does not run dry (preemption.go, v1.37).
const notHelpful = "Preemption is not helpful for scheduling"

// refusals sets what is said of the candidates of the case that are no candidates for preemption.
func (s *Scheduler) refusals(p *Preemption, statuses *framework.NodeToStatus) error {
	nodes, err := s.snapshot.ListNodesInPlacement()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		node := s.index[n.Node().Name]
		if slices.ContainsFunc(p.Candidates, func(c Candidate) bool { return c.Node == node }) {
			continue
		}
		status := statuses.Get(n.Node().Name)
		refused := refusalOf
		if status.Code() == fwk.Error {
			refused = failed
		}
		refusal, err := refused(cmp.Or(status.Plugin(), names.DefaultPreemption), status)
		if err != nil {
			return err
		}
		p.Verdicts = append(p.Verdicts, Verdict{Node: node, Refusal: refusal})
	}
	slices.SortFunc(p.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Node, b.Node) })
	return nil
}

// nominates checks the node that kube-scheduler nominates, and sets its text for the first of the best ones.
func (s *Scheduler) nominates(p *Preemption, result *fwk.PostFilterResult) error {
	text := func(node uint32) string {
		i := slices.IndexFunc(p.Candidates, func(c Candidate) bool { return c.Node == node })
		return fmt.Sprintf("preemption: found a potential placement for pod on node %v, preempting %d victims",
			s.Nodes[node].Name, len(p.Candidates[i].Victims))
	}
	if result == nil {
		return fmt.Errorf("kube-scheduler nominates no node, the best candidates are %v: %s", p.Best, p.Message)
	}
	node := s.index[result.NominatedNodeName]
	if !slices.Contains(p.Best, node) || text(node) != p.Message {
		return fmt.Errorf("kube-scheduler nominates %s, the best candidates are %v: %s", result.NominatedNodeName, p.Best, p.Message)
	}
	p.Message = text(p.Best[0])
	return nil
}

func (s *Scheduler) victim(pod *corev1.Pod) Victim {
	if i, assumed := s.entries[pod.UID]; assumed {
		return Victim{s.Queue[i], i, s.index[pod.Spec.NodeName]}
	}
	return Victim{pod, -1, s.index[pod.Spec.NodeName]}
}

// best returns the candidates that are equal by the criteria of pickOneNodeForPreemption (preemption.go, v1.37). A pod without a
// start time starts last.
func best(candidates []Candidate) []uint32 {
	keys := make([][]int64, len(candidates))
	for i, c := range candidates {
		highest, sum, earliest := priority.PodPriority(c.Victims[0].Pod), int64(0), int64(math.MaxInt64)
		top := highest // the victims of groups are in the order of the groups' priorities
		for _, v := range c.Victims {
			of, started := priority.PodPriority(v.Pod), int64(math.MaxInt64)
			sum += int64(of) + math.MaxInt32 + 1
			if t := v.Status.StartTime; t != nil {
				started = t.UnixNano()
			}
			switch {
			case of > top:
				top, earliest = of, started
			case of == top:
				earliest = min(earliest, started)
			}
		}
		keys[i] = []int64{int64(c.Violations), int64(highest), sum, int64(len(c.Victims)), -earliest}
	}
	var out []uint32
	if len(keys) == 0 {
		return nil
	}
	least := slices.MinFunc(keys, slices.Compare)
	for i, c := range candidates {
		if slices.Equal(keys[i], least) {
			out = append(out, c.Node)
		}
	}
	return out
}

// Evict takes pods of the case off their node, as if the API server had deleted them.
func (s *Scheduler) Evict(victims []Victim) error {
	for _, v := range victims {
		if err := s.scheduler.Cache.RemovePod(logr.Discard(), v.Pod); err != nil {
			return err
		}
	}
	return s.refresh()
}
