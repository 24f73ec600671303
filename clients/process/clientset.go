package process

import (
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	policyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	resourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"
	schedulingv1beta1 "k8s.io/client-go/kubernetes/typed/scheduling/v1beta1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// clientset has the clients of the groups that commands use; TestClientsetHasEveryGroup finds a missing one. client-go's own has some
// sixty, with all of their methods, which the linker keeps.
type clientset struct {
	kubernetes.Interface // nil: the groups that no command uses

	discovery    discovery.DiscoveryInterfaces
	core         corev1.CoreV1Interface
	apps         appsv1.AppsV1Interface
	coordination coordinationv1.CoordinationV1Interface
	events       eventsv1.EventsV1Interface
	policy       policyv1.PolicyV1Interface
	resource     resourcev1.ResourceV1Interface
	scheduling   schedulingv1beta1.SchedulingV1beta1Interface
	storage      storagev1.StorageV1Interface
}

// newClientset returns the clients of a configuration, which share connections and the limit of requests.
func newClientset(config *rest.Config) (*clientset, error) {
	config = rest.CopyConfig(config)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	g := &groups{config: config, http: shared}
	return &clientset{
		discovery:    group(g, discovery.NewDiscoveryClientForConfigAndClient),
		core:         group(g, corev1.NewForConfigAndClient),
		apps:         group(g, appsv1.NewForConfigAndClient),
		coordination: group(g, coordinationv1.NewForConfigAndClient),
		events:       group(g, eventsv1.NewForConfigAndClient),
		policy:       group(g, policyv1.NewForConfigAndClient),
		resource:     group(g, resourcev1.NewForConfigAndClient),
		scheduling:   group(g, schedulingv1beta1.NewForConfigAndClient),
		storage:      group(g, storagev1.NewForConfigAndClient),
	}, g.err
}

// groups makes clients of groups.
type groups struct {
	config *rest.Config
	http   *http.Client
	err    error // the first one
}

func group[C any](g *groups, of func(*rest.Config, *http.Client) (C, error)) C {
	out, err := of(g.config, g.http)
	if g.err == nil {
		g.err = err
	}
	return out
}

func (c *clientset) Discovery() discovery.DiscoveryInterfaces               { return c.discovery }
func (c *clientset) CoreV1() corev1.CoreV1Interface                         { return c.core }
func (c *clientset) AppsV1() appsv1.AppsV1Interface                         { return c.apps }
func (c *clientset) CoordinationV1() coordinationv1.CoordinationV1Interface { return c.coordination }
func (c *clientset) EventsV1() eventsv1.EventsV1Interface                   { return c.events }
func (c *clientset) PolicyV1() policyv1.PolicyV1Interface                   { return c.policy }
func (c *clientset) ResourceV1() resourcev1.ResourceV1Interface             { return c.resource }
func (c *clientset) StorageV1() storagev1.StorageV1Interface                { return c.storage }
func (c *clientset) SchedulingV1beta1() schedulingv1beta1.SchedulingV1beta1Interface {
	return c.scheduling
}
