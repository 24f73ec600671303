package expander

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsinformers "k8s.io/client-go/informers/apps/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options configure an Expander.
type Options struct {
	// Cluster has the existing nodes, none if nil.
	Cluster *live.Cluster
	// DaemonSets are the DaemonSets whose pods run on new nodes, none if nil. The informer belongs to Cluster.
	DaemonSets appsinformers.DaemonSetInformer
	// Profile is the profile to decide by, kube-scheduler's default if nil.
	Profile *stowagev1.Profile
	// Prices may be nil.
	Prices *Prices
	// Refuse makes the response empty if no option places a pod on its nodes, and every option could be read.
	Refuse bool
	// Timeout bounds a call, in addition to the deadline of the caller. None if 0.
	Timeout time.Duration
	// Log, slog.Default if nil.
	Log *slog.Logger
	// Meter gets the metrics stowage.expander.*, none if nil.
	Meter metric.MeterProvider
}

// Expander is the service that Cluster Autoscaler calls. It is safe for concurrent use.
type Expander struct {
	grpcplugin.UnimplementedExpanderServer
	client   *stowage.Client
	o        Options
	duration metric.Float64Histogram
}

// New returns an Expander.
func New(client *stowage.Client, o Options) (*Expander, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Meter == nil {
		o.Meter = noop.NewMeterProvider()
	}
	e := &Expander{client: client, o: o}
	var err error
	meter := o.Meter.Meter("github.com/stowage-scheduler/stowage/clients/expander")
	e.duration, err = meter.Float64Histogram("stowage.expander.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of a call by result: selected, none if no option places a pod on its nodes, or failed."),
		metric.WithExplicitBucketBoundaries(.001, .003, .01, .03, .1, .3, 1, 3, 10))
	return e, err
}

// Ready reports whether calls can be answered.
func (e *Expander) Ready() bool {
	return (e.o.Cluster == nil || e.o.Cluster.Ready()) && (e.o.DaemonSets == nil || e.o.DaemonSets.Informer().HasSynced())
}

// BestOptions implements grpcplugin.ExpanderServer.
func (e *Expander) BestOptions(ctx context.Context, r *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
	began := time.Now()
	if e.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.o.Timeout)
		defer cancel()
	}
	best, all, err := e.best(ctx, r)
	about := make([]string, len(all))
	for i, o := range all {
		about[i] = o.String()
	}
	result := "selected"
	switch {
	case err != nil:
		result = "failed"
		e.o.Log.Warn("no option is selected", "error", err, "options", about)
	case len(best) == 0:
		result = "none"
		// An unreadable option might place pods, so it forbids to refuse.
		unsure := slices.ContainsFunc(all, func(o *option) bool { return o.problem != nil || o.odd > 0 })
		e.o.Log.Warn("no option places a pod on its nodes", "refused", e.o.Refuse && !unsure, "options", about)
		if !e.o.Refuse || unsure {
			err = status.Error(codes.FailedPrecondition, "no option places a pod on its nodes")
		}
	default:
		e.o.Log.Info("selected", "why", best[0].String(), "equal", len(best)-1, "options", about)
	}
	e.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(attribute.String("result", result)))
	if err != nil {
		return nil, err
	}
	out := &grpcplugin.BestOptionsResponse{}
	for _, o := range best {
		out.Options = append(out.Options, &grpcplugin.Option{NodeGroupId: o.group, NodeCount: int32(o.count), Debug: o.String()})
	}
	return out, nil
}

// best returns the best options, which are equally good, and all options in the order of the request. best is empty if no option
// places a pod on its nodes.
func (e *Expander) best(ctx context.Context, r *grpcplugin.BestOptionsRequest) (best, all []*option, err error) {
	if len(r.GetOptions()) == 0 {
		return nil, nil, status.Error(codes.InvalidArgument, "options: is empty")
	}
	if !e.Ready() {
		return nil, nil, status.Error(codes.Unavailable, live.ErrNotReady.Error())
	}
	if e.o.Cluster == nil {
		all, err = e.verified(ctx, r, &surroundings{
			context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}}},
			taken:   func(string) bool { return false },
			pending: convert.PendingPod,
		})
	} else {
		var storage func(*corev1.Node) kube.NodeStorage
		if storage, err = e.storage(); err != nil {
			return nil, nil, err
		}
		var devices func(*corev1.Node) (string, []*stowagev1.ResourceSlice)
		if devices, err = e.devices(); err != nil {
			return nil, nil, err
		}
		err = e.o.Cluster.Ask(ctx, func(ctx context.Context, v *live.View) (err error) {
			all, err = e.verified(ctx, r, &surroundings{
				context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}},
				nodes:   uint32(v.NodeCount()), templates: uint32(v.TemplateCount()),
				taken: func(name string) bool {
					_, there := v.NodeIndex(name)
					return there
				},
				pending: e.o.Cluster.PendingPod, storage: storage, devices: devices, classes: e.o.Cluster.DeviceClasses(),
			})
			return err
		})
	}
	if err != nil {
		return nil, all, err
	}
	known := slices.DeleteFunc(slices.Clone(all), func(o *option) bool { return o.problem != nil })
	if len(known) == 0 {
		return nil, all, status.Errorf(codes.InvalidArgument, "no option can be verified: %v", all[0])
	}
	for _, o := range known {
		if o.used == 0 {
			continue // its pods fit on existing nodes
		}
		c := -1
		if len(best) > 0 {
			c = o.compare(best[0])
		}
		if c < 0 {
			best = nil
		}
		if c <= 0 {
			best = append(best, o)
		}
	}
	return best, all, nil
}

