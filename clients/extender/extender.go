package extender

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Decide is when a pod is assumed; see the package documentation.
type Decide string

const (
	// AtBind assumes pods at the bind verb.
	AtBind Decide = "bind"
	// AtFilter assumes pods at the filter verb.
	AtFilter Decide = "filter"
)

// Options configure an Extender.
type Options struct {
	Log *slog.Logger
	// Meter gets the metrics stowage.extender.*, none if nil.
	Meter metric.MeterProvider
	// Decide is AtBind if empty.
	Decide Decide
	// Scores configure Prioritize.
	Scores Scores
	// Bindings is the client that binds, the extender's if nil. It must be Looking.
	Bindings kubernetes.Interface
	// Lease is kube-scheduler's lease. Pods are bound only while it is held; always if nil.
	Lease Lease
	// Profile is the profile to decide by, kube-scheduler's default if nil.
	Profile *stowagev1.Profile
	// OutcomeWait is how long Filter waits for the outcome of earlier pods, with AtBind.
	OutcomeWait time.Duration
	// EventWait is how long Filter waits for events if it rejects all nodes, and some by rules of kube-scheduler's own plugins, which have
	// accepted them: kube-scheduler has seen an event that this process has not, and no later event makes it retry the pod.
	EventWait time.Duration
	// UnclearFor is how long a pod waits for another decision after a bind with an unknown outcome.
	UnclearFor time.Duration
	// PreemptionCandidates lists nodes that preemption could make feasible in FailedNodes. Without it such nodes are listed as
	// unresolvable, because kube-scheduler v1.37 would report an error: it selects victims with its own plugins, which found
	// the extender's nodes feasible.
	PreemptionCandidates bool
	// OwnVictims makes Preempt return the victims of Stowage's own preemption on the nodes of the request. Otherwise Preempt keeps
	// kube-scheduler's victims where they suffice, and drops other nodes. The cluster needs live.Options.StartTimes.
	OwnVictims bool
	// AllReasons returns the reasons of infeasible nodes even if other nodes are feasible. kube-scheduler v1.37 reads them only if a
	// later extender rejects the feasible nodes.
	AllReasons bool
}

// Lease is the lease of the kube-scheduler that calls the extender: a lease.Observed.
type Lease interface {
	// Term changes when another process acquires the lease. It is 0 unless the lease is known to be held.
	Term() uint64
	// Check returns nil if the lease is held.
	Check(ctx context.Context) error
}

// Extender serves kube-scheduler. It is safe for concurrent use.
type Extender struct {
	options Options
	// claimsProfile is the profile for pods with volumes.
	claimsProfile *stowagev1.Profile
	log           *slog.Logger
	api           kubernetes.Interface
	client        *stowage.Client
	cluster       *live.Cluster
	pods          corelisters.PodLister
	metrics       *metrics
	decisions     *decisions
	// turn is held while a node is checked and the pod is assumed.
	turn chan struct{}
}

// New returns an extender of a cluster that does not run yet.
func New(api kubernetes.Interface, client *stowage.Client, cluster *live.Cluster, o Options) (*Extender, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Decide == "" {
		o.Decide = AtBind
	}
	if o.UnclearFor == 0 {
		o.UnclearFor = live.DefaultAssumeFor
	}
	if o.Bindings == nil {
		o.Bindings = api
	}
	if o.Lease == nil {
		o.Lease = noLease{}
	}
	m, err := newMetrics(o.Meter)
	if err != nil {
		return nil, err
	}
	e := &Extender{
		claimsProfile: withoutBinding(o.Profile),
		options:       o, log: o.Log, api: api, client: client, cluster: cluster, metrics: m,
		pods:      cluster.Informers().CoreV1().Pods().Lister(),
		decisions: newDecisions(o.UnclearFor), turn: make(chan struct{}, 1),
	}
	return e, e.watchBinds()
}

// noLease stands for the lease of a kube-scheduler without leader election.
type noLease struct{}

// Term implements Lease.
func (noLease) Term() uint64 { return 1 }

// Check implements Lease.
func (noLease) Check(context.Context) error { return nil }

// Ready reports whether the informers have synced.
func (e *Extender) Ready() bool { return e.cluster.Ready() }

