package whatif

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Failure is the effect of nodes that fail on a cluster: all of them at once and for good.
type Failure struct {
	// Name is the name of the failure, such as "topology.kubernetes.io/zone=b".
	Name string `json:"name"`
	// Nodes are the nodes that fail.
	Nodes []string `json:"nodes"`
	// Survives says that every pod that comes back has a node, also while the nodes stay, and nothing else is lost.
	Survives bool `json:"survives"`
	// Returning is the number of pods that their controllers create again. Placed of them find a node, Unplaced do not.
	Returning int `json:"returning"`
	Placed    int `json:"placed"`
	Unplaced  int `json:"unplaced"`
	// Tied is the number of pods of DaemonSets and mirror pods that go with their nodes, Terminating the number of pods that were
	// about to leave. Neither are replaced.
	Tied        int `json:"tied"`
	Terminating int `json:"terminating"`
	// Pending is the number of pods that were pending before and are placed with the replacements, PendingPlaced how many
	// of them find a node.
	Pending       int `json:"pending"`
	PendingPlaced int `json:"pendingPlaced"`
	// WhileNodesStay are the replacements without a node while the API server still has the failed nodes, as it does until somebody
	// deletes them; absent if all find a node.
	WhileNodesStay *WhileNodesStay `json:"whileNodesStay,omitempty"`
	// Pods are the pods that come back.
	Pods []Pod `json:"pods"`
	// Bare are the pods without a controller on the nodes: they are lost.
	Bare []Pod `json:"bare"`
	// Preempted are pods on other nodes that pods of higher priority evict. Preempted pods whose replacement finds a node have it.
	Preempted []Pod `json:"preempted"`
	// Workloads are the workloads that lose replicas at least for a time, workloads with missing replicas first.
	Workloads []Workload `json:"workloads"`
	// Budgets are the PodDisruptionBudgets whose pods are on the nodes, or are preempted.
	Budgets []Budget `json:"budgets"`
}

// WhileNodesStay is pods without a node, and why.
type WhileNodesStay struct {
	Unplaced int `json:"unplaced"`
	// Reasons are why they have none, each once.
	Reasons []string `json:"reasons"`
}

// Workload is the effect on the replicas of a workload.
type Workload struct {
	Object
	// Replicas is the number of its pods on nodes before.
	Replicas int `json:"replicas"`
	// Lost is the number of pods that are gone with their nodes, or are preempted; Placed is the number of replacements that find a
	// node.
	Lost   int `json:"lost"`
	Placed int `json:"placed"`
	// Missing is Lost less Placed.
	Missing int `json:"missing"`
	// Reasons are why replicas are missing, each once.
	Reasons []string `json:"reasons"`
}

// Budget is the effect on the pods of a PodDisruptionBudget.
type Budget struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Desired is the number of pods that are to be healthy; absent if the object does not specify it.
	Desired *int `json:"desired,omitempty"`
	// Healthy is the number of healthy pods before, AtOnce that right after the failure, After that once the pods that found a node
	// are ready.
	Healthy int `json:"healthy"`
	AtOnce  int `json:"atOnce"`
	After   int `json:"after"`
	// BelowAtOnce and BelowAfter say that AtOnce or After are less than Desired.
	BelowAtOnce bool `json:"belowAtOnce"`
	BelowAfter  bool `json:"belowAfter"`
}

// Failures joins the answers for failures of nodes of one snapshot with its objects.
type Failures struct {
	snapshot *kube.Snapshot
	on       map[kube.Origin]kube.OnNode
	replicas map[kube.Origin]int // by workload
	healthy  []int               // by index of Snapshot.Budgets
	within   map[string][]int    // indexes of Snapshot.Budgets, by namespace
}

// NewFailures returns a Failures for a snapshot.
func NewFailures(s *kube.Snapshot) *Failures {
	f := &Failures{
		snapshot: s, on: map[kube.Origin]kube.OnNode{}, replicas: map[kube.Origin]int{}, healthy: make([]int, len(s.Budgets)),
		within: map[string][]int{},
	}
	for i := range s.Budgets {
		f.within[s.Budgets[i].Namespace] = append(f.within[s.Budgets[i].Namespace], i)
	}
	for p := range s.OnNodes() {
		f.on[p.Object] = p
		if p.Pod.DeletionTimestamp == nil {
			f.replicas[p.Workload]++
		}
		for _, i := range f.guards(p) {
			f.healthy[i]++
		}
	}
	return f
}

// guards returns the indexes of the budgets that count a pod as healthy.
func (f *Failures) guards(p kube.OnNode) []int {
	var out []int
	for _, i := range f.within[p.Object.Namespace] {
		if kube.Healthy(p.Pod) && f.snapshot.Budgets[i].Selects(p.Pod) {
			out = append(out, i)
		}
	}
	return out
}

// tally counts what one failure does.
type tally struct {
	*Failures
	workloads map[kube.Origin]*Workload
	lost      map[int]int // healthy pods that are gone, by index of Snapshot.Budgets
	placed    map[int]int // pods that come back and find a node
}

