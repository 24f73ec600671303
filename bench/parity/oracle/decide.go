package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Decide returns kube-scheduler's decision about a stored pod on the cluster as it stands.
func (s *Scheduler) Decide(pod *corev1.Pod) (*Decision, error) {
	if gate, err := s.gate(pod); gate != nil || err != nil {
		return &Decision{Gate: gate}, err
	}
	if len(s.Nodes) == 0 || s.candidates != nil && len(s.candidates) == 0 {
		_, err := s.schedule(pod)
		return &Decision{Message: err.Error()}, nil
	}
	d, err := s.details(pod)
	if err != nil {
		return nil, err
	}
	return d, s.confirm(pod, d)
}

func (s *Scheduler) gate(pod *corev1.Pod) (*Refusal, error) {
	for _, p := range s.framework.PreEnqueuePlugins() {
		if p.Name() == names.DefaultPreemption {
			continue // it holds a pod back while the victims of its own runs here are evicted
		}
		if p.Name() == names.DynamicResources {
			continue // PreFilter says the same
		}
		if p.Name() == names.GangScheduling && s.whole != nil {
			continue // the groups are complete once all pods are there
		}
		if status := p.PreEnqueue(s.ctx, pod); !status.IsSuccess() {
			return refusalOf(p.Name(), status)
		}
	}
	return nil, nil
}

// Choose runs schedulePod for a stored pod, and nothing else: what kube-scheduler does to find a node, to be timed.
func (s *Scheduler) Choose(pod *corev1.Pod) (node uint32, err error) {
	result, err := s.schedule(pod)
	return s.index[result.SuggestedHost], err
}

func (s *Scheduler) schedule(pod *corev1.Pod) (scheduler.ScheduleResult, error) {
	return s.scheduleIn(framework.NewCycleState(), pod)
}

func (s *Scheduler) scheduleIn(state *framework.CycleState, pod *corev1.Pod) (scheduler.ScheduleResult, error) {
	// The scheduling queue keeps a pod with terms that it cannot parse (scheduling_queue.go newQueuedPodInfo, v1.37).
	info, _ := framework.NewPodInfo(pod)
	return s.schedulePod(s.ctx, s.framework, state, &framework.QueuedPodInfo{PodInfo: info})
}

// confirm compares the details with what schedulePod makes of the same pod, and takes the text from there.
func (s *Scheduler) confirm(pod *corev1.Pod, d *Decision) error {
	result, err := s.schedule(pod)
	return s.agrees(result, err, d)
}

// agrees is confirm for what schedulePod made of the pod.
func (s *Scheduler) agrees(result scheduler.ScheduleResult, err error, d *Decision) error {
	var fit *framework.FitError
	fails := d.Failed()
	switch {
	case errors.As(err, &fit):
		d.Message = fit.Error()
		if fails || len(d.Feasible) > 0 {
			return fmt.Errorf("schedulePod finds no node, the plugins %+v: %s", d, d.Message)
		}
		return s.confirmVerdicts(fit, d)
	case err != nil && d.Overflows() && invalidScore(err.Error()):
		// It may name another node.
	case err != nil && len(d.Unfiltered) > 0:
		return d.confirmError(err)
	case err != nil && fails && !d.Overflows():
		d.Message = err.Error()
	case err != nil || fails:
		return fmt.Errorf("schedulePod: %w, the plugins: %+v", err, d)
	case result.FeasibleNodes != len(d.Feasible):
		return fmt.Errorf("schedulePod finds %d nodes, the plugins %v", result.FeasibleNodes, d.Feasible)
	case !slices.Contains(d.Best, s.index[result.SuggestedHost]):
		return fmt.Errorf("schedulePod chooses %s, the best are %v", result.SuggestedHost, d.Best)
	}
	return nil
}

// confirmError compares the error of a filter with schedulePod's, which is the error of any node. The text is the first node's.
func (d *Decision) confirmError(err error) error {
	texts := make([]string, len(d.Unfiltered))
	for i, r := range d.Unfiltered {
		texts[i] = fmt.Sprintf("running %q filter plugin: %s", r.Plugin, r.Reasons[0])
	}
	if !slices.Contains(texts, err.Error()) {
		return fmt.Errorf("schedulePod fails with %w, the plugins with %q", err, texts)
	}
	d.Message = texts[0]
	return nil
}

