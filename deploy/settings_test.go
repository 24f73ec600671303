package deploy

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/deploy/deploytest"
	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/config"
)

// The keys of the ConfigMap: the server's configuration file, and its access file.
const (
	configKey = "config.yaml"
	accessKey = "access.yaml"
)

func deployed(t *testing.T, m *manifests) config.Config {
	t.Helper()
	if len(m.configMap.Data) != 2 {
		t.Fatalf("the ConfigMap has %d keys, want %s and %s", len(m.configMap.Data), configKey, accessKey)
	}
	return deploytest.ServerSettings(t, m.configMap.Data[configKey])
}

func splitPort(t *testing.T, address string) (host string, port int32) {
	t.Helper()
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(service, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return host, int32(n)
}

// The ports are the server's defaults, so that documents can name them. The addresses are not, because a pod's loopback
// cannot be reached from outside.
func TestServerListensOnThePorts(t *testing.T) {
	m := read(t)
	ports := m.ports(t)
	got, defaults := deployed(t, m), deploytest.ServerSettings(t, "")
	for name, addresses := range map[string][2]string{
		"grpc":  {got.ListenAddress, defaults.ListenAddress},
		"admin": {got.AdminAddress, defaults.AdminAddress},
	} {
		host, port := splitPort(t, addresses[0])
		if host != "" || port != ports[name] {
			t.Errorf("%s: the server listens on %s, the container has %d", name, addresses[0], ports[name])
		}
		if _, usual := splitPort(t, addresses[1]); usual != port {
			t.Errorf("%s: port %d, by default %d", name, port, usual)
		}
	}
}

func TestPodLivesUntilTheServerHasStopped(t *testing.T) {
	m := read(t)
	c := deployed(t, m)
	grace := m.deployment.Spec.Template.Spec.TerminationGracePeriodSeconds
	// Telemetry is flushed after the drain and the grace period.
	const flush = 5 * time.Second
	if needed := c.DrainDelay + c.ShutdownGracePeriod + flush; grace == nil || time.Duration(*grace)*time.Second < needed {
		t.Errorf("the pod is killed after %v, the server takes up to %v to stop", grace, needed)
	}
	// Endpoints must have followed readiness before the server stops accepting: a probe, and as much again for the news
	// to reach the clients.
	probe := m.server(t).ReadinessProbe
	notice := time.Duration(probe.PeriodSeconds*probe.FailureThreshold) * time.Second
	if c.DrainDelay < 2*notice {
		t.Errorf("the server drains for %v, its being unready takes %v to be seen", c.DrainDelay, notice)
	}
}

func TestMemorySufficesForRequestsInFlight(t *testing.T) {
	m := read(t)
	deploytest.CheckServerMemory(t, deployed(t, m), m.server(t).Resources)
}

func TestAdminEndpointsExist(t *testing.T) {
	m := read(t)
	container := m.server(t)
	handler := admin.Handler(admin.Settings{Metrics: prometheus.NewRegistry(), Ready: func(context.Context) error { return nil }})
	paths := []string{m.serviceMonitor.Spec.Endpoints[0].Path}
	for name, probe := range map[string]*corev1.Probe{"/readyz": container.ReadinessProbe, "/healthz": container.LivenessProbe} {
		if probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal != "admin" || probe.HTTPGet.Path != name {
			t.Errorf("probe %v, want %s on the admin port", probe, name)
			continue
		}
		paths = append(paths, probe.HTTPGet.Path)
	}
	for _, path := range paths {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if answer.Code != http.StatusOK {
			t.Errorf("the server answers %s with %d", path, answer.Code)
		}
	}
}
