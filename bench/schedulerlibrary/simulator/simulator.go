// Package simulator has the interface of sigs.k8s.io/scheduler-library/pkg/simulator (v0.1.0-alpha1), with Stowage's snapshots.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"sigs.k8s.io/scheduler-library/pkg/framework"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync"

	"github.com/stowage-scheduler/stowage/bench/schedulerlibrary/snapshot"
	"github.com/stowage-scheduler/stowage/bench/schedulerlibrary/state"
)

// ReadonlyClient is a client of an API server.
type ReadonlyClient struct{ client kubernetes.Interface }

// NewReadonlyClient returns a client that refuses to write.
func NewReadonlyClient(config *rest.Config) (ReadonlyClient, error) {
	if config == nil {
		return ReadonlyClient{}, errors.New("the configuration is nil")
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return readonly{to} })
	client, err := kubernetes.NewForConfig(config)
	return ReadonlyClient{client}, err
}

type readonly struct{ to http.RoundTripper }

func (r readonly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		return nil, fmt.Errorf("%s: the client of a simulation only reads", request.Method)
	}
	return r.to.RoundTrip(request)
}

// SchedulingSimulator makes snapshots and states that decide by one scheduler configuration.
type SchedulingSimulator struct {
	cfg             *schedulerapi.KubeSchedulerConfiguration
	informerFactory informers.SharedInformerFactory
	client          kubernetes.Interface
}

// NewSchedulingSimulator returns a simulator. informerFactory is a new one if nil. Arguments of filters in the configuration are an
// error: snapshot.New does not get them.
func NewSchedulingSimulator(_ context.Context, cfg *schedulerapi.KubeSchedulerConfiguration, client ReadonlyClient,
	informerFactory informers.SharedInformerFactory,
) (*SchedulingSimulator, error) {
	if client.client == nil {
		return nil, errors.New("the client is nil")
	}
	if cfg != nil {
		for _, p := range cfg.Profiles {
			for _, c := range p.PluginConfig {
				if filters(c.Args) {
					return nil, fmt.Errorf("profile %q: the arguments of %s are not supported", p.SchedulerName, c.Name)
				}
			}
		}
	}
	if informerFactory == nil {
		informerFactory = scheduler.NewInformerFactory(client.client, 0)
	}
	return &SchedulingSimulator{cfg: cfg, informerFactory: informerFactory, client: client.client}, nil
}

// filters reports whether filters read arguments of a plugin that differ from the defaults.
func filters(args runtime.Object) bool {
	switch a := args.(type) {
	case *schedulerapi.NodeResourcesFitArgs:
		return len(a.IgnoredResources)+len(a.IgnoredResourceGroups) > 0
	case *schedulerapi.NodeAffinityArgs:
		return a.AddedAffinity != nil
	case *schedulerapi.PodTopologySpreadArgs:
		return slices.ContainsFunc(a.DefaultConstraints, func(c corev1.TopologySpreadConstraint) bool {
			return c.WhenUnsatisfiable == corev1.DoNotSchedule
		})
	}
	return false
}

// NewClusterState returns an empty state.
func (s *SchedulingSimulator) NewClusterState(ctx context.Context) (*state.ClusterState, error) {
	shared := cache.NewEmptySnapshot()
	profiles, err := s.profiles(ctx, shared)
	if err != nil {
		return nil, err
	}
	return state.New(cache.New(ctx, nil, false), profiles, shared), nil
}

// NewClusterSnapshot returns a snapshot of pods and nodes.
func (s *SchedulingSimulator) NewClusterSnapshot(ctx context.Context, pods []*corev1.Pod, nodes []*corev1.Node) (
	*snapshot.ClusterSnapshot, error,
) {
	of := cache.NewSnapshot(pods, nodes)
	profiles, err := s.profiles(ctx, of)
	if err != nil {
		return nil, err
	}
	return snapshot.New(of, profiles), nil
}

// profiles returns kube-scheduler's frameworks, which validate the configuration and expand its plugins.
func (s *SchedulingSimulator) profiles(ctx context.Context, of *cache.Snapshot) (*upstreamsync.ProfileMap, error) {
	return framework.NewProfileMap(ctx, s.client, s.informerFactory, of, s.cfg)
}
