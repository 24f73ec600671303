package batch

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/stowage-scheduler/stowage/clients/connect"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Config is the command's configuration.
type Config struct {
	SchedulerName string `default:"stowage" help:"The spec.schedulerName of the pods that are scheduled."`
	PodGroupMode  string `enum:"in-order,joint" default:"in-order" help:"How pod groups are placed. in-order: one pod after another. joint: as a whole, which finds more."`
	MaxBatchPods  int    `default:"1000" help:"About how many pods are placed by one call."`
	Binders       int    `default:"16" help:"How many calls that bind pods are made at a time."`

	connect.Stowage
	connect.Kubernetes

	LeaderElect    bool   `default:"true" negatable:"" help:"Schedule only while holding a lease, so that there may be several replicas."`
	LeaseNamespace string `default:"stowage" help:"The lease's namespace."`
	LeaseName      string `default:"stowage-batch" help:"The lease's name."`

	AdminAddress string `default:"127.0.0.1:7437" help:"Address of the HTTP endpoints /metrics, /healthz and /readyz."`
	LogLevel     string `enum:"debug,info,warn,error" default:"info" help:"Least severe level that is logged: debug, info, warn or error."`
	LogFormat    string `enum:"json,text" default:"json" help:"How log lines are written: json or text."`
	Pprof        bool   `help:"Serve /debug/pprof on the admin address."`
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Stowage.Validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.SchedulerName != "", "scheduler-name: is empty")
	check(c.MaxBatchPods > 0, "max-batch-pods: must be positive, is %d", c.MaxBatchPods)
	check(c.Binders > 0, "binders: must be positive, is %d", c.Binders)
	check(!c.LeaderElect || c.LeaseNamespace != "" && c.LeaseName != "", "lease-namespace, lease-name: are needed for leader-elect")
	_, _, err := net.SplitHostPort(c.AdminAddress)
	check(err == nil, "admin-address: must be host:port, is %q", c.AdminAddress)
	return errors.Join(errs...)
}

// Logger returns the logger that a valid configuration asks for.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func (c *Config) groupMode() stowagev1.PodGroupMode {
	if c.PodGroupMode == "joint" {
		return stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT
	}
	return stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER
}
