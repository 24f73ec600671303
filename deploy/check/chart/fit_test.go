package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/expander"
	"github.com/stowage-scheduler/stowage/clients/extender"
	"github.com/stowage-scheduler/stowage/deploy/deploytest"
	"github.com/stowage-scheduler/stowage/server/config"
)

// given are the objects that the files of values expect beside the chart's.
var given = map[string][]string{
	"minimal":    {"ServiceAccount/default"},
	"mtls":       {"Secret/registry", "Secret/stowage-batch-of-the-platform"},
	"everything": {"Secret/placement-server", "Secret/placement-client", "Secret/placement-expander", "ConfigMap/scheduler-profile"},
}

// release is what was rendered, with names that no manifest has.
type release struct {
	t          *testing.T
	namespace  string
	objects    []deploytest.Object
	containers map[string]corev1.Container // by name
}

func TestRendered(t *testing.T) {
	for name, values := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			r := release{t: t, namespace: "scheduling", containers: map[string]corev1.Container{}}
			r.objects = objects(t, "decisions", r.namespace, values)
			for _, p := range deploytest.Problems(r.objects, given[name]...) {
				t.Error(p)
			}
			for _, d := range of[*appsv1.Deployment](&r) {
				spec := d.Spec.Template.Spec
				for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
					r.containers[c.Name] = c
				}
			}
			r.server()
			r.clients()
		})
	}
}

// of are the objects of a kind.
func of[O deploytest.Object](r *release) (out []O) {
	for _, o := range r.objects {
		if o, ok := o.(O); ok {
			out = append(out, o)
		}
	}
	return out
}

// config is the server's configuration, with the file that the chart writes.
func (r *release) config() (config.Config, *appsv1.Deployment) {
	r.t.Helper()
	var file string
	for _, m := range of[*corev1.ConfigMap](r) {
		file += m.Data["config.yaml"]
	}
	server := r.containers["server"]
	for _, d := range of[*appsv1.Deployment](r) {
		if d.Spec.Template.Spec.Containers[0].Name == "server" {
			return deploytest.ServerSettings(r.t, file, server.Args[:len(server.Args)-1]...), d
		}
	}
	r.t.Fatal("there is no server")
	return config.Config{}, nil
}

// server checks the server's settings against its pod: ports, files, memory, and the time that it has to stop.
func (r *release) server() {
	c, d := r.config()
	container := r.containers["server"]
	if c.ListenAddress != ":7433" || c.AdminAddress != ":7434" {
		r.t.Errorf("the server listens on %s and %s", c.ListenAddress, c.AdminAddress)
	}
	r.http(c, container)
	deploytest.CheckServerMemory(r.t, c, container.Resources)
	for _, file := range []string{c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile} {
		mounted := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return strings.HasPrefix(file, m.MountPath+"/")
		})
		if file != "" && !mounted {
			r.t.Errorf("nothing is mounted for %s", file)
		}
	}
	grace := *d.Spec.Template.Spec.TerminationGracePeriodSeconds
	if float64(grace) < (c.DrainDelay+c.ShutdownGracePeriod).Seconds()+5 {
		r.t.Errorf("the pod is killed after %d s, the server takes %v and %v to stop", grace, c.DrainDelay, c.ShutdownGracePeriod)
	}
}

// http checks that the port of HTTP is open where the server listens on it, and nowhere else.
func (r *release) http(c config.Config, container corev1.Container) {
	inContainer := slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == "http" && p.ContainerPort == 7435 })
	inService, inPolicy := false, false
	for _, s := range of[*corev1.Service](r) {
		inService = inService || slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "http" && p.Port == 7435 })
	}
	policies := of[*networkingv1.NetworkPolicy](r)
	for _, n := range policies {
		for _, rule := range n.Spec.Ingress {
			inPolicy = inPolicy || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.String() == "http" })
		}
	}
	listens := c.HTTPAddress == ":7435"
	if inContainer != listens || inService != listens || len(policies) > 0 && inPolicy != listens {
		r.t.Errorf("the server listens on %q; the container has a port: %t, the Service: %t, the policies: %t", c.HTTPAddress, inContainer, inService, inPolicy)
	}
}

// clients checks that the settings of the clients fit the server, the Service, and what they may do.
func (r *release) clients() {
	c, _ := r.config()
	for _, container := range r.containers {
		switch settings := deploytest.ClientSettings(r.t, container).(type) {
		case *extender.Config:
			r.connects(settings.StowageAddress, settings.StowageCAFile != "", settings.StowageCertFile != "", c)
			r.lease(settings.SchedulerLease)
			r.scheduler(settings)
		case *batch.Config:
			r.connects(settings.StowageAddress, settings.StowageCAFile != "", settings.StowageCertFile != "", c)
			r.lease(settings.LeaseNamespace + "/" + settings.LeaseName)
		case *expander.Config:
			r.connects(settings.StowageAddress, settings.StowageCAFile != "", settings.StowageCertFile != "", c)
			if settings.TLSCertFile == "" {
				r.t.Error("the expander is in plain text, which Cluster Autoscaler does not speak")
			}
		}
	}
}

func (r *release) connects(addresses []string, encrypted, certified bool, server config.Config) {
	r.t.Helper()
	for _, s := range of[*corev1.Service](r) {
		want := []string{"dns:///" + s.Name + "." + r.namespace + ".svc:7433"}
		if s.Spec.ClusterIP == corev1.ClusterIPNone && !slices.Equal(addresses, want) {
			r.t.Errorf("a client dials %v, the Service is %s", addresses, s.Name)
		}
	}
	if encrypted != (server.TLSCertFile != "") || certified != (server.TLSClientCAFile != "") {
		r.t.Errorf("TLS of a client: %t, with a certificate %t; the server has %q and asks for %q",
			encrypted, certified, server.TLSCertFile, server.TLSClientCAFile)
	}
}

// lease checks that a role allows a lease.
func (r *release) lease(name string) {
	r.t.Helper()
	for _, role := range of[*rbacv1.Role](r) {
		for _, rule := range role.Rules {
			for _, lease := range rule.ResourceNames {
				if role.Namespace+"/"+lease == name {
					return
				}
			}
		}
	}
	r.t.Errorf("no role allows the lease %s", name)
}

// scheduler checks that kube-scheduler's configuration fits the extender beside it.
func (r *release) scheduler(c *extender.Config) {
	r.t.Helper()
	for _, m := range of[*corev1.ConfigMap](r) {
		text, ok := m.Data["scheduler.yaml"]
		if !ok {
			continue
		}
		var s schedulerv1.KubeSchedulerConfiguration
		if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
			r.t.Fatal(err)
		}
		if lease := s.LeaderElection.ResourceNamespace + "/" + s.LeaderElection.ResourceName; lease != c.SchedulerLease {
			r.t.Errorf("kube-scheduler's lease is %s, the extender reads %s", lease, c.SchedulerLease)
		}
		if weight := s.Extenders[0].Weight; (weight == 1) != (c.Scores == "exact") {
			r.t.Errorf("the extender weighs %d, its scores are %s", weight, c.Scores)
		}
		return
	}
	r.t.Error("kube-scheduler has no configuration")
}
