// Package stack runs Stowage and the schedulers that call it in a control plane, each as a process of the real command, with no more
// rights than its manifest in deploy gives it, and with the configuration in deploy.
package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
)

// Namespace is where everything of Stowage's is.
const Namespace = "stowage"

// The scheduler names of pods.
const (
	PlainPods    = "default-scheduler"
	ExtenderPods = "kube-scheduler-stowage"
	BatchPods    = "stowage"
)

// Stack is what runs.
type Stack struct {
	*controlplane.ControlPlane
	*Objects
	Server, Extender, Batch *controlplane.Process
	// Plain is kube-scheduler without an extender, Extended the one that calls Extender.
	Plain, Extended *controlplane.Process
	// ExtenderURL is where kube-scheduler calls the extender.
	ExtenderURL string
	// Where their metrics are.
	ServerMetrics, ExtenderMetrics, BatchMetrics, PlainMetrics, ExtendedMetrics string

	commands   string // this project's
	repository string
	address    string // of the server
}

// New prepares a control plane for Stowage: the namespace, the service accounts, their rights and how their requests are weighed.
func New(ctx context.Context, c *controlplane.ControlPlane, commands, repository string) (*Stack, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	s := &Stack{ControlPlane: c, commands: commands, repository: repository}
	if s.Objects, err = NewObjects(c.Client.Discovery(), config); err != nil {
		return nil, err
	}
	for _, files := range []string{"kubernetes/namespace.yaml", "*/serviceaccount.yaml", "*/*role*.yaml", "*/*/role.yaml", "*/*rbac.yaml", "*/flowschemas.yaml"} {
		paths, err := filepath.Glob(filepath.Join(repository, "deploy", files))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			all, err := Read(path)
			if err != nil {
				return nil, err
			}
			for _, u := range all {
				if err := s.Create(ctx, u); err != nil && !apierrors.IsAlreadyExists(err) {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
			}
		}
	}
	return s, nil
}