// Failure returns what a failure leads to.
func (f *Failures) Failure(d *kube.Disruption, answer *stowagev1.WhatIfResponse) *Failure {
	out := &Failure{
		Name: d.Name, Nodes: slices.Clone(d.Lost), Pods: []Pod{}, Bare: []Pod{}, Preempted: []Pod{},
	}
	t := &tally{f, map[kube.Origin]*Workload{}, map[int]int{}, map[int]int{}}
	fates := returned(answer)
	for _, p := range f.snapshot.Displaced(d) {
		pod := Pod{Namespace: p.Object.Namespace, Name: p.Object.Name, Workload: objectOf(p.Workload), From: f.node(p.Node)}
		switch p.Fate {
		case kube.Tied:
			out.Tied++
			t.gone(f.on[p.Object])
			continue
		case kube.Terminating:
			out.Terminating++
			continue
		case kube.Uncontrolled:
			out.Bare = append(out.Bare, pod)
			t.loses(f.on[p.Object], fate{reason: noController})
			continue
		}
		found, known := fates[p.Object]
		if !known {
			found = fate{reason: notUnderstood}
		}
		pod.Node, pod.Reason = found.node, found.reason
		if out.Returning++; pod.Node != "" {
			out.Placed++
		}
		out.Pods = append(out.Pods, pod)
		t.loses(f.on[p.Object], found)
	}
	lost := 0
	for _, o := range victims(answer.GetPlacement()) {
		v, again := f.on[o], comesAgain(fates, o)
		if again.node == "" {
			lost++
		}
		out.Preempted = append(out.Preempted, Pod{
			Namespace: o.Namespace, Name: o.Name, Workload: objectOf(v.Workload), From: f.node(v.Node), Node: again.node, Reason: again.reason,
		})
		t.loses(v, again)
	}
	out.Unplaced = out.Returning - out.Placed
	out.pending(answer)
	out.Workloads, out.Budgets = t.list(), t.budgets()
	out.Survives = out.Unplaced+len(out.Bare)+lost == 0
	return out
}

// NodesStay adds the answer about the same failure while the API server still has the nodes.
func (f *Failures) NodesStay(to *Failure, answer *stowagev1.WhatIfResponse) {
	out := &WhileNodesStay{}
	add := func(found fate) {
		if found.node != "" {
			return
		}
		out.Unplaced++
		if !slices.Contains(out.Reasons, found.reason) {
			out.Reasons = append(out.Reasons, found.reason)
		}
	}
	fates := returned(answer)
	for _, p := range to.Pods {
		found, known := fates[kube.Origin{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}]
		if !known {
			found = fate{reason: notUnderstood}
		}
		add(found)
	}
	for _, o := range victims(answer.GetPlacement()) {
		lost := slices.ContainsFunc(to.Preempted, func(p Pod) bool { return p.Node == "" && p.Namespace == o.Namespace && p.Name == o.Name })
		if !lost && !slices.Contains(to.Nodes, f.node(f.on[o].Node)) { // those on the nodes are terminating
			add(comesAgain(fates, o))
		}
	}
	if out.Unplaced > 0 {
		to.WhileNodesStay, to.Survives = out, false
	}
}

func (f *Failures) node(i int) string { return f.snapshot.Cluster.Nodes[i].GetName() }

// pending counts the pods that were pending before.
func (out *Failure) pending(answer *stowagev1.WhatIfResponse) {
	all := answer.GetPlacement().GetPlacements()
	for _, p := range all[:len(all)-len(answer.GetRequeued())] {
		placed := len(p.GetNodes().GetIndexes())
		out.Pending += placed + int(p.GetUnplacedCount()+p.GetEvictedCount())
		out.PendingPlaced += placed
	}
}

// loses counts a pod that is gone from its node, and its fate.
func (t *tally) loses(p kube.OnNode, found fate) {
	w := t.workloads[p.Workload]
	if w == nil {
		w = &Workload{Object: objectOf(p.Workload), Replicas: t.replicas[p.Workload], Reasons: []string{}}
		t.workloads[p.Workload] = w
	}
	w.Lost++
	t.gone(p)
	if found.node == "" {
		w.Missing++
		if !slices.Contains(w.Reasons, found.reason) {
			w.Reasons = append(w.Reasons, found.reason)
		}
		return
	}
	w.Placed++
	for _, i := range t.within[p.Object.Namespace] {
		if t.snapshot.Budgets[i].Selects(p.Pod) {
			t.placed[i]++
		}
	}
}

// gone counts a pod that is gone from its node for the budgets that count it as healthy.
func (t *tally) gone(p kube.OnNode) {
	for _, i := range t.guards(p) {
		t.lost[i]++
	}
}

func (t *tally) list() []Workload {
	out := []Workload{}
	for _, w := range t.workloads {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(b.Missing, a.Missing), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// budgets lists the budgets whose pods are concerned, in the order of the snapshot.
func (t *tally) budgets() []Budget {
	out := []Budget{}
	for i := range t.snapshot.Budgets {
		of := &t.snapshot.Budgets[i]
		if t.lost[i]+t.placed[i] == 0 {
			continue
		}
		b := Budget{Namespace: of.Namespace, Name: of.Name, Healthy: t.healthy[i]}
		b.AtOnce = b.Healthy - t.lost[i]
		b.After = b.AtOnce + t.placed[i]
		if of.Desired != nil {
			b.Desired = new(int(*of.Desired))
			b.BelowAtOnce, b.BelowAfter = b.AtOnce < *b.Desired, b.After < *b.Desired
		}
		out = append(out, b)
	}
	return out
}
