package audit

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The rules about pods on nodes. Package review has further rules.
const (
	RuleBroken       review.Rule = "rule-broken"       // a required rule of pods does not hold on their node
	UntoleratedTaint review.Rule = "untolerated-taint" // pods do not tolerate a taint of their node
	Overcommitted    review.Rule = "overcommitted"     // the requests on a node exceed its allocatable amount
	Cordoned         review.Rule = "cordoned"          // a node accepts no new pods
	NoOtherNode      review.Rule = "no-other-node"     // pods have no other node if their node is lost
	NoController     review.Rule = "no-controller"     // no controller replaces the pods
	OneNode          review.Rule = "one-node"          // all replicas are on one node
	OneZone          review.Rule = "one-zone"          // all replicas are in one zone
	ZoneBudget       review.Rule = "zone-budget"       // the loss of a zone leaves fewer pods than a budget demands
	SoftRule         review.Rule = "soft-rule"         // preferences of pods do not hold on their node
	SharedClaim      review.Rule = "shared-claim"      // several pods use a ReadWriteOncePod claim
	PinnedClaim      review.Rule = "pinned-claim"      // no node with room can use the volume of a claim
	AttachLimit      review.Rule = "attach-limit"      // a CSI driver can attach no more volumes to a node
	VolumesInZone    review.Rule = "volumes-in-zone"   // the volumes of all replicas are in one zone
	UnusedClaim      review.Rule = "unused-claim"      // a claim has devices, and no pod
	TaintedDevice    review.Rule = "tainted-device"    // a device in use has a taint that evicts its pods
	BrokenPool       review.Rule = "broken-pool"       // a pool gives no devices
	DevicesTaken     review.Rule = "devices-taken"     // a node has no free device of a driver
)

// Options configure an audit.
type Options struct {
	// SchedulerName is the spec.schedulerName of the pods whose rules are checked, or kube.AnyScheduler; empty for the scheduler of the question.
	SchedulerName string
	// FailOnWarnings makes the answer a no if there are warnings.
	FailOnWarnings bool
}

// Summary has the numbers of checked objects and of findings.
type Summary struct {
	Nodes    int `json:"nodes"`
	Pods     int `json:"pods"`    // on nodes
	Others   int `json:"others"`  // pods of other schedulers among them, whose rules are not checked
	Pending  int `json:"pending"` // pods without a node
	Broken   int `json:"broken"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Result is the result of an audit.
type Result struct {
	Summary  Summary          `json:"summary"`
	Findings []review.Finding `json:"findings"`
}

// audit is an audit of a snapshot.
type audit struct {
	*answer.Question
	options Options
	cluster *stowagev1.Cluster // without nominated pods
	nodes   []*corev1.Node
	pods    []pod
	named   map[podKey]int // index of pods
	broken  map[int]bool   // pods whose required rules do not hold, by index
	found   []review.Finding
	doubts  []*stowagev1.Doubt // about the replacements of the pods of a lost node
}

// podKey names a pod.
type podKey struct{ namespace, name string }

// pod is a pod on a node. It is not terminating, and not a static pod.
type pod struct {
	object    *corev1.Pod
	converted *stowagev1.Pod
	node      int
	workload  kube.Origin
	other     bool // it belongs to another scheduler
}

func newAudit(q *answer.Question, o Options) *audit {
	if o.SchedulerName == "" && q.Scheduler != nil {
		o.SchedulerName = q.Scheduler.Name
	}
	return &audit{Question: q, options: o, nodes: q.Snapshot.NodeObjects(), named: map[podKey]int{}, broken: map[int]bool{}}
}

// find looks for everything.
func (a *audit) find(ctx context.Context) error {
	if err := a.gather(); err != nil {
		return err
	}
	if err := a.review(); err != nil {
		return err
	}
	a.taints()
	a.cordoned()
	a.domains()
	a.budgets()
	if err := a.devices(); err != nil {
		return err
	}
	for _, ask := range []func(context.Context) error{a.rules, a.soft, a.overcommitted, a.losses, a.volumes} {
		if err := ask(ctx); err != nil {
			return err
		}
	}
	review.Sort(a.found)
	return nil
}

// result returns what was found.
func (a *audit) result() Result {
	out := Result{Findings: append([]review.Finding{}, a.found...), Summary: Summary{
		Nodes: len(a.Snapshot.Cluster.Nodes), Broken: review.Count(a.found, review.Broken),
		Warnings: review.Count(a.found, review.Warning), Notes: review.Count(a.found, review.Note),
	}}
	for _, n := range a.Snapshot.Cluster.Nodes {
		out.Summary.Pods += len(n.Pods)
	}
	for _, p := range a.pods {
		if p.other {
			out.Summary.Others++
		}
	}
	for _, count := range a.Snapshot.PendingPods() {
		out.Summary.Pending += count
	}
	return out
}

// ofOther reports whether a pod belongs to another scheduler.
func (o *Options) ofOther(p *corev1.Pod) bool {
	name := cmp.Or(o.SchedulerName, corev1.DefaultSchedulerName)
	return name != kube.AnyScheduler && name != cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName)
}

// gather collects the pods on nodes, and the cluster without nominated pods, which do not run and do not affect the rules of running
// pods.
func (a *audit) gather() error {
	a.cluster = withTemplates(a.Snapshot.Cluster)
	a.cluster.Nodes = nil
	for i, n := range a.Snapshot.Cluster.Nodes {
		pods, err := a.Snapshot.PodsOn(i)
		if err != nil {
			return err
		}
		for p, converted := range pods {
			if p.DeletionTimestamp != nil || object.MadeByKubelet(p) {
				continue
			}
			a.named[podKey{cmp.Or(p.Namespace, corev1.NamespaceDefault), p.Name}] = len(a.pods)
			a.pods = append(a.pods, pod{p, converted, i, a.Snapshot.StatingObject(p), a.options.ofOther(p)})
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
	r, err := review.New(a.Snapshot, review.Options{Profile: a.Profile(), PodsUnknown: len(a.Gaps.Workloads) > 0})
	if err != nil {
		return err
	}
	onNodes, err := a.Snapshot.SourcesOnNodes()
	if err != nil {
		return err
	}
	a.found = append(r.All(append(onNodes, a.Snapshot.PendingSources()...)), r.Budgets()...)
	return nil
}

// context returns the context of a request.
func (a *audit) context(profile *stowagev1.Profile) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: a.cluster}, Profile: profile, IncludeNodeNames: true,
	}
}

// whatIf evaluates scenarios, if there are any, and calls each with the result of each scenario.
func (a *audit) whatIf(ctx context.Context, request *stowagev1.WhatIfRequest, each func(*stowagev1.WhatIfResponse)) error {
	if len(request.Scenarios) == 0 {
		return nil
	}
	return a.WhatIf(ctx, request, each)
}

// nodeNames returns the names of nodes in the order of the cluster.
func (a *audit) nodeNames(on map[int]bool) []string {
	var out []string
	for i, n := range a.Snapshot.Cluster.Nodes {
		if on[i] {
			out = append(out, n.Name)
		}
	}
	return out
}