// StartPlain starts kube-scheduler with its defaults and the given fields. It looks at every node, as Stowage does.
func (s *Stack) StartPlain(ctx context.Context, fields map[string]any) (err error) {
	s.Plain, s.PlainMetrics, err = s.Scheduler(ctx, "kube-scheduler", controlplane.SchedulerOptions{Configuration: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
`, Replace: fields})
	return err
}

// Processes are what has been started beside the control plane.
func (s *Stack) Processes() map[string]*controlplane.Process {
	out := map[string]*controlplane.Process{}
	for _, p := range []*controlplane.Process{s.Plain, s.Extended, s.Extender, s.Batch, s.Server} {
		if p != nil && p.Running() {
			out[p.Name] = p
		}
	}
	return out
}

// StartServer starts a Stowage server.
func (s *Stack) StartServer(ctx context.Context, args ...string) (err error) {
	s.Server, s.address, s.ServerMetrics, err = s.spawn(ctx, "stowage-server", append(args, "--drain-delay=0s")...)
	return err
}

// Address is where the Stowage server listens.
func (s *Stack) Address() string { return s.address }

// StartExtender starts stowage-extender, and kube-scheduler with the configuration that leaves rules to it.
func (s *Stack) StartExtender(ctx context.Context, args ...string) error {
	return s.startExtender(ctx, "scheduler.yaml", func(map[string]any) {}, args)
}

// StartExtenderAtFilter is StartExtender where kube-scheduler binds and every point of a score counts.
func (s *Stack) StartExtenderAtFilter(ctx context.Context, args ...string) error {
	return s.startExtender(ctx, "scheduler-exact.yaml", func(extender map[string]any) { delete(extender, "bindVerb") },
		append([]string{"--decide=filter", "--scores=exact"}, args...))
}

func (s *Stack) startExtender(ctx context.Context, file string, change func(map[string]any), args []string) error {
	kubeconfig, err := s.AccountKubeconfig(ctx, Namespace, "stowage-extender")
	if err != nil {
		return err
	}
	schedulers, err := s.AccountKubeconfig(ctx, Namespace, "stowage-extender-kube-scheduler")
	if err != nil {
		return err
	}
	if !slices.Contains(args, "--decide=filter") {
		args = append([]string{"--scheduler-lease=stowage/kube-scheduler-stowage"}, args...)
	}
	var address string
	s.Extender, address, s.ExtenderMetrics, err = s.spawn(ctx, "stowage-extender",
		append([]string{"--kubeconfig=" + kubeconfig, "--stowage-address=" + s.address, "--drain-delay=0s"}, args...)...)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.repository, "deploy", "extender", file))
	if err != nil {
		return err
	}
	var configuration struct {
		LeaderElection map[string]any   `json:"leaderElection"`
		Extenders      []map[string]any `json:"extenders"`
	}
	if err := yaml.Unmarshal(text, &configuration); err != nil {
		return err
	}
	if len(configuration.Extenders) != 1 {
		return fmt.Errorf("%d extenders are configured", len(configuration.Extenders))
	}
	s.ExtenderURL = "http://" + address
	configuration.Extenders[0]["urlPrefix"] = s.ExtenderURL
	change(configuration.Extenders[0])
	s.Extended, s.ExtendedMetrics, err = s.Scheduler(ctx, "kube-scheduler-stowage", controlplane.SchedulerOptions{
		Configuration: string(text), Kubeconfig: schedulers,
		Replace: map[string]any{"extenders": configuration.Extenders, "leaderElection": configuration.LeaderElection},
	})
	return err
}

// StartBatch starts stowage-batch.
func (s *Stack) StartBatch(ctx context.Context, args ...string) (err error) {
	s.Batch, s.BatchMetrics, err = s.NewBatch(ctx, "stowage-batch", args...)
	return err
}

// NewBatch starts a replica of stowage-batch.
func (s *Stack) NewBatch(ctx context.Context, name string, args ...string) (p *controlplane.Process, metrics string, err error) {
	kubeconfig, err := s.AccountKubeconfig(ctx, Namespace, "stowage-batch")
	if err != nil {
		return nil, "", err
	}
	admin, err := address()
	if err != nil {
		return nil, "", err
	}
	p, err = s.Spawn(ctx, name, filepath.Join(s.commands, "stowage-batch"), controlplane.HTTPReady("http://"+admin+"/readyz"),
		append([]string{"--kubeconfig=" + kubeconfig, "--stowage-address=" + s.address, "--admin-address=" + admin}, args...)...)
	return p, "http://" + admin + "/metrics", err
}

// spawn starts a command that listens on two addresses, and returns the addresses of its service and of its metrics.
func (s *Stack) spawn(ctx context.Context, name string, args ...string) (p *controlplane.Process, listens, metrics string, err error) {
	if listens, err = address(); err != nil {
		return nil, "", "", err
	}
	admin, err := address()
	if err != nil {
		return nil, "", "", err
	}
	p, err = s.Spawn(ctx, name, filepath.Join(s.commands, name), controlplane.HTTPReady("http://"+admin+"/readyz"),
		append([]string{"--listen-address=" + listens, "--admin-address=" + admin}, args...)...)
	return p, listens, "http://" + admin + "/metrics", err
}

func address() (string, error) {
	port, err := controlplane.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// Manifests are the files in deploy that kubectl applies, of the server, the extender, the batch scheduler and the readers.
func Manifests(repository string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(repository, "deploy", "*", "*.yaml"))
	var out []string
	for _, p := range paths {
		name, folder := filepath.Base(p), filepath.Base(filepath.Dir(p))
		configures := name == "kustomization.yaml" || strings.HasPrefix(name, "scheduler") && name != "scheduler-rbac.yaml"
		if !configures && !slices.Contains([]string{"testdata", "release", "prometheus"}, folder) {
			out = append(out, p)
		}
	}
	return out, err
}