// confirmVerdicts compares the refusals of nodes with the FitError's. NodeResourcesFit has no order of its reasons.
func (s *Scheduler) confirmVerdicts(fit *framework.FitError, d *Decision) error {
	for _, v := range d.Verdicts {
		status := fit.Diagnosis.NodeToStatus.Get(s.Nodes[v.Node].Name)
		same := status.Plugin() == v.Refusal.Plugin && status.Code() == v.Refusal.Code &&
			slices.Equal(slices.Sorted(slices.Values(status.Reasons())), slices.Sorted(slices.Values(v.Refusal.Reasons)))
		if !same {
			return fmt.Errorf("schedulePod says of %s: %s %v %q, the plugins %+v", s.Nodes[v.Node].Name,
				status.Plugin(), status.Code(), status.Reasons(), v.Refusal)
		}
	}
	return nil
}

func (s *Scheduler) details(pod *corev1.Pod) (*Decision, error) {
	candidates, err := s.snapshot.ListNodesInPlacement()
	if err != nil {
		return nil, err
	}
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b fwk.NodeInfo) int {
		return int(s.index[a.Node().Name]) - int(s.index[b.Node().Name])
	})

	d := &Decision{}
	state := framework.NewCycleState()
	narrowed, status, plugins := s.framework.RunPreFilterPlugins(s.ctx, state, pod)
	d.Narrowed = slices.Sorted(maps.Keys(plugins))
	if !status.IsSuccess() {
		refused := refusalOf
		if status.Code() == fwk.Error {
			refused = failed
		}
		if d.Whole, err = refused(status.Plugin(), status); err != nil {
			return nil, err
		}
		for _, n := range candidates {
			d.Verdicts = append(d.Verdicts, Verdict{Node: s.index[n.Node().Name], Refusal: d.Whole})
		}
		return d, nil
	}
	nominated, status := s.evaluateNominated(state, pod, candidates)
	if nominated != nil && status.IsSuccess() {
		// No other node is filtered.
		node := s.index[nominated.Node().Name]
		d.Verdicts, d.Feasible = []Verdict{{Node: node}}, []uint32{node}
		return d, s.score(state, pod, []fwk.NodeInfo{nominated}, d)
	}
	unsatisfied := d.Narrowed
	if nominated != nil && !slices.Contains(unsatisfied, status.Plugin()) {
		// The plugin joins the plugins that narrowed the nodes, which the text about the nodes left out names.
		unsatisfied = append(slices.Clone(unsatisfied), status.Plugin())
		slices.Sort(unsatisfied)
	}
	var feasible []fwk.NodeInfo
	for _, n := range candidates {
		v := Verdict{Node: s.index[n.Node().Name]}
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(n.Node().Name) && n != nominated {
			v.NarrowedOut = true
			// The text that findNodesThatFitPod gives to nodes outside of the PreFilterResult, unless it filtered them for the
			// nomination.
			text := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", unsatisfied)
			v.Refusal = &Refusal{Code: fwk.UnschedulableAndUnresolvable, Reasons: []string{text}}
		} else if status := s.framework.RunFilterPluginsWithNominatedPods(s.ctx, state, pod, n); status.IsSuccess() {
			feasible = append(feasible, n)
			d.Feasible = append(d.Feasible, v.Node)
		} else if status.Code() == fwk.Error {
			if v.Refusal, err = failed(status.Plugin(), status); err != nil {
				return nil, err
			}
			d.Unfiltered = append(d.Unfiltered, v.Refusal)
		} else if v.Refusal, err = refusalOf(status.Plugin(), status); err != nil {
			return nil, err
		}
		d.Verdicts = append(d.Verdicts, v)
	}
	if len(d.Unfiltered) > 0 { // the cycle ends, whatever the other nodes are
		d.Feasible = nil
		for i := range d.Verdicts {
			if v := &d.Verdicts[i]; v.Refusal == nil {
				v.Refusal = d.Unfiltered[0]
			}
		}
		return d, nil
	}
	if len(feasible) == 0 {
		return d, nil
	}
	return d, s.score(state, pod, feasible, d)
}
