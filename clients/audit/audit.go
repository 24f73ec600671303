package audit

import (
	"cmp"
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The rules about pods on nodes, in addition to those of package review.
const (
	RuleBroken       review.Rule = "rule-broken"       // a required rule of pods does not hold where they are
	UntoleratedTaint review.Rule = "untolerated-taint" // pods do not tolerate a taint of their node
	Overcommitted    review.Rule = "overcommitted"     // the requests on a node are more than its allocatable amount
	NoOtherNode      review.Rule = "no-other-node"     // pods have no other node if theirs is lost
	NoController     review.Rule = "no-controller"     // nothing creates the pods again
	OneNode          review.Rule = "one-node"          // all replicas are on one node
	OneZone          review.Rule = "one-zone"          // all replicas are in one zone
	ZoneBudget       review.Rule = "zone-budget"       // the loss of a zone leaves fewer pods than a budget demands
	SoftRule         review.Rule = "soft-rule"         // preferences of pods do not hold where they are
)

// Client asks a server.
type Client interface {
	stowagev1.PlacementServiceClient
	stowagev1.SimulationServiceClient
}

// Options configure an audit.
type Options struct {
	// Profile is the scheduler's, nil for kube-scheduler's default.
	Profile *stowagev1.Profile
	// QueueMode is how pods of a lost node are placed again.
	QueueMode stowagev1.QueueMode
	// PodsUnknown is review.Options.PodsUnknown.
	PodsUnknown bool
	// SchedulerName is the spec.schedulerName of the pods whose rules are judged, that of kube-scheduler if empty, or kube.AnyScheduler.
	SchedulerName string
}

// Summary is what was looked at, and how much was found.
type Summary struct {
	Nodes    int `json:"nodes"`
	Pods     int `json:"pods"`    // on nodes
	Others   int `json:"others"`  // of these, pods of other schedulers, whose rules are not judged
	Pending  int `json:"pending"` // pods without a node
	Broken   int `json:"broken"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Result is what an audit found.
type Result struct {
	Summary  Summary          `json:"summary"`
	Findings []review.Finding `json:"findings"`
	// Doubts are about the pods that are created again if a node is lost.
	Doubts []*stowagev1.Doubt `json:"-"`
}

// audit is an audit of a snapshot.
type audit struct {
	client   Client
	snapshot *kube.Snapshot
	options  Options
	cluster  *stowagev1.Cluster // without nominated pods
	nodes    []*corev1.Node
	pods     []pod
	named    map[podKey]int // index of pods
	broken   map[int]bool   // pods whose required rules do not hold, by index
	found    []review.Finding
	doubts   []*stowagev1.Doubt
	request  proto.Message // the last one
}

// podKey names a pod.
type podKey struct{ namespace, name string }

// pod is a pod on a node that kube-scheduler placed or would place. It is not terminating.
type pod struct {
	object    *corev1.Pod
	converted *stowagev1.Pod
	node      int
	workload  kube.Origin
	other     bool // whether it is of another scheduler
}

// Ask audits a snapshot. After an error, request is the request that failed, nil if there was none.
func Ask(ctx context.Context, client Client, s *kube.Snapshot, o Options) (_ *Result, request proto.Message, err error) {
	a := &audit{client: client, snapshot: s, options: o, nodes: s.NodeObjects(), named: map[podKey]int{}, broken: map[int]bool{}}
	if err := a.gather(); err != nil {
		return nil, nil, err
	}
	if err := a.review(); err != nil {
		return nil, nil, err
	}
	a.taints()
	a.domains()
	a.budgets()
	for _, ask := range []func(context.Context) error{a.rules, a.soft, a.overcommitted, a.losses} {
		if err := ask(ctx); err != nil {
			return nil, a.request, err
		}
	}
	review.Sort(a.found)
	out := &Result{Findings: a.found, Doubts: a.doubts, Summary: Summary{
		Nodes: len(s.Cluster.Nodes), Broken: review.Count(a.found, review.Broken), Warnings: review.Count(a.found, review.Warning),
		Notes: review.Count(a.found, review.Note),
	}}
	if out.Findings == nil {
		out.Findings = []review.Finding{}
	}
	for _, n := range s.Cluster.Nodes {
		out.Summary.Pods += len(n.Pods)
	}
	for _, p := range a.pods {
		if p.other {
			out.Summary.Others++
		}
	}
	for _, count := range s.PendingPods() {
		out.Summary.Pending += count
	}
	return out, a.request, nil
}

// ofOther reports whether a pod is of another scheduler.
func (o *Options) ofOther(p *corev1.Pod) bool {
	name := cmp.Or(o.SchedulerName, corev1.DefaultSchedulerName)
	return name != kube.AnyScheduler && name != cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName)
}

// gather collects the pods on nodes, and the cluster without pods that are only nominated: these leave or come soon, and the
// rules of others hold without them.
func (a *audit) gather() error {
	a.cluster = withTemplates(a.snapshot.Cluster)
	a.cluster.Nodes = nil
	for i, n := range a.snapshot.Cluster.Nodes {
		pods, err := a.snapshot.PodsOn(i)
		if err != nil {
			return err
		}
		for object, converted := range pods {
			if object.DeletionTimestamp != nil || kube.MadeByKubelet(object) {
				continue
			}
			a.named[podKey{cmp.Or(object.Namespace, corev1.NamespaceDefault), object.Name}] = len(a.pods)
			a.pods = append(a.pods, pod{object, converted, i, a.snapshot.StatingObject(object), a.options.ofOther(object)})
		}
		if len(n.NominatedPods) > 0 {
			n = proto.CloneOf(n)
			n.NominatedPods = nil
		}
		a.cluster.Nodes = append(a.cluster.Nodes, n)
	}
	return nil
}

// review reviews the placement rules of all pods and the budgets.
func (a *audit) review() error {
	r, err := review.New(a.snapshot, review.Options{Profile: a.options.Profile, PodsUnknown: a.options.PodsUnknown})
	if err != nil {
		return err
	}
	stated, err := a.snapshot.StatedOnNodes()
	if err != nil {
		return err
	}
	a.found = append(r.All(append(stated, a.snapshot.StatedPending()...)), r.Budgets()...)
	return nil
}

// context returns the context of a request.
func (a *audit) context(profile *stowagev1.Profile) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: a.cluster}, Profile: profile, IncludeNodeNames: true,
	}
}

// whatIf asks about scenarios, and calls a function with each answer.
func (a *audit) whatIf(ctx context.Context, request *stowagev1.WhatIfRequest, each func(*stowagev1.WhatIfResponse)) error {
	if len(request.Scenarios) == 0 {
		return nil
	}
	a.request = request
	stream, err := a.client.WhatIf(ctx, request)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if n < len(request.Scenarios) {
				return errors.New("the answer has no end")
			}
			return nil
		}
		if err != nil {
			return err
		}
		each(answer)
	}
}

// nodeNames are the names of nodes, by their indexes, each once and in the order of the cluster.
func (a *audit) nodeNames(on map[int]bool) []string {
	var out []string
	for i, n := range a.snapshot.Cluster.Nodes {
		if on[i] {
			out = append(out, n.Name)
		}
	}
	return out
}