// take waits for the turn to check and assume.
func (e *Extender) take(ctx context.Context) (release func(), err error) {
	select {
	case e.turn <- struct{}{}:
		return func() { <-e.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for other decisions: %w", context.Cause(ctx))
	}
}

// evaluation is Stowage's verdict on a pod and some nodes.
type evaluation struct {
	view     *live.View
	feasible []uint32 // ascending
	scores   []int64  // of the feasible nodes
	best     []uint32
	answer   *stowagev1.ScoreResponse
	unknown  []string // nodes missing in the view
	refused  []string // nodes that Stowage rejects
}

// pending converts a pod for a request. It ignores fields that are not read, such as resource claims, because kube-scheduler's own plugins have
// filtered the nodes by them: it has allocated devices in memory before a claim shows them. For the same reason it leaves out resources of DeviceClasses, and the
// volumes of a pod with a claim that no event has shown yet, and that kube-scheduler therefore knows better. It also leaves out the
// nominated node, which kube-scheduler evaluates first.
func (e *Extender) pending(o *corev1.Pod) (*stowagev1.Pod, error) {
	pod, _, err := e.whole(o)
	return pod, err
}

// whole is pending. It also reports whether the result has every field by which kube-scheduler's own plugins filter.
func (e *Extender) whole(o *corev1.Pod) (pod *stowagev1.Pod, whole bool, err error) {
	read := e.cluster.PendingPod
	if len(e.cluster.ClaimsOf(o).Missing) > 0 {
		read = convert.PendingPod
	}
	if pod, err = read(o); err != nil {
		return nil, false, fmt.Errorf("cannot convert the pod: %w", err)
	}
	whole = len(pod.Unread) == 0
	pod.Unread, pod.NominatedNodeName = nil, ""
	classes := e.cluster.DeviceClasses()
	spec := pod.GetTemplate().GetSpec()
	for _, containers := range [][]*stowagev1.Container{spec.GetContainers(), spec.GetInitContainers()} {
		for _, c := range containers {
			maps.DeleteFunc(c.GetRequests().GetScalars(), func(name string, _ int64) bool {
				served := classes[name] != "" || strings.HasPrefix(name, resourcev1.ResourceDeviceClassPrefix)
				whole = whole && !served
				return served
			})
		}
	}
	return pod, whole, nil
}

// evaluateUpToDate is evaluateReasoned. While the result contradicts kube-scheduler, it evaluates again after each change of the cluster,
// for Options.EventWait.
func (e *Extender) evaluateUpToDate(ctx context.Context, o *corev1.Pod, names []string) (*evaluation, error) {
	late := time.NewTimer(e.options.EventWait)
	defer late.Stop()
	for {
		changed := e.cluster.Changed()
		found, err := e.evaluateReasoned(ctx, o, names)
		if err != nil || e.options.EventWait <= 0 || !found.contradicts() {
			return found, err
		}
		select {
		case <-changed:
		case <-late.C:
			return found, nil
		case <-ctx.Done():
			return found, nil
		}
	}
}

// contradicts reports whether no node is feasible, and some are not known, or rejected by plugins that kube-scheduler runs itself before
// it calls an extender.
func (e *evaluation) contradicts() bool {
	return len(e.feasible) == 0 && (len(e.unknown) > 0 || slices.ContainsFunc(e.answer.GetRejections(), func(r *stowagev1.Rejection) bool {
		return r.Plugin != stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY && r.Plugin != stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD
	}))
}

// evaluateReasoned evaluates a pod on nodes, with the reasons if no node is feasible. Most pods have feasible nodes, and
// reasons cost as much as the rest.
func (e *Extender) evaluateReasoned(ctx context.Context, o *corev1.Pod, names []string) (*evaluation, error) {
	if !e.options.AllReasons {
		found, err := e.evaluate(ctx, o, names, false)
		if err != nil || len(found.feasible) > 0 || found.answer == nil {
			return found, err
		}
	}
	return e.evaluate(ctx, o, names, true)
}

// evaluate calls Score for a pod and nodes.
func (e *Extender) evaluate(ctx context.Context, o *corev1.Pod, names []string, reasons bool) (*evaluation, error) {
	pod, err := e.pending(o)
	if err != nil {
		return nil, err
	}
	defer e.metrics.part(ctx, "stowage", time.Now())
	var out *evaluation
	err = e.cluster.Ask(ctx, func(ctx context.Context, v *live.View) error {
		out = &evaluation{view: v}
		candidates := out.candidates(names)
		if len(candidates) == 0 {
			return nil
		}
		request := &stowagev1.ScoreRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, Profile: e.profile(pod),
			}, Pod: pod, IncludeRejections: reasons, IncludePluginScores: true,
		}
		if len(candidates) < v.NodeCount() {
			request.CandidateNodes = &stowagev1.CandidateNodes{Indexes: candidates}
		}
		e.metrics.evaluated(ctx)
		var err error
		out.answer, err = e.client.Score(ctx, request)
		return err
	})
	if err != nil {
		return nil, explained(err)
	}
	out.feasible, out.best = out.answer.GetNodes().GetIndexes(), out.answer.GetBestNodes().GetIndexes()
	if err := out.failed(); err != nil {
		return nil, err
	}
	out.scores = e.options.Scores.list(out.answer)
	return out, nil
}

// failed returns the internal error with which kube-scheduler's own plugins would end the pod's cycle because they fail to filter
// nodes, or to score several nodes; nil if they would not.
func (e *evaluation) failed() error {
	fails := len(e.feasible) > 0 && len(e.best) == 0
	for _, r := range e.answer.GetRejections() {
		fails = fails || r.GetCode() == stowagev1.StatusCode_STATUS_CODE_ERROR
	}
	if fails {
		return errors.New(e.answer.GetMessage())
	}
	return nil
}

// candidates returns the indexes of the nodes that the snapshot has.
func (e *evaluation) candidates(names []string) []uint32 {
	out := make([]uint32, 0, len(names))
	for _, name := range names {
		i, known := e.view.NodeIndex(name)
		switch {
		case e.view.Refused(name) != "":
			e.refused = append(e.refused, name)
		case !known:
			e.unknown = append(e.unknown, name)
		default:
			out = append(out, i)
		}
	}
	return out
}

// explained rewrites the error of a call for a pod's event.
func explained(err error) error {
	if errors.Is(err, live.ErrNotReady) {
		return fmt.Errorf("stowage-extender is starting: %w", err)
	}
	d := stowage.Details(err)
	if len(d.Violations) == 0 {
		return fmt.Errorf("Stowage does not answer: %w", err) //nolint:staticcheck // ST1005: a name
	}
	var texts []string
	for _, v := range d.Violations {
		field := strings.TrimPrefix(strings.TrimPrefix(v.Field, "pod.template."), "pod.")
		texts = append(texts, field+": "+v.Description)
	}
	return fmt.Errorf("Stowage rejects the request: %s", strings.Join(texts, "; ")) //nolint:staticcheck // ST1005: a name
}