// storage returns what the CSI drivers of the cluster add to a new node, nil if volumes are not read.
func (e *Expander) storage() (func(*corev1.Node) kube.NodeStorage, error) {
	if !e.o.Cluster.ReadsVolumes() {
		return nil, nil
	}
	nodes, err := e.o.Cluster.Informers().CoreV1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	drivers := e.o.Cluster.CSIDrivers()
	return func(n *corev1.Node) kube.NodeStorage { return kube.StorageOf(n, nodes, e.o.Cluster.CSINode, drivers) }, nil
}

// devices returns a function that finds a node with devices like a new one, and its slices; nil if devices are not read.
func (e *Expander) devices() (func(*corev1.Node) (string, []*stowagev1.ResourceSlice), error) {
	if !e.o.Cluster.ReadsDevices() {
		return nil, nil
	}
	nodes, err := e.o.Cluster.Informers().CoreV1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	return func(n *corev1.Node) (string, []*stowagev1.ResourceSlice) {
		like := kube.NodeLike(n, nodes, func(name string) bool { return len(e.o.Cluster.SlicesOf(name)) > 0 })
		if like == nil {
			return "", nil
		}
		return like.Name, e.o.Cluster.SlicesOf(like.Name)
	}, nil
}

// surroundings is the cluster to which options add nodes.
type surroundings struct {
	context *stowagev1.DecisionContext
	// The numbers of existing nodes and templates, which precede an option's.
	nodes, templates uint32
	taken            func(string) bool                                       // whether a node has the name
	pending          func(*corev1.Pod) (*stowagev1.Pod, error)               // converts a pod
	storage          func(*corev1.Node) kube.NodeStorage                     // of a new node; nil if volumes are not read
	devices          func(*corev1.Node) (string, []*stowagev1.ResourceSlice) // of a node like a new one; nil if devices are not read
	classes          map[string]string                                       // DeviceClasses by extended resource
	daemons          []*appsv1.DaemonSet
}

// verified reads and verifies the options.
func (e *Expander) verified(ctx context.Context, r *grpcplugin.BestOptionsRequest, s *surroundings) ([]*option, error) {
	if e.o.DaemonSets != nil {
		daemons, err := e.o.DaemonSets.Lister().List(labels.Everything())
		if err != nil {
			return nil, err
		}
		s.daemons = slices.DeleteFunc(daemons, func(ds *appsv1.DaemonSet) bool { return ds.DeletionTimestamp != nil })
	}
	s.context.Profile = e.o.Profile
	var all []*option
	added := 0
	for _, from := range r.GetOptions() {
		o := e.read(ctx, r, from, s)
		if ctx.Err() != nil {
			return all, status.FromContextError(ctx.Err()).Err()
		}
		if added += len(o.nodes); added > maximumAllNodes {
			return all, status.Errorf(codes.ResourceExhausted, "options: add more than %d nodes together", maximumAllNodes)
		}
		all = append(all, o)
	}
	// A rejected option does not affect the others.
	for range all {
		readable := slices.DeleteFunc(slices.Clone(all), func(o *option) bool { return o.problem != nil })
		err := e.ask(ctx, s, readable)
		if err == nil || !refuse(readable, err) {
			return all, err
		}
	}
	return all, nil
}

// ask places the pods of each option on its nodes.
func (e *Expander) ask(ctx context.Context, s *surroundings, options []*option) error {
	if len(options) == 0 {
		return nil
	}
	request := &stowagev1.WhatIfRequest{Context: s.context}
	for _, o := range options {
		delta := &stowagev1.ClusterDelta{PodTemplates: o.templates, Nodes: o.nodes, ResourceSlices: o.devices.slices}
		request.Scenarios = append(request.Scenarios, &stowagev1.Scenario{Delta: delta, Queue: o.queue})
	}
	stream, err := e.client.WhatIf(ctx, request)
	if err != nil {
		return err
	}
	for range options {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "the response lacks scenarios")
		}
		if err != nil {
			return err
		}
		options[answer.GetScenarioIndex()].take(answer.GetPlacement(), s.nodes)
	}
	_, err = stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

var scenarioPath = regexp.MustCompile(`^scenarios\[(\d+)\]\.?(.*)$`)

// refuse marks the options that the server rejects, and reports whether there are any.
func refuse(readable []*option, err error) bool {
	refused := false
	for _, v := range stowage.Details(err).Violations {
		found := scenarioPath.FindStringSubmatch(v.Field)
		if found == nil {
			continue
		}
		i, _ := strconv.Atoi(found[1])
		if o := readable[i]; o.problem == nil {
			o.problem = fmt.Errorf("%s: %s", found[2], v.Description)
			refused = true
		}
	}
	return refused
}
